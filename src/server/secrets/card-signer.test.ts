import { generateKeyPairSync } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../../../test/support/temporary.ts'
import { readCardSigner } from './card-signer.ts'

test.each([
  ['ES256', generateKeyPairSync('ec', { namedCurve: 'P-256' })],
  ['ES384', generateKeyPairSync('ec', { namedCurve: 'P-384' })],
  ['EdDSA', generateKeyPairSync('ed25519')],
  ['RS256', generateKeyPairSync('rsa', { modulusLength: 2048 })],
])('card signer: a key for %s is read from PEM and from JWK', async (alg, { privateKey }) => {
  const path = join(temporaryFolder(), 'key')
  writeFileSync(path, privateKey.export({ type: 'pkcs8', format: 'pem' }))
  const fromPem = await readCardSigner(path)
  expect(fromPem).toMatchObject({ alg, kid: expect.stringMatching(/^[\w-]{43}$/) as string })
  writeFileSync(path, JSON.stringify({ ...privateKey.export({ format: 'jwk' }), kid: 'mine' }))
  expect(await readCardSigner(path)).toMatchObject({ alg, kid: 'mine' })
})

test('card signer: a file that is unreadable or cannot sign is rejected with its path', async () => {
  const path = join(temporaryFolder(), 'key')
  await expect(readCardSigner(path)).rejects.toThrow(`--a2a-sign-key ${path}`)
  writeFileSync(path, 'nonsense')
  await expect(readCardSigner(path)).rejects.toThrow(`--a2a-sign-key ${path}`)
  writeFileSync(path, generateKeyPairSync('x25519').privateKey.export({ type: 'pkcs8', format: 'pem' }))
  await expect(readCardSigner(path)).rejects.toThrow('cannot sign cards')
})
