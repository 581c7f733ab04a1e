import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  credentialMissing,
  credentialRefused,
  isReservedId,
  keyPrincipalId,
  localPrincipal,
  ownerKey,
  principalOf,
} from './principal.ts'
import type { Principal } from './principal.ts'
import { anyCharacter } from '../../testing/any-character.ts'

/** Short strings of the characters that escaping is about, so that near-collisions are common. */
const part = fc.oneof(
  fc.string({
    unit: fc.constantFrom('a', '/', '%', '2', 'F', '5', 'u', '\0', '\n', 'é', '\ud800', '\udc00', '\u{1f40c}'),
    maxLength: 4,
  }),
  fc.string({ unit: anyCharacter, maxLength: 8 }),
)
const principal: fc.Arbitrary<Principal> = fc
  .record({ id: part, tenant: fc.option(part, { nil: undefined }) })
  .map(({ id, tenant }) => (tenant === undefined ? { id } : { id, tenant }))

const same = (left: Principal, right: Principal): boolean => left.id === right.id && left.tenant === right.tenant

describe('owner key', () => {
  test.each<[Principal, string]>([
    [{ id: 'alice' }, 'alice'],
    [{ id: 'alice', tenant: 'acme' }, 'acme/alice'],
    [{ id: 'acme/alice' }, 'acme%2Falice'],
    [{ id: 'b/c', tenant: 'a' }, 'a/b%2Fc'],
    [{ id: 'c', tenant: 'a/b' }, 'a%2Fb/c'],
    [{ id: 'alice', tenant: '' }, '/alice'],
    [{ id: '100%' }, '100%25'],
    [{ id: 'a\0b\n' }, 'a%00b%0A'],
    [{ id: '\ud83d!' }, '%uD83D!'],
    [{ id: '🐌 é' }, '🐌 é'],
  ])('the owner key for %j is %s', (who, key) => {
    expect(ownerKey(who)).toBe(key)
  })

  test('identifies its principal', () => {
    fc.assert(
      fc.property(principal, (who) => {
        expect(principalOf(ownerKey(who))).toEqual(who)
      }),
    )
  })

  test('[SEC-1] is unique to its principal', () => {
    fc.assert(
      fc.property(principal, principal, (left, right) => {
        expect(ownerKey(left) === ownerKey(right)).toBe(same(left, right))
      }),
      { numRuns: 5000 },
    )
  })

  test('[SEC-1] is unchanged by a round trip through UTF-8', () => {
    fc.assert(
      fc.property(principal, (who) => {
        const key = ownerKey(who)
        expect(new TextDecoder('utf-8', { ignoreBOM: true }).decode(new TextEncoder().encode(key))).toBe(key)
      }),
    )
  })

  test('does not depend on the principal’s display name', () => {
    expect(ownerKey({ id: 'alice', name: 'Alice' })).toBe(ownerKey({ id: 'alice' }))
  })
})

test('principal: the ids that the server uses itself are reserved', () => {
  expect([localPrincipal.id, keyPrincipalId('ci'), 'alice', 'locals', 'keyring'].map(isReservedId)).toEqual([
    true,
    true,
    false,
    false,
    false,
  ])
})

test('principal: the error for a rejected credential is the same whatever was wrong with it', () => {
  const refused = credentialRefused(new Error('the signature does not fit'))
  expect(refused).toMatchObject({ code: 'unauthenticated', status: 401, message: credentialRefused().message })
  expect(refused.message).not.toContain('signature')
  expect(credentialMissing()).toMatchObject({ code: 'unauthenticated' })
})
