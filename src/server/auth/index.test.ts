import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { SignJWT } from 'jose'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { localPrincipal, ownerKey } from '../../core/model/principal.ts'
import { openAuthenticator } from './index.ts'
import { createKey } from './api-keys.ts'

const SECRET = 'a shared secret of more than 32 bytes'
const jwt = { key: `secret:${SECRET}` }

let folder: string
let keys: string
let key: string
let token: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-auth-'))
  keys = join(folder, 'keys.json')
  key = (await createKey(keys, { name: 'ci' })).key
  token = await new SignJWT({ sub: 'ci' })
    .setExpirationTime('1h')
    .setProtectedHeader({ alg: 'HS256' })
    .sign(Buffer.from(SECRET))
})

afterAll(() => rm(folder, { recursive: true, force: true }))

test('authentication: without it everybody is the local principal, whatever credential they send', async () => {
  const authenticator = await openAuthenticator({})
  expect(authenticator.scheme).toBe('none')
  for (const credential of [{}, { bearer: '' }, { bearer: key }]) {
    expect(await authenticator.authenticate(credential)).toBe(localPrincipal)
  }
})

test('[SEC-1] authentication: keys and tokens are checked separately, and the same name is not the same owner', async () => {
  const authenticator = await openAuthenticator({ keys, jwt })
  expect(authenticator.scheme).toBe('keys+jwt')
  const owners = [key, token].map(async (bearer) => ownerKey(await authenticator.authenticate({ bearer })))
  expect(await Promise.all(owners)).toEqual(['key:ci', 'ci'])
  for (const credential of [
    {},
    { bearer: '' },
    { bearer: 'hf_' },
    { bearer: `hf_${token}` },
    { bearer: `${token}x` },
  ]) {
    await expect(authenticator.authenticate(credential)).rejects.toMatchObject({ code: 'unauthenticated' })
  }
})

test('authentication: if only keys or only tokens are configured, the other is rejected', async () => {
  const onlyKeys = await openAuthenticator({ keys })
  const onlyTokens = await openAuthenticator({ jwt })
  expect([onlyKeys.scheme, onlyTokens.scheme]).toEqual(['keys', 'jwt'])
  await expect(onlyKeys.authenticate({ bearer: token })).rejects.toMatchObject({ code: 'unauthenticated' })
  await expect(onlyTokens.authenticate({ bearer: key })).rejects.toMatchObject({ code: 'unauthenticated' })
})

test('authentication: a configured source that cannot be opened is an error, not a server without authentication', async () => {
  await expect(openAuthenticator({ keys: join(folder, 'none.json'), jwt })).rejects.toThrow(/none\.json/)
  await expect(openAuthenticator({ keys, jwt: { key: 'secret:short' } })).rejects.toThrow(/secret/)
  await expect(openAuthenticator({ jwt: {} })).rejects.toThrow(/either/)
  await expect(openAuthenticator({ securityKey: 'fifteen-letters' })).rejects.toThrow(/shorter than 16 characters/)
})

test('authentication: a server without tokens does not load jose', async () => {
  const program = `import { openAuthenticator } from ${JSON.stringify(new URL('./index.ts', import.meta.url).href)}
    import { registerHooks } from 'node:module'
    const seen = []
    registerHooks({ resolve: (specifier, context, next) => (seen.push(specifier), next(specifier, context)) })
    await openAuthenticator({ keys: ${JSON.stringify(keys)} })
    const before = seen.includes('jose')
    await openAuthenticator({ jwt: { key: ${JSON.stringify(jwt.key)} } })
    console.log(before, seen.includes('jose'))`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program])
  expect(stdout.trim()).toBe('false true')
})
