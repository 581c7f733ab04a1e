/** Applies several redactions to a text at once. Overlapping matches are redacted as one. */
import { RedactionFailure } from './failure.ts'
import type { Redaction } from './redaction.ts'

/** A span of text to redact, and its replacement. */
export interface Match {
  readonly start: number
  readonly end: number
  readonly mark: string
  /** `maxChars` of the redaction that found it. */
  readonly maxChars: number
}

export class Matcher {
  readonly #redactions: readonly Redaction[]
  /** Maximum characters of a stream that are buffered. */
  readonly maxHold: number

  constructor(redactions: readonly Redaction[]) {
    this.#redactions = redactions
    this.maxHold = Math.max(0, ...redactions.map(({ maxChars }) => maxChars))
  }

  get isEmpty(): boolean {
    return this.#redactions.length === 0
  }

  redact(text: string): string {
    const matches = this.find(text)
    return matches.length === 0 ? text : replaceMatches(text, matches, 0, text.length)
  }

  /** Finds disjoint matches, in order. */
  find(text: string): Match[] {
    const found: Match[] = []
    for (const { name, find, maxChars } of this.#redactions) {
      for (const { start, end } of withGuard(name, () => [...find(text)])) {
        if (!isWithin(start, end, text.length))
          throw new RedactionFailure(`pattern ${name}`, 'returned a span outside of the text')
        found.push({ start, end, mark: `[redacted:${name}]`, maxChars })
      }
    }
    return found.length < 2 ? found : mergeOverlaps(found)
  }

  /** Offset from which the text may be, or become, part of a match that continues in later text. */
  openFrom(text: string): number {
    let from = text.length
    for (const { name, maxChars, opens } of this.#redactions) {
      const earliest = Math.max(text.length - maxChars, 0)
      const at = opens === undefined ? Math.min(earliest + 1, text.length) : withGuard(name, () => opens(text))
      if (!isWithin(at, text.length + 1, text.length + 1))
        throw new RedactionFailure(`pattern ${name}`, 'returned a position outside of the text')
      if (at >= earliest) from = Math.min(from, at)
    }
    return from
  }
}

/** A part of a text with its matches replaced. All matches must lie within the part. */
export function replaceMatches(text: string, matches: readonly Match[], from: number, to: number): string {
  let result = ''
  let at = from
  for (const { start, end, mark } of matches) {
    result += text.slice(at, start) + mark
    at = end
  }
  return result + text.slice(at, to)
}

function mergeOverlaps(found: Match[]): Match[] {
  const all: Match[] = []
  for (const match of found.toSorted((a, b) => a.start - b.start || b.end - a.end)) {
    const last = all.at(-1)
    if (last === undefined || match.start >= last.end) all.push(match)
    else if (match.end > last.end) all[all.length - 1] = { ...last, end: match.end }
  }
  return all
}

function isWithin(start: number, end: number, length: number): boolean {
  return Number.isSafeInteger(start) && Number.isSafeInteger(end) && start >= 0 && start < end && end <= length
}

function withGuard<Result>(name: string, work: () => Result): Result {
  try {
    return work()
  } catch (cause) {
    throw new RedactionFailure(`pattern ${name}`, `threw ${nameOf(cause)}`)
  }
}

/** Only the class of an error: its message may contain the value. */
export function nameOf(thrown: unknown): string {
  try {
    return thrown instanceof Error ? thrown.name.slice(0, 80) : `a ${typeof thrown}`
  } catch {
    return 'an error'
  }
}
