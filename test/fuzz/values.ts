/** Arbitrary values: words of the protocols, edge cases of types, and short values that are expensive to process. */
import fc from 'fast-check'
import { dictionary, fieldNames } from './dictionary.ts'
import { anyCharacter } from '../../src/testing/any-character.ts'

/** Texts that are known to break software. */
const AWKWARD = [
  '',
  ' ',
  '.',
  '..',
  '../../etc/passwd',
  'null',
  'undefined',
  'true',
  'NaN',
  '-0',
  '1e400',
  '9007199254740993',
  '-1',
  '0x10',
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  "'; DROP TABLE runs; --",
  '%00',
  '%',
  '%c0%80',
  '\u0000',
  '\ud800',
  '\ufeff',
  '\u2028',
  '🌊',
  'a\r\nb: c',
  'data: x\n\n',
  'x'.repeat(300),
  'é'.repeat(9000),
  '2026-13-45T99:99:99Z',
  '+275760-09-13T00:00:00.001Z',
] as const

export const text: fc.Arbitrary<string> = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...AWKWARD) },
  { weight: 2, arbitrary: fc.constantFrom(...dictionary) },
  { weight: 1, arbitrary: fc.string({ maxLength: 40 }) },
  { weight: 1, arbitrary: fc.string({ unit: anyCharacter, maxLength: 20 }) },
)

export const fieldName: fc.Arbitrary<string> = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(...fieldNames) },
  { weight: 1, arbitrary: text },
)

export const number: fc.Arbitrary<number> = fc.oneof(
  fc.constantFrom(0, -1, 1, 2 ** 31, 2 ** 32, -(2 ** 31), 2 ** 53, 2 ** 63, 1e21, 1e308, -1e308, 0.1, 5e-324),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
)

/**
 * Stands in JSON for a value that would fill pages when a failure is printed: `@@deep:N@@` for N nested lists, `@@crowd:N@@` for a
 * list of N empty objects, `@@names:N@@` for an object of N fields, `@@long:N@@` for a text.
 */
const large: fc.Arbitrary<string> = fc
  .tuple(fc.constantFrom('deep', 'crowd', 'names', 'long'), fc.constantFrom(50, 200, 1000, 20_000, 200_000, 1_000_000))
  .map(([kind, count]) => `@@${kind}:${count}@@`)

export const json: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 4, arbitrary: text },
  { weight: 2, arbitrary: number },
  { weight: 2, arbitrary: fc.constantFrom<unknown>(null, true, false, [], {}, [[]], [null], { a: null }) },
  { weight: 2, arbitrary: fc.array(text, { maxLength: 3 }) },
  { weight: 2, arbitrary: fc.dictionary(fieldName, fc.oneof(text, number, fc.constant(null)), { maxKeys: 4 }) },
  { weight: 2, arbitrary: fc.jsonValue({ maxDepth: 4 }) },
  { weight: 1, arbitrary: large },
)

/** JSON text, with placeholders replaced. */
export function jsonText(value: unknown): string {
  const written = JSON.stringify(value) ?? 'null'
  return written.replaceAll(/"@@(deep|crowd|names|long):(\d+)@@"/g, (_all, kind: string, digits: string) => {
    const count = Number(digits)
    if (kind === 'deep') return '['.repeat(count) + ']'.repeat(count)
    if (kind === 'crowd') return `[${'{},'.repeat(count - 1)}{}]`
    if (kind === 'long') return `"${'x'.repeat(count)}"`
    return `{${Array.from({ length: count }, (_, at) => `"f${at}":0`).join(',')}}`
  })
}
