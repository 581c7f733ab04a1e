import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { describe, expect, test } from 'vitest'
import { type Peer, TrustedProxies } from './trusted-proxies.ts'

function peerOf(trusted: readonly string[], remoteAddress: string, headers: IncomingHttpHeaders): Peer {
  const socket = { remoteAddress } as IncomingMessage['socket']
  return new TrustedProxies(trusted).peerOf({ socket, headers: { host: 'node-1:7777', ...headers } })
}

const forwarded = {
  'x-forwarded-for': '198.51.100.7',
  'x-forwarded-proto': 'https',
  'x-forwarded-host': 'agents.example',
}
const direct = (address: string): Peer => ({ address, protocol: 'http', host: 'node-1:7777' })

describe('proxy headers', () => {
  test.each([
    ['nobody is trusted', [], '10.0.0.5'],
    ['another address is trusted', ['10.0.0.6', '192.168.0.0/16'], '10.0.0.5'],
    ['only loopback is trusted', ['loopback'], '10.0.0.5'],
  ])('are ignored when %s', (_why, trusted, address) => {
    expect(peerOf(trusted, address, forwarded)).toEqual(direct(address))
  })

  test.each([
    [['10.0.0.5'], '10.0.0.5'],
    [['10.0.0.0/8'], '10.0.0.5'],
    [['10.0.0.0/8'], '::ffff:10.0.0.5'],
    [['private'], '172.20.0.3'],
    [['loopback'], '::1'],
    [['2001:db8::/32'], '2001:db8::1'],
  ])('are trusted when %j includes %s', (trusted, address) => {
    expect(peerOf(trusted, address, forwarded)).toEqual({
      address: '198.51.100.7',
      protocol: 'https',
      host: 'agents.example',
    })
  })

  test.each([
    ['the last address that no trusted proxy has', '203.0.113.9, 198.51.100.7, 10.0.0.6', '198.51.100.7'],
    ['not what a client wrote before it', '127.0.0.1, 10.0.0.1, 198.51.100.7', '198.51.100.7'],
    ['the first proxy where all are trusted', '10.0.0.9, 10.0.0.6', '10.0.0.9'],
    ['the proxy where there is no address', 'unknown', '10.0.0.5'],
    ['the last address before what is none', 'nonsense, 10.0.0.6', '10.0.0.6'],
    ['an address without its port', '198.51.100.7:4711', '198.51.100.7'],
    ['an address of IPv6 without its port', '[2001:db8::7]:4711', '2001:db8::7'],
  ])('name as the client %s', (_which, header, expected) => {
    expect(peerOf(['10.0.0.0/8'], '10.0.0.5', { 'x-forwarded-for': header }).address).toBe(expected)
  })

  test('missing headers keep the values of the connection, and an unknown protocol is ignored', () => {
    expect(peerOf(['private'], '10.0.0.5', {})).toEqual(direct('10.0.0.5'))
    expect(peerOf(['private'], '10.0.0.5', { 'x-forwarded-proto': 'gopher' }).protocol).toBe('http')
  })
})

test.each(['10.0.0', '10.0.0.0/33', '::/129', '10.0.0.0/8/8', 'proxy.example', '', '*'])(
  '--trusted-proxies: an invalid network is rejected: %j',
  (network) => {
    expect(() => new TrustedProxies([network])).toThrow('is not an address')
  },
)
