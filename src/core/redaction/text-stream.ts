/**
 * Redacts a text that arrives in pieces. A possible start of a match is buffered until it is decided, at most `Matcher.maxHold`
 * characters. A longer match is redacted up to the next blank.
 */
import { type Matcher, replaceMatches } from './matcher.ts'

/** Released characters that later matches may look back at. */
const LOOK_BEHIND = 64

export class TextStream {
  matcher: Matcher
  /** The end of the released text, before redaction. */
  #context = ''
  #buffered = ''
  /** The released text ends with a replacement: a match that continues needs no other one. */
  #endsMasked = false
  /** A match was too long to buffer: the rest of it is dropped. */
  #isSkipping = false

  constructor(matcher: Matcher) {
    this.matcher = matcher
  }

  /** Returns the text that can be released now; '' if none. */
  push(piece: string): string {
    const more = this.#isSkipping ? piece.replace(/^\S+/, '') : piece
    if (more === '') return ''
    if (this.#isSkipping) {
      this.#isSkipping = false
      this.#context = ''
    }
    this.#buffered += more
    return this.#release(false)
  }

  /** Releases everything. Later text may still be part of the same match. */
  flush(): string {
    return this.#buffered === '' ? '' : this.#release(true)
  }

  #release(all: boolean): string {
    const { maxHold } = this.matcher
    const text = this.#context + this.#buffered
    const base = this.#context.length
    const matches = this.matcher.find(text)
    let open = this.matcher.openFrom(text)
    for (const { start, end } of matches.toReversed()) if (end > open) open = Math.min(open, start)
    const isWhole = all || text.length - open > maxHold
    const to = isWhole ? text.length : wholeCharacter(text, Math.max(open, base), base)
    if (to === base) return ''
    const released = this.#redacted(text, base, to, matches)
    const last = matches.findLast(({ end }) => end <= to)
    this.#endsMasked = last?.end === to
    this.#isSkipping = this.#endsMasked && to === text.length && to - last!.start >= last!.maxChars
    this.#context = endOf(text.slice(0, to), Math.max(Math.min(open, to - LOOK_BEHIND), to - maxHold - LOOK_BEHIND))
    this.#buffered = text.slice(to)
    return released
  }

  #redacted(text: string, base: number, to: number, matches: ReturnType<Matcher['find']>): string {
    const within = matches.filter(({ start, end }) => end > base && start < to)
    const first = within[0]
    if (first === undefined || first.start >= base) return replaceMatches(text, within, base, to)
    // The start of the match was released when the stream was flushed.
    const rest = replaceMatches(text, within.slice(1), first.end, to)
    return this.#endsMasked ? rest : first.mark + rest
  }
}

/** The text from an offset, prefixed with a character that starts no match, so that look-behind still works at the cut. */
function endOf(text: string, from: number): string {
  if (from <= 1) return text
  const before = /[A-Za-z0-9]/.test(text[from - 1]!) ? 'q' : ' '
  return before + text.slice(from)
}

/** Avoids splitting a surrogate pair. */
function wholeCharacter(text: string, to: number, base: number): number {
  const before = text.charCodeAt(to - 1)
  return to > base && before >= 0xd800 && before < 0xdc00 ? to - 1 : to
}
