/** Built-in redactions: what each matches, what it leaves unchanged, and linear time in the length of the text. */
import { describe, expect, test } from 'vitest'
import { Matcher } from './matcher.ts'
import type { Redaction } from './redaction.ts'
import { redactions } from './redactions.ts'

const all: readonly Redaction[] = Object.values(redactions).flat()

function redact(group: readonly Redaction[], text: string): string {
  return new Matcher(group).redact(text)
}

const JWT = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U'
const PEM = `-----BEGIN RSA PRIVATE KEY-----\n${'MIIEpAIBAAKCAQEA7bq0/+a=\n'.repeat(60)}-----END RSA PRIVATE KEY-----`

const secrets: readonly [keyof typeof redactions, string, string, string][] = [
  ['apiKeys', 'OpenAI', 'sk-abcdEFGH1234ijklMNOP5678qrstUVWX9012yzABCDEF3456', 'api-key'],
  ['apiKeys', 'OpenAI, of a project', 'sk-proj-Ab1_cd-Ef2ghIJ3klMN4opQR5stUV', 'api-key'],
  ['apiKeys', 'Anthropic', 'sk-ant-api03-Zx9_yW8-vU7tS6rQ5pO4nM3lK2jI1hG0', 'api-key'],
  ['apiKeys', 'Stripe', 'sk_live_4eC39HqLyjWDarjtT1zdp7dc', 'api-key'],
  ['apiKeys', 'Holdfast', `hf_k3y1d2_${'0a1b2c3d'.repeat(8)}`, 'api-key'],
  ['apiKeys', 'Google', 'AIzaSyA1bC2dE3fG4hI5jK6lM7nO8pQ9rS0tU1v', 'api-key'],
  ['apiKeys', 'AWS', 'AKIAIOSFODNN7EXAMPLE', 'api-key'],
  ['apiKeys', 'SendGrid', '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', 'api-key'],
  ['tokens', 'JWT', JWT, 'token'],
  ['tokens', 'bearer', 'Bearer 0123456789abcdefABCDEF==', 'token'],
  ['tokens', 'basic', 'Basic dXNlcjpwYXNzd29yZDEyMw==', 'token'],
  ['tokens', 'GitHub', 'ghp_16C7e42F292c6912E7710c838347Ae178B4a', 'token'],
  ['tokens', 'GitHub, fine-grained', 'github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz', 'token'],
  ['tokens', 'GitLab', 'glpat-1a2B3c4D5e6F7g8H9i0J', 'token'],
  ['tokens', 'Slack', 'xoxb-123456789012-abcdefGHIJKL', 'token'],
  ['tokens', 'Google OAuth', 'ya29.a0AfH6SMBx1234567890abcdef', 'token'],
  ['tokens', 'PEM', PEM, 'private-key'],
  ['tokens', 'PEM with escaped line breaks', PEM.replaceAll('\n', '\\n'), 'private-key'],
  ['tokens', 'OpenPGP', PEM.replaceAll('RSA PRIVATE KEY', 'PGP PRIVATE KEY BLOCK'), 'private-key'],
  ['cardNumbers', 'Visa', '4111111111111111', 'card-number'],
  ['cardNumbers', 'Visa in groups', '4111 1111 1111 1111', 'card-number'],
  ['cardNumbers', 'Mastercard', '5555-5555-5555-4444', 'card-number'],
  ['cardNumbers', 'Mastercard, of the range with 2', '2223003122003222', 'card-number'],
  ['cardNumbers', 'American Express', '3782 822463 10005', 'card-number'],
  ['cardNumbers', 'Discover', '6011111111111117', 'card-number'],
  ['cardNumbers', 'Diners Club', '30569309025904', 'card-number'],
  ['cardNumbers', 'JCB', '3530111333300000', 'card-number'],
  ['emails', 'address', 'ada.lovelace+x@mail.example.org', 'email'],
]

describe.each(secrets)('redactions.%s: %s', (group, _what, secret, name) => {
  test.each([
    ['alone', '', ''],
    ['in a sentence', 'It is ', ', is it?'],
    ['in JSON', '{"key":"', '"}'],
    ['between other lines', 'one\n', '\ntwo'],
    ['after an equals sign', 'KEY=', ' # mine'],
  ])('is redacted %s', (_where, before, after) => {
    expect(redact(redactions[group], before + secret + after)).toBe(`${before}[redacted:${name}]${after}`)
  })
})

test('redactions.tokens: a URL loses its password, and keeps its host', () => {
  expect(redact(redactions.tokens, 'at postgres://app:pa55:word@db.example:5432/main now')).toBe(
    'at postgres[redacted:url-password]db.example:5432/main now',
  )
})

test('redactions.tokens: a truncated private key is redacted up to the end', () => {
  expect(redact(redactions.tokens, `See ${PEM.slice(0, 700)}`)).toBe('See [redacted:private-key]')
})

test('redactions.tokens: text after a private key stays', () => {
  expect(redact(redactions.tokens, `${PEM} and ${PEM}, both.`)).toBe(
    '[redacted:private-key] and [redacted:private-key], both.',
  )
})

test('redactions.cardNumbers: a card among other numbers is redacted alone', () => {
  expect(redact(redactions.cardNumbers, 'no 17 4111 1111 1111 1111 12/29 ok')).toBe(
    'no 17 [redacted:card-number] 12/29 ok',
  )
})

test.each([
  ['a package', 'pip install sk-learn-contrib-estimators'],
  ['a word with a known beginning', 'task-1234567890123456789'],
  ['a short key', 'sk-abc123'],
  ['bearer in prose', 'the bearer of responsibilities'],
  ['basic in prose', 'basic understanding needed'],
  ['the beginning of a JWT alone', 'eyJhbGciOiJIUzI1NiJ9'],
  ['a public key', PEM.replaceAll('PRIVATE', 'PUBLIC')],
  ['a URL with a port', 'http://localhost:8080/a@b'],
  ['a URL with a user', 'ssh://git@localhost/repo'],
  ['a card with a wrong check digit', '4111 1111 1111 1112'],
  ['a number of no issuer', '1234567890123452'],
  ['a time in milliseconds', '1763359200000 1763359200009'],
  ['a card inside of an identifier', 'id_4111111111111111 and 4111111111111111x'],
  ['decimals', '0.4111111111111111'],
  ['a long number', '41111111111111111111'],
  ['a phone number', '+49 30 1234 5678 90'],
  ['a UUID', '550e8400-e29b-41d4-a716-446655440000'],
  ['a run id', 'run_01KA7Z3V5M8Q9X2C4B6N8M0P1R'],
  ['a mention', 'see @someone, or user@localhost'],
  ['an ISO time', '2026-01-01T00:00:00.000Z'],
])('redaction: %s is left unchanged', (_what, text) => {
  expect(redact(all, text)).toBe(text)
})

describe('redaction: the time of a search grows linearly:', () => {
  const hostile = [
    ['heads without an end', 'sk-', ''],
    ['heads, each cut off', 'sk-a ', ''],
    ['beginnings of tokens', 'eyJ.', ''],
    ['a token that is all dots', '.', 'eyJabcdefgh.'],
    ['schemes', '://:', ''],
    ['digits', '4', ''],
    ['groups of digits', '41 1', ''],
    ['beginnings of keys', '-----BEGIN PRIVATE KEY-----', ''],
    ['headers that never end', '-----BEGIN A ', ''],
    ['at signs', 'a@', ''],
    ['dots after an at sign', '@a.a', ''],
    ['blanks', ' ', ''],
    ['letters', 'a', ''],
  ] as const
  const n = 100_000

  test.each(hostile)('text of %s', (_what, piece, before) => {
    const matcher = new Matcher(all)
    const of = (chars: number): string => before + piece.repeat(Math.ceil(chars / piece.length))
    const [short, long] = [of(n), of(4 * n)]
    const timeOf = (text: string): number => {
      const times = [1, 2, 3].map(() => {
        const began = process.cpuUsage()
        matcher.find(text)
        matcher.openFrom(text)
        const { user, system } = process.cpuUsage(began)
        return user + system
      })
      return Math.min(...times)
    }
    timeOf(short)
    // Four times the text: linear is 4, quadratic 16. Below a millisecond there is nothing to compare.
    expect(timeOf(long)).toBeLessThan(10 * Math.max(timeOf(short), 1000))
  })
})
