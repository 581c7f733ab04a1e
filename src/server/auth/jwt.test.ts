import { createHmac, generateKeyPairSync } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { exportJWK, exportPKCS8, exportSPKI, generateKeyPair, SignJWT, UnsecuredJWT } from 'jose'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { credentialRefused, keyPrincipalId, localPrincipal } from '../../core/model/principal.ts'
import { openJwtAuthenticator } from './jwt.ts'
import { anyCharacter } from '../../testing/any-character.ts'

/** Any claims, including invalid ones. */
type Claims = Readonly<Record<string, unknown>>
type KeyPair = Awaited<ReturnType<typeof generateKeyPair>>

const NOW_S = 1_800_000_000
const SECRET = 'a shared secret of more than 32 bytes'
const refused = { code: 'unauthenticated', message: credentialRefused().message }
const clock = { now: () => NOW_S * 1000 }

let folder: string
let rsa: KeyPair
let other: KeyPair
let pem: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-jwt-'))
  rsa = await generateKeyPair('RS256', { extractable: true })
  other = await generateKeyPair('RS256', { extractable: true })
  pem = await exportSPKI(rsa.publicKey)
})

afterAll(() => rm(folder, { recursive: true, force: true }))

async function file(name: string, text: string): Promise<string> {
  const path = join(folder, name)
  await writeFile(path, text)
  return path
}

interface Signing {
  readonly alg?: string
  readonly key?: Parameters<SignJWT['sign']>[0]
  readonly kid?: string
}

function token(
  claims: Claims = { sub: 'alice' },
  { alg = 'RS256', key = rsa.privateKey, kid }: Signing = {},
): Promise<string> {
  const header = kid === undefined ? { alg } : { alg, kid }
  return new SignJWT({ exp: NOW_S + 60, ...claims }).setProtectedHeader(header).sign(key)
}

const base64url = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

describe('JWT: a token signed with the configured key', () => {
  test('authenticates the principal of its subject', async () => {
    const authenticator = await openJwtAuthenticator({ key: pem }, clock)
    expect(authenticator.scheme).toBe('jwt')
    expect(await authenticator.authenticate({ bearer: await token({ sub: 'alice', name: 'Alice' }) })).toMatchObject({
      id: 'alice',
      name: 'Alice',
    })
  })

  test('authenticates the principal and tenant of the configured claims', async () => {
    const options = { key: pem, principalClaim: 'email', tenantClaim: 'https://example.com/org' }
    const authenticator = await openJwtAuthenticator(options, clock)
    const bearer = await token({ sub: '1', email: 'alice@example.com', 'https://example.com/org': 'acme' })
    expect(await authenticator.authenticate({ bearer })).toMatchObject({ id: 'alice@example.com', tenant: 'acme' })
  })

  test.each([['RS256'], ['PS512'], ['ES256'], ['ES384'], ['ES512'], ['EdDSA'], ['Ed25519']])(
    'is accepted with %s, as PEM or JWK, as text or in a file',
    async (alg) => {
      const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true })
      const bearer = await token({ sub: 'alice' }, { alg, key: privateKey })
      const spki = await exportSPKI(publicKey)
      const jwk = JSON.stringify(await exportJWK(publicKey))
      for (const key of [spki, jwk, await file(`${alg}.pem`, spki), await file(`${alg}.json`, jwk)]) {
        const authenticator = await openJwtAuthenticator({ key }, clock)
        expect(await authenticator.authenticate({ bearer })).toMatchObject({ id: 'alice' })
      }
    },
  )

  test('is accepted with a shared secret, as text, in a file or as JWK', async () => {
    const bearer = await token({ sub: 'alice' }, { alg: 'HS256', key: Buffer.from(SECRET) })
    const jwk = JSON.stringify({ kty: 'oct', k: Buffer.from(SECRET).toString('base64url'), alg: 'HS256' })
    for (const key of [`secret:${SECRET}`, `secret-file:${await file('secret', `${SECRET}\n`)}`, jwk]) {
      const authenticator = await openJwtAuthenticator({ key }, clock)
      expect(await authenticator.authenticate({ bearer })).toMatchObject({ id: 'alice' })
    }
  })

  test('is verified with the public half when the operator configures a private key', async () => {
    const authenticator = await openJwtAuthenticator({ key: await exportPKCS8(rsa.privateKey) }, clock)
    expect(await authenticator.authenticate({ bearer: await token() })).toMatchObject({ id: 'alice' })
  })
})

describe('JWT: an invalid token is rejected, always with the same message', () => {
  const strict = { issuer: 'https://issuer.example', audience: 'holdfast', tenantClaim: 'org' }
  const sound = { sub: 'alice', iss: 'https://issuer.example', aud: 'holdfast', org: 'acme' }
  const open = () => openJwtAuthenticator({ key: pem, ...strict }, clock)

  test('a valid token is accepted', async () => {
    expect(await (await open()).authenticate({ bearer: await token(sound) })).toMatchObject({
      id: 'alice',
      tenant: 'acme',
    })
  })

  test.each<[string, Claims]>([
    ['it has expired', { exp: NOW_S - 6 }],
    ['it is not valid yet', { nbf: NOW_S + 6 }],
    ['it is of another issuer', { iss: 'https://evil.example' }],
    ['it is for another audience', { aud: ['billing'] }],
    ['it has no principal', { sub: undefined }],
    ['its principal is empty', { sub: '' }],
    ['its principal is not a text', { sub: 7 }],
    ['its principal is too long', { sub: 'x'.repeat(257) }],
    ['its principal is that of a server without authentication', { sub: localPrincipal.id }],
    ['its principal is that of an API key', { sub: keyPrincipalId('ci') }],
    ['it has no tenant', { org: undefined }],
    ['its tenant is a list', { org: ['acme'] }],
  ])('a token is rejected when %s', async (_title, change) => {
    await expect((await open()).authenticate({ bearer: await token({ ...sound, ...change }) })).rejects.toMatchObject(
      refused,
    )
  })

  test('a token that another key signed is rejected', async () => {
    const bearer = await token(sound, { key: other.privateKey })
    await expect((await open()).authenticate({ bearer })).rejects.toMatchObject(refused)
  })

  test('a token with a claim that was changed after signing is rejected', async () => {
    const [header, , signature] = (await token(sound)).split('.')
    const bearer = `${header}.${base64url({ ...sound, sub: 'mallory' })}.${signature}`
    await expect((await open()).authenticate({ bearer })).rejects.toMatchObject(refused)
  })

  test('an unsigned token is rejected: alg none is not an algorithm', async () => {
    const authenticators = [await open(), await openJwtAuthenticator({ key: `secret:${SECRET}` }, clock)]
    const bearers = [
      new UnsecuredJWT(sound).encode(),
      ...['none', 'None', 'NONE', ''].map((alg) => `${base64url({ alg })}.${base64url(sound)}.`),
    ]
    for (const authenticator of authenticators) {
      for (const bearer of bearers) await expect(authenticator.authenticate({ bearer })).rejects.toMatchObject(refused)
    }
  })

  test('a token signed with the public key as a shared secret is rejected', async () => {
    const input = `${base64url({ alg: 'HS256' })}.${base64url(sound)}`
    const secrets = [pem, pem.trim(), JSON.stringify(await exportJWK(rsa.publicKey))]
    const sources = [
      { key: pem },
      { key: await file('confused.pem', pem) },
      { jwks: await keySetFile('confused', rsa) },
    ]
    for (const source of sources) {
      const authenticator = await openJwtAuthenticator({ ...source, ...strict }, clock)
      for (const secret of secrets) {
        const bearer = `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`
        await expect(authenticator.authenticate({ bearer })).rejects.toMatchObject(refused)
      }
    }
  })

  test('a token signed by a key pair is rejected if a shared secret is configured', async () => {
    const authenticator = await openJwtAuthenticator({ key: `secret:${pem}` }, clock)
    await expect(authenticator.authenticate({ bearer: await token() })).rejects.toMatchObject(refused)
  })

  test('a token that carries its own key is rejected', async () => {
    const jwk = await exportJWK(other.publicKey)
    const bearer = await new SignJWT(sound).setProtectedHeader({ alg: 'RS256', jwk }).sign(other.privateKey)
    await expect((await open()).authenticate({ bearer })).rejects.toMatchObject(refused)
  })

  test('a token whose algorithm is not allowed is rejected', async () => {
    const authenticator = await openJwtAuthenticator({ key: pem, algorithms: ['PS256'] }, clock)
    await expect(authenticator.authenticate({ bearer: await token() })).rejects.toMatchObject(refused)
    const allowed = await openJwtAuthenticator({ key: pem, algorithms: ['RS256'] }, clock)
    expect(await allowed.authenticate({ bearer: await token() })).toMatchObject({ id: 'alice' })
  })

  test('a bearer value that is not a token is rejected', async () => {
    const authenticator = await open()
    const piece = fc.oneof(
      fc.string({ unit: anyCharacter }),
      fc.json().map((text) => Buffer.from(text).toString('base64url')),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 5 }), async (pieces) => {
        await expect(authenticator.authenticate({ bearer: pieces.join('.') })).rejects.toMatchObject(refused)
      }),
    )
    await expect(authenticator.authenticate({})).rejects.toMatchObject({ code: 'unauthenticated' })
  })
})

test('JWT: a small clock skew is tolerated', async () => {
  const late = await token({ sub: 'alice', exp: NOW_S - 4 })
  expect(await (await openJwtAuthenticator({ key: pem }, clock)).authenticate({ bearer: late })).toMatchObject({
    id: 'alice',
  })
  const exact = await openJwtAuthenticator({ key: pem, clockToleranceS: 0 }, clock)
  await expect(exact.authenticate({ bearer: late })).rejects.toMatchObject(refused)
  for (const clockToleranceS of [-1, 301, Number.NaN]) {
    await expect(openJwtAuthenticator({ key: pem, clockToleranceS }, clock)).rejects.toThrow(/0 to 300 seconds/)
  }
})

describe('JWT: an unusable key is an error at startup:', () => {
  const small = generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey.export({ type: 'spki', format: 'pem' })
  const curve = generateKeyPairSync('ec', { namedCurve: 'secp256k1' }).publicKey.export({ type: 'spki', format: 'pem' })
  const exchange = generateKeyPairSync('x25519').publicKey.export({ type: 'spki', format: 'pem' })

  test.each<[string, string, RegExp]>([
    ['a short secret', 'secret:hunter2', /7 bytes; at least 32/],
    ['a short secret in a JWK', '{"kty":"oct","k":"aHVudGVyMg"}', /7 bytes/],
    ['a secret that is not said to be one', SECRET, /secret:TEXT/],
    ['broken PEM', '-----BEGIN PUBLIC KEY-----\nxyz\n-----END PUBLIC KEY-----', /cannot be used/],
    ['broken JWK', '{"kty":', /not JSON/],
    ['a key set', '{"keys":[]}', /key set/],
    ['a small RSA key', String(small), /1024 bits; at least 2048/],
    ['an unknown curve', String(curve), /secp256k1/],
    ['a key that cannot sign', String(exchange), /x25519/],
    ['an encryption key', '{"kty":"oct","use":"enc","k":"' + 'A'.repeat(60) + '"}', /not for signatures/],
    ['a JWK with an alg that does not fit', '{"kty":"oct","alg":"RS256","k":"' + 'A'.repeat(60) + '"}', /does not fit/],
  ])('%s', async (_title, key, message) => {
    const error: unknown = await openJwtAuthenticator({ key }, clock).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'invalid_request', message: expect.stringMatching(message) as string })
  })

  test('the text of an unusable key, which may be a secret, is not in the error', async () => {
    for (const key of [SECRET, `secret:${'x'.repeat(8)}`]) {
      await expect(openJwtAuthenticator({ key }, clock)).rejects.not.toThrow(key.slice(-8))
    }
  })

  test('a file that is neither PEM nor JWK is not used as a secret', async () => {
    const key = await file('id_rsa.pub', `ssh-rsa ${'A'.repeat(300)}`)
    await expect(openJwtAuthenticator({ key }, clock)).rejects.toThrow(/neither PEM nor JWK/)
  })

  test('an algorithm that does not fit the key is an error', async () => {
    await expect(openJwtAuthenticator({ key: pem, algorithms: ['HS256'] }, clock)).rejects.toThrow(/HS256 does not fit/)
    await expect(openJwtAuthenticator({ key: pem, algorithms: ['none'] }, clock)).rejects.toThrow(/none does not fit/)
    await expect(openJwtAuthenticator({ key: pem, algorithms: [] }, clock)).rejects.toThrow(/JWT algorithms is empty/)
  })

  test('a key together with a key set, or neither, is an error', async () => {
    await expect(openJwtAuthenticator({ key: pem, jwks: 'https://x' }, clock)).rejects.toThrow(/not both/)
    await expect(openJwtAuthenticator({}, clock)).rejects.toThrow(/either/)
  })
})

async function keySetOf(...pairs: readonly KeyPair[]): Promise<string> {
  const keys = await Promise.all(
    pairs.map(async ({ publicKey }, index) => ({ ...(await exportJWK(publicKey)), kid: `k${index}` })),
  )
  return JSON.stringify({ keys })
}

async function keySetFile(name: string, ...pairs: readonly KeyPair[]): Promise<string> {
  return file(`${name}.jwks.json`, await keySetOf(...pairs))
}

describe('JWT: a key set in a file', () => {
  test('finds the key by its id', async () => {
    const authenticator = await openJwtAuthenticator({ jwks: await keySetFile('two', rsa, other) }, clock)
    const sign = (kid: string, key: KeyPair) => token({ sub: kid }, { kid, key: key.privateKey })
    expect(await authenticator.authenticate({ bearer: await sign('k0', rsa) })).toMatchObject({ id: 'k0' })
    expect(await authenticator.authenticate({ bearer: await sign('k1', other) })).toMatchObject({ id: 'k1' })
    await expect(authenticator.authenticate({ bearer: await sign('k1', rsa) })).rejects.toMatchObject(refused)
    await expect(authenticator.authenticate({ bearer: await sign('k2', rsa) })).rejects.toMatchObject(refused)
    await expect(authenticator.authenticate({ bearer: await token() })).rejects.toMatchObject(refused)
  })

  test.each(['', '[]', '{"keys":{}}', '{"keys":[]}', '{"keys":[1]}'])(
    'a key set file with the content %j is an error that names the file',
    async (text) => {
      const jwks = await file('bad.json', text)
      await expect(openJwtAuthenticator({ jwks }, clock)).rejects.toThrow(jwks)
    },
  )

  test('a key set file that does not exist is an error that names the file', async () => {
    await expect(openJwtAuthenticator({ jwks: join(folder, 'none.json') }, clock)).rejects.toThrow(
      join(folder, 'none.json'),
    )
  })
})

describe('JWT: a key set at a URL', () => {
  let server: Server | undefined
  let requests = 0
  let answer: { status?: number; body: string; location?: string } = { body: '' }

  async function listen(): Promise<string> {
    requests = 0
    server = createServer((_request, response) => {
      requests++
      const { status = 200, body, location } = answer
      response.writeHead(status, location === undefined ? {} : { location }).end(body)
    })
    await new Promise<void>((resolve) => server!.listen(0, '127.0.0.1', resolve))
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks.json`
  }

  afterEach(async () => {
    server?.closeAllConnections()
    await new Promise((resolve) => (server ? server.close(resolve) : resolve(undefined)))
    server = undefined
  })

  test('is fetched on demand, once for many requests, also for unknown key ids', async () => {
    answer = { body: await keySetOf(rsa) }
    const authenticator = await openJwtAuthenticator({ jwks: await listen() }, clock)
    expect(requests).toBe(0)
    const bearer = await token({ sub: 'alice' }, { kid: 'k0' })
    const principals = await Promise.all(Array.from({ length: 10 }, () => authenticator.authenticate({ bearer })))
    expect(principals).toMatchObject(Array.from({ length: 10 }, () => ({ id: 'alice' })))
    for (let guess = 1; guess < 10; guess++) {
      const guessed = await token({ sub: 'alice' }, { kid: `k${guess}` })
      await expect(authenticator.authenticate({ bearer: guessed })).rejects.toMatchObject(refused)
    }
    expect(requests).toBe(1)
  })

  test.each<[string, typeof answer]>([
    ['answers 500', { status: 500, body: 'oops' }],
    ['answers with what is not JSON', { body: '<html>' }],
    ['answers with what is not a key set', { body: '{}' }],
    ['redirects', { status: 302, body: '', location: 'http://127.0.0.1:1/' }],
  ])('a URL that %s results in unavailable, not unauthenticated', async (_title, bad) => {
    answer = bad
    const authenticator = await openJwtAuthenticator({ jwks: await listen() }, clock)
    const bearer = await token({ sub: 'alice' }, { kid: 'k0' })
    await expect(authenticator.authenticate({ bearer })).rejects.toMatchObject({
      code: 'unavailable',
      retryAfterMs: 1000,
    })
  })

  test('a key set larger than a megabyte is rejected as unavailable', async () => {
    answer = { body: (await keySetOf(rsa)) + ' '.repeat(2 * 1024 * 1024) }
    const authenticator = await openJwtAuthenticator({ jwks: await listen() }, clock)
    const bearer = await token({ sub: 'alice' }, { kid: 'k0' })
    await expect(authenticator.authenticate({ bearer })).rejects.toMatchObject({ code: 'unavailable' })
  })

  test('a failed fetch is repeated after a second, not by every request', async () => {
    let now = NOW_S * 1000
    answer = { status: 503, body: '' }
    const authenticator = await openJwtAuthenticator({ jwks: await listen() }, { now: () => now })
    const bearer = await token({ sub: 'alice' }, { kid: 'k0' })
    for (let request = 0; request < 5; request++) {
      await expect(authenticator.authenticate({ bearer })).rejects.toMatchObject({ code: 'unavailable' })
    }
    expect(requests).toBe(1)
    answer = { body: await keySetOf(rsa) }
    now += 1000
    expect(await authenticator.authenticate({ bearer })).toMatchObject({ id: 'alice' })
    expect(requests).toBe(2)
  })

  test('an unreachable URL results in unavailable', async () => {
    const authenticator = await openJwtAuthenticator({ jwks: 'http://127.0.0.1:1/jwks.json' }, clock)
    const bearer = await token({ sub: 'alice' }, { kid: 'k0' })
    await expect(authenticator.authenticate({ bearer })).rejects.toMatchObject({ code: 'unavailable' })
  })

  test('an invalid URL is an error at startup', async () => {
    await expect(openJwtAuthenticator({ jwks: 'https://' }, clock)).rejects.toThrow(/not the URL of a key set/)
  })
})

describe('JWT: scopes and expiry', () => {
  const open = (more: object = {}) => openJwtAuthenticator({ key: pem, ...more }, clock)

  test('scopes come from the scope claims, as a list or as text, and the expiry from exp', async () => {
    const [byDefault, named] = [await open(), await open({ scopesClaim: 'scope' })]
    const listed = await token({ sub: 'alice', scopes: ['agents:run', 'openid', 7] })
    expect(await byDefault.authenticate({ bearer: listed })).toEqual({
      id: 'alice',
      scopes: ['agents:run', 'openid'],
      credential: { expiresAt: (NOW_S + 65) * 1000 },
    })
    const text = await token({ sub: 'alice', scope: 'runs:read openid' })
    expect(await named.authenticate({ bearer: text })).toMatchObject({ scopes: ['runs:read', 'openid'] })
    expect(await byDefault.authenticate({ bearer: text })).not.toHaveProperty('scopes')
    for (const unreadable of [[], '', 7, null, { admin: true }])
      expect(
        (await byDefault.authenticate({ bearer: await token({ sub: 'a', scopes: unreadable }) })).scopes,
      ).not.toContain('admin')
  })

  test('a token without exp is rejected unless configured otherwise', async () => {
    const endless = await token({ sub: 'alice', exp: undefined })
    await expect((await open()).authenticate({ bearer: endless })).rejects.toMatchObject(refused)
    expect(await (await open({ requireExpiry: false })).authenticate({ bearer: endless })).toEqual({ id: 'alice' })
  })
})
