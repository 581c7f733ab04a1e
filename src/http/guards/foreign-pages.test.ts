import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { describe, expect, test } from 'vitest'
import { isHoldfastError } from '../../core/model/errors.ts'
import { type PagePolicy, refuseForeignPages } from './foreign-pages.ts'
import type { Peer } from './trusted-proxies.ts'

const LAN = '192.168.1.20'

interface Given {
  readonly headers?: IncomingHttpHeaders
  readonly peer?: Partial<Peer>
  readonly policy?: Partial<PagePolicy>
  /** Address of the server that the connection is to. */
  readonly to?: string
  readonly method?: string
}

function isLetIn({ headers = {}, peer, policy, to = '127.0.0.1', method = 'POST' }: Given): boolean {
  const request = { method, headers, socket: { localAddress: to } } as unknown as IncomingMessage
  const from: Peer = { address: '127.0.0.1', protocol: 'http', host: 'localhost:7777', ...peer }
  try {
    refuseForeignPages(request, from, { cors: { origins: [] }, authenticator: { scheme: 'none' }, ...policy })
    return true
  } catch (refusal) {
    if (isHoldfastError(refusal, 'forbidden')) return false
    throw refusal
  }
}

describe('host check: a server without authentication accepts only names that nobody else can own', () => {
  test.each<[string, string, readonly string[] | undefined, boolean]>([
    ['evil.example:7777', LAN, undefined, false],
    ['evil.example', '127.0.0.1', undefined, false],
    ['192.168.1.20.evil.example', LAN, undefined, false],
    ['192.168.1.20:7777', LAN, undefined, true],
    ['[fe80::1]:7777', LAN, undefined, true],
    ['localhost:7777', LAN, undefined, true],
    ['', LAN, undefined, true],
    ['192.168.1.20:7777', '127.0.0.1', undefined, false],
    ['Agents.example:7777', LAN, ['agents.example'], true],
    ['agents.example', '127.0.0.1', ['agents.example'], true],
    ['evil.example', LAN, ['agents.example'], false],
  ])('Host %j on a connection to %s, with --allowed-hosts %j', (host, to, allowedHosts, expected) => {
    for (const method of ['GET', 'POST'])
      expect(isLetIn({ peer: { host }, to, method, policy: { allowedHosts } })).toBe(expected)
  })

  test('a server with authentication accepts every host name unless --allowed-hosts is set', () => {
    const authenticator = { scheme: 'keys' } as const
    expect(isLetIn({ peer: { host: 'agents.example' }, to: LAN, policy: { authenticator } })).toBe(true)
    const allowedHosts = ['agents.example']
    expect(isLetIn({ peer: { host: 'other.example' }, to: LAN, policy: { authenticator, allowedHosts } })).toBe(false)
    expect(isLetIn({ peer: { host: 'agents.example' }, to: LAN, policy: { authenticator, allowedHosts } })).toBe(true)
  })
})

describe('origin check: a change is accepted from a page of the same origin', () => {
  test.each<[string, 'http' | 'https', string, boolean]>([
    ['http://localhost:7777', 'http', 'localhost:7777', true],
    ['https://localhost:7777', 'http', 'localhost:7777', false],
    ['https://localhost:7777', 'https', 'localhost:7777', true],
    ['http://localhost:7777', 'https', 'localhost:7777', false],
    ['http://localhost', 'http', 'localhost:80', true],
    ['https://localhost', 'https', 'localhost', true],
    ['http://localhost:7778', 'http', 'localhost:7777', false],
    ['null', 'http', 'localhost:7777', false],
  ])('Origin %s on %s with Host %s', (origin, protocol, host, expected) => {
    expect(isLetIn({ headers: { origin }, peer: { protocol, host } })).toBe(expected)
    expect(isLetIn({ headers: { origin }, peer: { protocol, host }, method: 'GET' })).toBe(true)
  })

  test.each([
    ['cross-site', false],
    ['same-site', false],
    ['same-origin', true],
    ['none', true],
  ])('Sec-Fetch-Site %s without Origin', (site, expected) => {
    expect(isLetIn({ headers: { 'sec-fetch-site': site } })).toBe(expected)
  })

  test('a change from a configured origin is accepted', () => {
    const headers = { origin: 'https://app.example', 'sec-fetch-site': 'cross-site' }
    expect(isLetIn({ headers })).toBe(false)
    expect(isLetIn({ headers, policy: { cors: { origins: ['https://app.example'] } } })).toBe(true)
  })
})
