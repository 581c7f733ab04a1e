import { describe, expect, test } from 'vitest'
import { AddressLimit, networkOf } from './address-limit.ts'

describe('AddressLimit', () => {
  test('rejects an address over its share, and all addresses over the total', () => {
    const limit = new AddressLimit({ maxPerAddress: 2, maxTotal: 3 })
    const release = limit.acquire('192.0.2.1')
    expect(limit.acquire('192.0.2.1')).toBeDefined()
    expect(limit.acquire('192.0.2.1')).toBeUndefined()
    expect(limit.acquire('192.0.2.2')).toBeDefined()
    expect(limit.acquire('192.0.2.3')).toBeUndefined()
    release!()
    expect(limit.acquire('192.0.2.3')).toBeDefined()
  })

  test('counts a slot that is released twice once', () => {
    const limit = new AddressLimit({ maxPerAddress: 1, maxTotal: 1 })
    const release = limit.acquire('192.0.2.1')!
    release()
    release()
    expect(limit.acquire('192.0.2.1')).toBeDefined()
    expect(limit.acquire('192.0.2.1')).toBeUndefined()
  })
})

test.each([
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['::1', '0:0:0:0::/64'],
  ['2001:db8::7', '2001:db8:0:0::/64'],
  ['2001:DB8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['2001:db8:1::', '2001:db8:1:0::/64'],
])('AddressLimit: %s belongs to the network %s', (address, network) => {
  expect(networkOf(address)).toBe(network)
})
