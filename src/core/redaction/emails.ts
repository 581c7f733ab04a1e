/** E-mail addresses: a local part, and a domain with a dot. */
import type { Redaction, RedactionSpan } from './redaction.ts'

const LOCAL_CHARS_MAX = 64
const DOMAIN_CHARS_MAX = 253
const CHARS_MAX = LOCAL_CHARS_MAX + 1 + DOMAIN_CHARS_MAX

const LOCAL = /[A-Za-z0-9._%+-]/
const DOMAIN = /[A-Za-z0-9.-]/

export const emails: Redaction = {
  name: 'email',
  maxChars: CHARS_MAX,
  find(text) {
    const spans: RedactionSpan[] = []
    for (let at = text.indexOf('@'); at >= 0; at = text.indexOf('@', at + 1)) {
      const start = walk(text, at, -1, LOCAL, LOCAL_CHARS_MAX)
      const domain = text.slice(at + 1, walk(text, at + 1, 1, DOMAIN, DOMAIN_CHARS_MAX))
      const name = /^(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,}/.exec(domain)?.[0]
      if (start < at && name !== undefined) spans.push({ start, end: at + 1 + name.length })
    }
    return spans
  },
  opens(text) {
    const domain = walk(text, text.length, -1, DOMAIN, DOMAIN_CHARS_MAX)
    if (text[domain - 1] === '@') return walk(text, domain - 1, -1, LOCAL, LOCAL_CHARS_MAX)
    return walk(text, text.length, -1, LOCAL, LOCAL_CHARS_MAX)
  },
}

/** The offset after the last character of a kind, in one direction. */
function walk(text: string, from: number, step: 1 | -1, kind: RegExp, maxChars: number): number {
  let at = from
  for (let count = 0; count < maxChars; count++, at += step) {
    const next = text[step === 1 ? at : at - 1]
    if (next === undefined || !kind.test(next)) break
  }
  return at
}
