/** Private keys in PEM, also truncated ones and with escaped line breaks. */
import type { Redaction, RedactionSpan } from './redaction.ts'

/** An RSA key of 16,384 bits has about 12,700. */
const CHARS_MAX = 16_384
const BEGIN = '-----BEGIN '
const HEADER = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/y
const HEADER_CHARS_MAX = 80
const FOOTER = /-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g

export const privateKeys: Redaction = {
  name: 'private-key',
  maxChars: CHARS_MAX,
  find(text) {
    const spans: RedactionSpan[] = []
    for (let at = text.indexOf(BEGIN); at >= 0; at = text.indexOf(BEGIN, at)) {
      const body = endOf(HEADER, text, at)
      const end =
        body === undefined ? at + BEGIN.length : (footerEnd(text, at, body) ?? Math.min(at + CHARS_MAX, text.length))
      if (body !== undefined) spans.push({ start: at, end })
      at = end
    }
    return spans
  },
  opens(text) {
    for (let at = text.indexOf(BEGIN, Math.max(text.length - CHARS_MAX, 0)); at >= 0; at = text.indexOf(BEGIN, at)) {
      const body = endOf(HEADER, text, at)
      const isCutOff =
        body === undefined && text.length - at <= HEADER_CHARS_MAX && /^-----BEGIN [A-Z0-9 -]*$/.test(text.slice(at))
      const end = body === undefined ? at + BEGIN.length : footerEnd(text, at, body)
      if (isCutOff || end === undefined) return at
      at = end
    }
    for (let chars = BEGIN.length - 1; chars > 0; chars--)
      if (text.endsWith(BEGIN.slice(0, chars))) return text.length - chars
    return text.length
  },
}

function endOf(pattern: RegExp, text: string, at: number): number | undefined {
  pattern.lastIndex = at
  const found = pattern.exec(text)
  return found === null ? undefined : found.index + found[0].length
}

/** The end of the key, if it is within the bound. */
function footerEnd(text: string, start: number, body: number): number | undefined {
  const end = endOf(FOOTER, text.slice(body, start + CHARS_MAX), 0)
  return end === undefined ? undefined : body + end
}
