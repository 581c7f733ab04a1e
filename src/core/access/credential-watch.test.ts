import { describe, expect, test } from 'vitest'
import { ManualClock } from '../../../test/support/manual-clock.ts'
import { CredentialWatch } from './credential-watch.ts'
import type { HoldfastError } from '../model/errors.ts'
import { HoldfastError as Failure } from '../model/errors.ts'
import type { CredentialInfo, Principal } from '../model/principal.ts'

const clock = new ManualClock()

function bearerOf(credential: CredentialInfo): Principal {
  return { id: 'alice', credential }
}

class Ended {
  readonly errors: HoldfastError[] = []
  readonly end = (error: HoldfastError): void => void this.errors.push(error)
  get codes(): string[] {
    return this.errors.map(({ code }) => code)
  }
}

describe('[SEC-2] credential watch', () => {
  test('a revoked credential ends everything it has open, once, and nothing of another credential', async () => {
    const revoked = new Set<string>()
    const requested: string[] = []
    const watch = new CredentialWatch({ isRevoked: async ({ id }) => (requested.push(id!), revoked.has(id!)) }, clock)
    const [one, two, other] = [new Ended(), new Ended(), new Ended()]
    watch.watch(bearerOf({ id: 'key:a' }), one.end)
    watch.watch(bearerOf({ id: 'key:a' }), two.end)
    watch.watch(bearerOf({ id: 'key:b' }), other.end)
    await clock.pass(500)
    expect(requested).toEqual(['key:a', 'key:b'])
    revoked.add('key:a')
    await clock.pass(2000)
    expect([one.codes, two.codes, other.codes]).toEqual([['unauthenticated'], ['unauthenticated'], []])
    await expect(watch.check(bearerOf({ id: 'key:a' }))).rejects.toMatchObject({ code: 'unauthenticated' })
    await expect(watch.check(bearerOf({ id: 'key:b' }))).resolves.toBeUndefined()
  })

  test('an expiry is detected without the authenticator, even while a check hangs', async () => {
    const watch = new CredentialWatch({ isRevoked: () => new Promise(() => {}) }, clock)
    const [expiring, lasting] = [new Ended(), new Ended()]
    watch.watch(bearerOf({ id: 'key:a', expiresAt: clock.now() + 3000 }), expiring.end)
    watch.watch(bearerOf({ expiresAt: clock.now() + 60_000 }), lasting.end)
    await clock.pass(2500)
    expect(expiring.codes).toEqual([])
    await clock.pass(1000)
    expect(expiring.codes).toEqual(['unauthenticated'])
    expect(lasting.codes).toEqual([])
    await expect(watch.check(bearerOf({ expiresAt: clock.now() }))).rejects.toThrow('expired')
  })

  test('credentials that cannot be checked stay valid for 30 s, and no longer', async () => {
    const isRevoked = (): Promise<boolean> => Promise.reject(new Failure('unavailable', 'the key file is damaged'))
    const watch = new CredentialWatch({ isRevoked }, clock)
    const [key, token] = [new Ended(), new Ended()]
    watch.watch(bearerOf({ id: 'key:a' }), key.end)
    watch.watch(bearerOf({ expiresAt: clock.now() + 3_600_000 }), token.end)
    await clock.pass(29_000)
    expect(key.codes).toEqual([])
    await clock.pass(3000)
    expect([key.codes, token.codes]).toEqual([['unavailable'], []])
  })

  test('a released watch is not called, and leaves no timer', async () => {
    const { timers } = clock
    const watch = new CredentialWatch({ isRevoked: async () => true }, clock)
    const ended = new Ended()
    const release = watch.watch(bearerOf({ id: 'key:a' }), ended.end)
    watch.watch({ id: 'local' }, ended.end)
    expect(clock.timers).toBe(timers + 1)
    release()
    release()
    expect([watch.size, clock.timers]).toEqual([0, timers])
    await clock.pass(5000)
    expect(ended.codes).toEqual([])
  })
})
