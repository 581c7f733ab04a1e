import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { ManualClock } from '../../../test/support/manual-clock.ts'
import { until } from '../../../test/support/until.ts'
import { CredentialWatch } from '../../core/access/credential-watch.ts'
import { HoldfastError } from '../../core/model/errors.ts'
import { ownerKey } from '../../core/model/principal.ts'
import { KeyUsageRecorder, readKeyUsage } from './key-usage.ts'
import { createKey, listKeys, openKeyAuthenticator, revokeKey } from './api-keys.ts'
import { anyCharacter } from '../../testing/any-character.ts'

let folder: string
let path: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-keys-'))
  path = join(folder, 'state', 'keys.json')
})

afterEach(() => rm(folder, { recursive: true, force: true }))

/** A clock that stands still until it is moved. */
const stillClock = () => {
  let now = Date.parse('2026-01-01T00:00:00Z')
  return { now: () => now, advance: (ms: number) => void (now += ms) }
}

const refused = { code: 'unauthenticated', message: 'the credential is not valid' }
const file = (...keys: unknown[]): string => JSON.stringify({ version: 1, keys })
const flip = (text: string): string => text.slice(0, -1) + (text.endsWith('0') ? '1' : '0')

describe('key file', () => {
  test('a new key has 256 random bits, and only their hash is stored', async () => {
    const { key, entry } = await createKey(path, { name: 'ci', tenant: 'acme' })
    expect(key).toMatch(/^hf_[0-9a-f]{10}_[0-9a-f]{64}$/)
    const text = await readFile(path, 'utf8')
    expect(text).not.toContain(key.split('_')[2])
    expect(text).toContain(entry.hash)
    expect((await createKey(path, { name: 'other' })).key).not.toBe(key)
  })

  test('is readable only by its owner, before and after a change', async () => {
    await createKey(path, { name: 'ci' })
    expect((await stat(path)).mode & 0o777).toBe(0o600)
    await revokeKey(path, 'ci')
    expect((await stat(path)).mode & 0o777).toBe(0o600)
  })

  test('has no temporary files beside it after changes', async () => {
    await createKey(path, { name: 'ci' })
    await expect(createKey(path, { name: 'ci' })).rejects.toMatchObject({ code: 'conflict' })
    await revokeKey(path, 'ci')
    expect(await readdir(join(folder, 'state'))).toEqual(['keys.json'])
  })

  test('a name is taken until its key is revoked, and the ids of all keys are kept', async () => {
    const first = await createKey(path, { name: 'ci' })
    await expect(createKey(path, { name: 'ci' })).rejects.toThrow(/"ci" already .*revoke it/)
    await revokeKey(path, 'ci')
    const second = await createKey(path, { name: 'ci' })
    expect((await listKeys(path))?.map(({ id, revokedAt }) => [id, revokedAt !== undefined])).toEqual([
      [first.entry.id, true],
      [second.entry.id, false],
    ])
  })

  test('a name that is the id of a key is rejected, so that revoking is never ambiguous', async () => {
    const { entry } = await createKey(path, { name: 'ci' })
    await expect(createKey(path, { name: entry.id })).rejects.toMatchObject({ code: 'conflict' })
  })

  test('a key is revoked by name or id; a second time reports the first', async () => {
    const clock = stillClock()
    const { entry } = await createKey(path, { name: 'ci' }, clock)
    expect(await revokeKey(path, entry.id, clock)).toMatchObject({ already: false, entry: { name: 'ci' } })
    clock.advance(5000)
    const again = await revokeKey(path, 'ci', clock)
    expect(again).toMatchObject({ already: true, entry: { revokedAt: '2026-01-01T00:00:00.000Z' } })
  })

  test('an unknown key, or a missing file, is reported and nothing is written', async () => {
    await expect(revokeKey(path, 'ci')).rejects.toMatchObject({ code: 'not_found' })
    expect(await readdir(folder)).toEqual([])
    await createKey(path, { name: 'ci' })
    await expect(revokeKey(path, 'other')).rejects.toThrow(/no key "other" in .*keys list/)
  })

  test.each(['', 'two words', '../x', '-x', 'a\nb', 'é', 'x'.repeat(65)])('the name %j is rejected', async (name) => {
    await expect(createKey(path, { name })).rejects.toMatchObject({ code: 'invalid_request' })
    expect(await readdir(folder)).toEqual([])
  })

  test.each([{ principal: '' }, { principal: 'a\u001b[31m' }, { tenant: '' }, { tenant: 'x'.repeat(257) }])(
    '%j is rejected',
    async (part) => {
      await expect(createKey(path, { name: 'ci', ...part })).rejects.toMatchObject({ code: 'invalid_request' })
    },
  )

  test('twenty concurrent changes are all kept', async () => {
    await createKey(path, { name: 'old' })
    const names = Array.from({ length: 19 }, (_, index) => `key-${index}`)
    await Promise.all([revokeKey(path, 'old'), ...names.map((name) => createKey(path, { name }))])
    const keys = await listKeys(path)
    expect(keys?.map(({ name }) => name).toSorted()).toEqual([...names, 'old'].toSorted())
    expect(keys?.find(({ name }) => name === 'old')?.revokedAt).toBeDefined()
  })

  test('a stale lock is reported with what to do, and not broken', async () => {
    await createKey(path, { name: 'ci' })
    await writeFile(`${path}.lock`, '')
    await expect(revokeKey(path, 'ci')).rejects.toThrow(`remove ${path}.lock`)
  })

  test('a symbolic link to the file stays a link', async () => {
    await createKey(path, { name: 'ci' })
    const link = join(folder, 'link.json')
    await symlink(path, link)
    await revokeKey(link, 'ci')
    expect((await listKeys(path))?.[0]?.revokedAt).toBeDefined()
  })
})

describe('key authenticator', () => {
  test('a key authenticates its principal, in its tenant', async () => {
    const { key } = await createKey(path, { name: 'bot', principal: 'alice', tenant: 'acme' })
    const authenticator = await openKeyAuthenticator(path)
    expect(authenticator.scheme).toBe('keys')
    expect(await authenticator.authenticate({ bearer: key })).toMatchObject({
      id: 'alice',
      tenant: 'acme',
      name: 'bot',
    })
  })

  test('[SEC-1] ownership survives the rotation of a key', async () => {
    const old = await createKey(path, { name: 'ci' })
    const next = await createKey(path, { name: 'ci-2', principal: old.entry.principal })
    await revokeKey(path, 'ci')
    const renamed = await createKey(path, { name: 'ci' })
    const authenticator = await openKeyAuthenticator(path)
    const owners = [next, renamed].map(async ({ key }) => ownerKey(await authenticator.authenticate({ bearer: key })))
    expect(await Promise.all(owners)).toEqual(['key:ci', 'key:ci'])
  })

  test('a wrong secret, an unknown id, the secret of another key and a malformed key are rejected alike', async () => {
    const { key } = await createKey(path, { name: 'ci' })
    const other = await createKey(path, { name: 'other' })
    const authenticator = await openKeyAuthenticator(path)
    const [, id, secret] = key.split('_')
    const bearers = [
      flip(key),
      `hf_0000000000_${secret}`,
      `hf_${other.entry.id}_${secret}`,
      `hf_${id}_${secret?.slice(1)}`,
      `hf_${id}_`,
      `${key}\n`,
      ` ${key}`,
      key.toUpperCase(),
      '',
    ]
    for (const bearer of bearers) await expect(authenticator.authenticate({ bearer })).rejects.toMatchObject(refused)
    await expect(authenticator.authenticate({})).rejects.toMatchObject({ code: 'unauthenticated' })
    expect(await authenticator.authenticate({ bearer: key })).toMatchObject({ name: 'ci' })
  })

  test('a bearer value that is not a key is rejected', async () => {
    await createKey(path, { name: 'ci' })
    const authenticator = await openKeyAuthenticator(path)
    const bearers = fc.oneof(
      fc.string({ unit: anyCharacter }),
      fc.constantFrom('hf_', 'hf___', 'hf_constructor_x', '__proto__'),
    )
    await fc.assert(
      fc.asyncProperty(bearers, async (bearer) => {
        await expect(authenticator.authenticate({ bearer })).rejects.toMatchObject(refused)
      }),
    )
  })

  test('the hash in the file is not a credential', async () => {
    const { entry } = await createKey(path, { name: 'ci' })
    const authenticator = await openKeyAuthenticator(path)
    await expect(authenticator.authenticate({ bearer: `hf_${entry.id}_${entry.hash}` })).rejects.toMatchObject(refused)
  })

  test('a revocation and a new key take effect within one second, without a file read per request', async () => {
    const clock = stillClock()
    const { key } = await createKey(path, { name: 'ci' }, clock)
    const authenticator = await openKeyAuthenticator(path, clock)
    await revokeKey(path, 'ci', clock)
    const fresh = await createKey(path, { name: 'fresh' }, clock)
    clock.advance(999)
    expect(await authenticator.authenticate({ bearer: key })).toMatchObject({ name: 'ci' })
    clock.advance(1)
    await expect(authenticator.authenticate({ bearer: key })).rejects.toMatchObject(refused)
    expect(await authenticator.authenticate({ bearer: fresh.key })).toMatchObject({ name: 'fresh' })
  })

  test('requests during a file read wait for its result', async () => {
    const clock = stillClock()
    const { key } = await createKey(path, { name: 'ci' }, clock)
    const authenticator = await openKeyAuthenticator(path, clock)
    await revokeKey(path, 'ci', clock)
    clock.advance(1000)
    const results = await Promise.allSettled(
      Array.from({ length: 20 }, () => authenticator.authenticate({ bearer: key })),
    )
    expect(results.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 'rejected'))
  })

  test('a clock that is set back does not keep a revoked key alive', async () => {
    const clock = stillClock()
    const { key } = await createKey(path, { name: 'ci' }, clock)
    const authenticator = await openKeyAuthenticator(path, clock)
    await revokeKey(path, 'ci', clock)
    clock.advance(-3_600_000)
    await expect(authenticator.authenticate({ bearer: key })).rejects.toMatchObject(refused)
  })

  test('a revocation by another process takes effect', async () => {
    const clock = stillClock()
    const { key } = await createKey(path, { name: 'ci' }, clock)
    const authenticator = await openKeyAuthenticator(path, clock)
    const program = `import { revokeKey } from ${JSON.stringify(new URL('./api-keys.ts', import.meta.url).href)}
      await revokeKey(${JSON.stringify(path)}, 'ci')`
    const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    expect(await once(child, 'exit')).toEqual([0, null])
    clock.advance(1000)
    await expect(authenticator.authenticate({ bearer: key })).rejects.toMatchObject(refused)
  })
})

test.each([0, 400, 800, 1200, 1600])(
  '[SEC-2] a key revoked %i ms after its first use ends what it has open within two seconds, whatever the phase',
  async (phaseMs) => {
    const { key } = await createKey(path, { name: 'mallory' })
    const clock = new ManualClock()
    const authenticator = await openKeyAuthenticator(path, clock)
    let check: Promise<boolean> | undefined
    const isRevoked = (facts: object): Promise<boolean> => (check = authenticator.isRevoked!(facts))
    const watch = new CredentialWatch({ isRevoked }, clock)
    const pass = async (ms: number): Promise<void> => {
      for (let passed = 0; passed < ms; passed += 100) {
        await clock.pass(100)
        await check // reads the file, in a time that is not the clock's
      }
    }
    const ended: string[] = []
    watch.watch(await authenticator.authenticate({ bearer: key }), ({ code }) => void ended.push(code))
    await pass(phaseMs)
    expect(ended).toEqual([])
    await revokeKey(path, 'mallory')
    await pass(2000)
    expect(ended).toEqual(['unauthenticated'])
  },
)

describe('key file errors:', () => {
  const good = {
    id: 'abcdef',
    name: 'ci',
    principal: 'key:ci',
    hash: '0'.repeat(64),
    createdAt: '2026-01-01T00:00:00.000Z',
  }
  const { hash: _hash, ...hashless } = good

  test.each([
    ['that is empty', '', /malformed/],
    ['that ends in the middle', '{"version": 1, "keys": [', /malformed/],
    ['that is a list', '[]', /list "keys"/],
    ['of a newer version', '{"version": 2, "keys": []}', /version is 2/],
    ['without a hash', file(hashless), /keys\[0\] has no "hash"/],
    ['with a short hash', file({ ...good, hash: 'abc' }), /keys\[0\] has an invalid "hash"/],
    ['with a null time', file({ ...good, revokedAt: null }), /keys\[0\] has an invalid "revokedAt"/],
    ['with an unknown field', file({ ...good, networks: '10.0.0.0/8' }), /keys\[0\] has an unknown field "networks"/],
    ['with an id twice', file(good, { ...good, name: 'other' }), /keys\[1\] repeats the id abcdef/],
    ['with a text for a key', file(good, 'x'), /keys\[1\] is not an object/],
  ])('a key file %s is named, at startup and at every change', async (_label, text, problem) => {
    path = join(folder, 'keys.json')
    await writeFile(path, text)
    const attempts = [
      () => openKeyAuthenticator(path),
      () => createKey(path, { name: 'new' }),
      () => revokeKey(path, 'ci'),
      () => listKeys(path),
    ]
    for (const attempt of attempts) {
      const error: unknown = await attempt().catch((thrown: unknown) => thrown)
      expect(error).toBeInstanceOf(HoldfastError)
      expect((error as HoldfastError).message).toMatch(problem)
      expect((error as HoldfastError).message).toContain(path)
    }
    expect(await readFile(path, 'utf8')).toBe(text)
  })

  test('a missing file is reported with how to create one', async () => {
    await expect(openKeyAuthenticator(path)).rejects.toThrow(
      `key file ${path} does not exist; create the first key with: holdfast keys create`,
    )
  })

  test('a directory in place of the key file is named', async () => {
    await expect(openKeyAuthenticator(folder)).rejects.toThrow(folder)
  })

  test('a server accepts no key while the file is damaged or missing, and recovers when it is repaired', async () => {
    const clock = stillClock()
    const { key } = await createKey(path, { name: 'ci' }, clock)
    const sound = await readFile(path, 'utf8')
    const authenticator = await openKeyAuthenticator(path, clock)
    const damages = [() => truncate(path, 40), () => writeFile(path, ''), () => rm(path)]
    for (const damage of damages) {
      await damage()
      clock.advance(1000)
      for (let request = 0; request < 2; request++) {
        const error: unknown = await authenticator.authenticate({ bearer: key }).catch((thrown: unknown) => thrown)
        expect(error).toMatchObject({ code: 'unavailable', retryAfterMs: 5000 })
        expect((error as Error).message).not.toContain(path)
        expect(((error as Error).cause as Error).message).toContain(path)
      }
      await writeFile(path, sound)
      clock.advance(1000)
      expect(await authenticator.authenticate({ bearer: key })).toMatchObject({ name: 'ci' })
    }
  })
})

describe('key scopes, expiry and last use', () => {
  test('a key has its scopes and is rejected after its expiry', async () => {
    const clock = stillClock()
    const wanted = { name: 'viewer', scopes: ['runs:read', 'component:lab'], expiresInMs: 60_000 }
    const { key, entry } = await createKey(path, wanted, clock)
    expect(entry).toMatchObject({ scopes: ['runs:read', 'component:lab'], expiresAt: '2026-01-01T00:01:00.000Z' })
    const authenticator = await openKeyAuthenticator(path, clock)
    expect(await authenticator.authenticate({ bearer: key })).toEqual({
      id: 'key:viewer',
      name: 'viewer',
      scopes: ['runs:read', 'component:lab'],
      credential: { id: `key:${entry.id}`, expiresAt: clock.now() + 60_000 },
    })
    clock.advance(60_000)
    await expect(authenticator.authenticate({ bearer: key })).rejects.toMatchObject({ code: 'unauthenticated' })
  })

  test('a mistyped scope creates no key, and an unknown one makes the file invalid', async () => {
    await expect(createKey(path, { name: 'a', scopes: ['run:read'] })).rejects.toThrow('"run:read" is not a scope')
    await expect(createKey(path, { name: 'a', scopes: [] })).rejects.toThrow('1 to 100 scopes')
    await createKey(path, { name: 'a', scopes: ['runs:read'] })
    await writeFile(path, (await readFile(path, 'utf8')).replace('runs:read', 'runs:reed'))
    await expect(openKeyAuthenticator(path)).rejects.toThrow('has an invalid "scopes"')
  })

  test('a server notes when a key was used last', async () => {
    const clock = stillClock()
    const { key, entry } = await createKey(path, { name: 'used' }, clock)
    await createKey(path, { name: 'unused' }, clock)
    const authenticator = await openKeyAuthenticator(path, clock)
    clock.advance(500)
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    await authenticator.authenticate({ bearer: key })
    await expect(authenticator.authenticate({ bearer: key.replace(/.{8}$/, '00000000') })).rejects.toMatchObject({
      code: 'unauthenticated',
    })
    vi.advanceTimersByTime(10_000)
    vi.useRealTimers()
    const used = await until('it is written', async () => {
      const found = await readKeyUsage(path)
      return found.size > 0 && found
    })
    expect([...used]).toEqual([[entry.id, clock.now()]])
  })

  test('the last use is recorded in a file beside it, and the latest of several servers wins', async () => {
    await createKey(path, { name: 'a' })
    const [one, other] = [new KeyUsageRecorder(path), new KeyUsageRecorder(path)]
    one.note('aaaaaa', 2000)
    other.note('aaaaaa', 1000)
    other.note('bbbbbb', 1500)
    await one.write()
    await other.write()
    expect(Object.fromEntries(await readKeyUsage(path))).toEqual({ aaaaaa: 2000, bbbbbb: 1500 })
  })
})
