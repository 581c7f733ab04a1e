/** Secrets with a known prefix and a known alphabet. Both searches take linear time. */
import type { Redaction, RedactionSpan } from './redaction.ts'

export interface PrefixedSecret {
  readonly name: string
  readonly heads: readonly string[]
  /** Characters that may follow the prefix, as in a regular expression's character class. */
  readonly alphabet: string
  /** Minimum number of characters after the prefix. */
  readonly min: number
  /** Default: true. */
  readonly caseSensitive?: boolean
  /** Whether a letter or digit may precede it. Default: false. */
  readonly inWords?: boolean
  /** Length of the secret in a match; 0 if there is none. Default: the whole match, if it contains a digit. */
  readonly accept?: (match: string) => number
}

/** Maximum length of a secret that is recognized in a stream. */
const CHARS_MAX = 4096

export function prefixed(secret: PrefixedSecret): Redaction {
  const { name, heads, alphabet, min, caseSensitive = true, inWords = false, accept = ifDigit } = secret
  const flag = caseSensitive ? '' : 'i'
  const boundary = inWords ? '' : '(?<![A-Za-z0-9])'
  const head = new RegExp(`${boundary}(?:${heads.toSorted(byLength).map(escaped).join('|')})`, `g${flag}`)
  const run = new RegExp(`[${alphabet}]*`, `y${flag}`)
  const maxHead = Math.max(...heads.map(({ length }) => length))
  const cut = new RegExp(`${boundary}(?:${beginnings(heads).toSorted(byLength).map(escaped).join('|')})$`, flag)

  /** Calls `visit` for each prefix and the characters after it, until it returns false. Each character is scanned once. */
  const scan = (text: string, visit: (start: number, from: number, end: number) => boolean): void => {
    for (let at = 0; ;) {
      head.lastIndex = at
      const found = head.exec(text)
      if (found === null) return
      const from = found.index + found[0].length
      run.lastIndex = from
      const end = from + run.exec(text)![0].length
      if (visit(found.index, from, end)) return
      at = Math.max(from, end - maxHead + 1)
    }
  }

  return {
    name,
    maxChars: CHARS_MAX,
    find(text) {
      const spans: RedactionSpan[] = []
      scan(text, (start, from, end) => {
        const chars = end - from < min ? 0 : accept(text.slice(start, end))
        if (chars > 0) spans.push({ start, end: start + chars })
        return false
      })
      return spans
    },
    opens(text) {
      // Includes one character before the window, to know whether its first character starts a word.
      const offset = Math.max(text.length - CHARS_MAX - 1, 0)
      const tail = text.slice(offset)
      let open: number | undefined
      scan(tail, (start, _from, end) => {
        if (end === tail.length) open = start
        return open !== undefined
      })
      if (open !== undefined) return offset + open
      const end = tail.slice(-maxHead - 1)
      return text.length - end.length + (cut.exec(end)?.index ?? end.length)
    },
  }
}

function ifDigit(match: string): number {
  return /\d/.test(match) ? match.length : 0
}

/** All proper prefixes. */
function beginnings(heads: readonly string[]): string[] {
  return [
    ...new Set(heads.flatMap((head) => Array.from({ length: head.length - 1 }, (_, at) => head.slice(0, at + 1)))),
  ]
}

function byLength(left: string, right: string): number {
  return right.length - left.length
}

function escaped(text: string): string {
  return text.replace(/[$()*+.?[\\\]^{|}/-]/g, '\\$&')
}
