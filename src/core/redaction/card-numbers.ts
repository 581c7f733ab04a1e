/** Payment card numbers: known issuers and lengths, with a valid check digit, in one piece or in groups. */
import type { Redaction, RedactionSpan } from './redaction.ts'

const DIGITS_MIN = 13
const DIGITS_MAX = 19
/** Digits with at most one separator between two, and one character after them. */
const CHARS_MAX = 2 * DIGITS_MAX + 2

/** Issuers, by first digits and length: Visa, Mastercard, American Express, Diners Club, Discover, JCB, UnionPay, Maestro. */
const ISSUERS = [
  /^4(?:\d{12}|\d{15}|\d{18})$/,
  /^(?:5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12})$/,
  /^3[47]\d{13}$/,
  /^3(?:0[0-5]|[68]\d)\d{11,16}$/,
  /^6(?:011|4[4-9]\d|5\d\d)\d{12,15}$/,
  /^35(?:2[89]|[3-8]\d)\d{12,15}$/,
  /^62\d{14,17}$/,
  /^(?:50|5[6-8]|6[37])\d{11,17}$/,
]

export const cardNumbers: Redaction = {
  name: 'card-number',
  maxChars: CHARS_MAX,
  find(text) {
    const spans: RedactionSpan[] = []
    for (const { 0: run, index } of text.matchAll(/\d+(?:[ -]\d+)*/g))
      if (run.length >= DIGITS_MIN && !isPartOfWord(text, index, index + run.length)) spans.push(...cardsIn(run, index))
    return spans
  },
  opens(text) {
    const first = Math.max(text.length - CHARS_MAX, 0)
    let at = text.length
    while (at > first && /[\d -]/.test(text[at - 1]!)) at--
    while (at < text.length && !/\d/.test(text[at]!)) at++
    return at
  },
}

/** Whether the digits are part of an identifier, or decimals of a number. */
function isPartOfWord(text: string, start: number, end: number): boolean {
  return /(?:[A-Za-z_]|\d\.)$/.test(text.slice(Math.max(start - 2, 0), start)) || /[A-Za-z_]/.test(text[end] ?? '')
}

/** Cards are made of whole groups of digits. */
function cardsIn(run: string, offset: number): RedactionSpan[] {
  const groups = [...run.matchAll(/\d+/g)].map(({ 0: digits, index }) => ({ digits, start: offset + index }))
  const spans: RedactionSpan[] = []
  for (let first = 0; first < groups.length; first++) {
    let digits = ''
    let card: { readonly last: number; readonly span: RedactionSpan } | undefined
    for (let last = first; last < groups.length; last++) {
      const group = groups[last]!
      digits += group.digits
      if (digits.length > DIGITS_MAX) break
      const span = { start: groups[first]!.start, end: group.start + group.digits.length }
      if (isCard(digits)) card = { last, span }
    }
    if (card === undefined) continue
    spans.push(card.span)
    first = card.last
  }
  return spans
}

function isCard(digits: string): boolean {
  return digits.length >= DIGITS_MIN && ISSUERS.some((issuer) => issuer.test(digits)) && hasCheckDigit(digits)
}

/** The Luhn algorithm. */
function hasCheckDigit(digits: string): boolean {
  let sum = 0
  for (let position = 0; position < digits.length; position++) {
    const digit = Number(digits[digits.length - 1 - position])
    const counted = position % 2 === 0 ? digit : digit * 2
    sum += counted > 9 ? counted - 9 : counted
  }
  return sum % 10 === 0
}
