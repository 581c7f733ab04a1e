/**
 * Any character of Unicode, for random texts. fast-check's `binary` generates the same ones from the same seed, but first lists all of
 * them: a second of CPU time and 180 MB in every process.
 */
import fc from 'fast-check'

const CODE_POINTS = 0x110000
/** Surrogates are not characters of their own. */
const SURROGATES = { first: 0xd800, count: 0x800 }

export const anyCharacter: fc.Arbitrary<string> = fc
  .nat({ max: CODE_POINTS - SURROGATES.count - 1 })
  .map(characterAt, placeOf)

function characterAt(place: number): string {
  return String.fromCodePoint(place < SURROGATES.first ? place : place + SURROGATES.count)
}

/** Throws unless the text is one character, as fast-check expects. */
function placeOf(text: unknown): number {
  const code = typeof text === 'string' ? text.codePointAt(0) : undefined
  const place = code === undefined || code < SURROGATES.first ? code : code - SURROGATES.count
  if (place === undefined || characterAt(place) !== text) throw new Error('not one character')
  return place
}
