import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { createSecretBox, keyId } from './secret-box.ts'
import { parseSecretKeys } from './secret-keys.ts'

const [old, young] = [randomBytes(32), randomBytes(32)]

test('secret box: a secret sealed by one key opens with any box that has that key', () => {
  const sealed = createSecretBox([old]).seal('päss', 'webhook 1')
  expect(sealed).toMatch(new RegExp(`^v1\\.${keyId(old)}\\.`))
  expect(createSecretBox([young, old]).open(sealed, 'webhook 1')).toBe('päss')
  expect(createSecretBox([young, old]).seal('päss', 'webhook 1')).toMatch(new RegExp(`^v1\\.${keyId(young)}\\.`))
})

test('secret box: the same secret is sealed differently each time', () => {
  const box = createSecretBox([old])
  expect(box.seal('s', 'c')).not.toBe(box.seal('s', 'c'))
})

test('secret box: a secret of another context, with another key, or changed anywhere does not open', () => {
  const box = createSecretBox([old])
  const sealed = box.seal('a secret', 'webhook 1')
  expect(() => box.open(sealed, 'webhook 2')).toThrow('stored for another purpose')
  expect(() => createSecretBox([young]).open(sealed, 'webhook 1')).toThrow(`the key ${keyId(old)}`)
  const bytes = Buffer.from(sealed.split('.')[2]!, 'base64url')
  for (let position = 0; position < bytes.length; position++) {
    const changed = Buffer.from(bytes)
    changed[position]! ^= 1
    expect(() => box.open(`v1.${keyId(old)}.${changed.toString('base64url')}`, 'webhook 1')).toThrow('corrupt')
  }
  for (const nonsense of ['', 'v1..', 'v2.00000000.AAAA', 'v1.00000000.AAAA', 'a secret'])
    expect(() => box.open(nonsense, 'webhook 1')).toThrow('corrupt')
})

test('secret keys: hex, base64 and base64url are read, with comments and line breaks', () => {
  const texts = [old.toString('hex'), old.toString('base64'), old.toString('base64url')]
  for (const text of texts) expect(parseSecretKeys(text)).toEqual([old])
  expect(parseSecretKeys(`# of May\n${young.toString('hex')}\n${old.toString('base64')}\n`)).toEqual([young, old])
})

test('secret keys: a key that is too short is rejected without being quoted', () => {
  for (const text of ['abc', old.toString('hex').slice(2), '', ','])
    expect(() => parseSecretKeys(text)).toThrow(/32 (random )?bytes/)
  expect(() => parseSecretKeys('kelp-kelp')).not.toThrow('kelp')
})
