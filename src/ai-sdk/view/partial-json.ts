/** Reads JSON that may end in the middle, as the AI SDK's client does with the input of a tool call that is being streamed. */

/** Undefined if nothing can be read, or if an object has a key that could change its prototype. */
export function parsePartialJson(text: string): unknown {
  return parse(text) ?? parse(completed(text))
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text, refuseUnsafe)
  } catch {
    return undefined
  }
}

function refuseUnsafe(key: string, value: unknown): unknown {
  const isUnsafe = key === '__proto__' || (key === 'constructor' && Object.hasOwn(Object(value), 'prototype'))
  if (isUnsafe) throw new SyntaxError(`key not allowed: ${key}`)
  return value
}

const LITERALS = ['true', 'false', 'null'] as const
/** Everything but strings. */
const TOKEN = /\s+|[{}[\],:]|[-+.\dA-Za-z]+/y
const CLOSERS: ReadonlyMap<string, string> = new Map([
  ['{', '}'],
  ['[', ']'],
])

/** Ends what is open, and leaves out what cannot be ended: a key without a value, a comma, a sign. */
function completed(text: string): string {
  /** The closing characters that are due, innermost last. */
  const due: string[] = []
  let usable = ''
  let isKey = false
  for (let at = 0; at < text.length;) {
    const token = tokenAt(text, at)
    if (token === undefined) break
    const end = at + token.length
    const closer = CLOSERS.get(token)
    if (closer !== undefined) {
      due.push(closer)
      isKey = closer === '}'
      usable = text.slice(0, end)
    } else if (token === due.at(-1)) {
      due.pop()
      usable = text.slice(0, end)
    } else if (token === ',') isKey = due.at(-1) === '}'
    else if (token === ':') isKey = false
    else if (!isKey && token.trim() !== '') {
      const value = end === text.length ? completedValue(token) : token
      if (value !== '') usable = text.slice(0, at) + value
    }
    at = end
  }
  return usable + due.toReversed().join('')
}

function tokenAt(text: string, at: number): string | undefined {
  if (text[at] === '"') return text.slice(at, stringEnd(text, at))
  TOKEN.lastIndex = at
  return TOKEN.exec(text)?.[0]
}

/** A string, a number or a literal at the end of the text; empty if it has not begun to mean anything. */
function completedValue(token: string): string {
  if (token.startsWith('"')) return `${token.slice(0, stringContentEnd(token))}"`
  return LITERALS.find((literal) => literal.startsWith(token)) ?? token.replace(/\D+$/, '')
}

/** The position after the closing quote, or the end of the text. */
function stringEnd(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === '"') return at + 1
    if (text[at] === '\\') at++
  }
  return text.length
}

/** The position after the last whole character of a string that starts the text. */
function stringContentEnd(text: string): number {
  for (let at = 1; at < text.length; at++) {
    if (text[at] === '"') return at
    if (text[at] !== '\\') continue
    const escape = text[at + 1] === 'u' ? 6 : 2
    if (at + escape > text.length) return at
    at += escape - 1
  }
  return text.length
}
