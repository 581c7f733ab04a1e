/** Redacts JSON values: texts, keys of objects, and long numbers, which may be card numbers. */
import type { Matcher } from './matcher.ts'

/** Smaller numbers are not checked. */
const NUMBER_MIN = 1e11

/** Returns the same value if nothing in it is redacted. */
export function redactValue(matcher: Matcher, value: unknown): unknown {
  if (typeof value === 'string') return matcher.redact(value)
  if (typeof value === 'number') return redactNumber(matcher, value)
  if (typeof value !== 'object' || value === null) return value
  return Array.isArray(value) ? redactList(matcher, value) : redactObject(matcher, value)
}

function redactNumber(matcher: Matcher, value: number): unknown {
  if (!Number.isSafeInteger(value) || Math.abs(value) < NUMBER_MIN) return value
  const text = String(value)
  const redacted = matcher.redact(text)
  return redacted === text ? value : redacted
}

function redactList(matcher: Matcher, list: readonly unknown[]): unknown {
  let isSame = true
  const items = list.map((item) => {
    const redacted = redactValue(matcher, item)
    if (redacted !== item) isSame = false
    return redacted
  })
  return isSame ? list : items
}

function redactObject(matcher: Matcher, object: object): unknown {
  let isSame = true
  const entries = new Map<string, unknown>()
  for (const [key, item] of Object.entries(object)) {
    const redacted = redactValue(matcher, item)
    const name = matcher.redact(key)
    if (redacted !== item || name !== key) isSame = false
    entries.set(freeName(entries, name), redacted)
  }
  return isSame ? object : Object.fromEntries(entries)
}

/** Keeps two redacted keys of an object distinct. */
function freeName(entries: ReadonlyMap<string, unknown>, name: string): string {
  if (!entries.has(name)) return name
  return `${name}#${entries.size + 1}`
}
