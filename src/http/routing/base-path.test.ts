import { describe, expect, test } from 'vitest'
import { isHoldfastError } from '../../core/model/errors.ts'
import { locate, toBasePath } from './base-path.ts'
import type { Peer } from '../guards/trusted-proxies.ts'

const direct: Peer = { address: '127.0.0.1', protocol: 'http', host: 'localhost' }
const proxied: Peer = { ...direct, prefix: '/outer' }

describe('toBasePath', () => {
  test.each([
    [undefined, ''],
    ['', ''],
    ['/', ''],
    ['/api/agents', '/api/agents'],
    ['/api/agents/', '/api/agents'],
    ['/a%20b/c.d', '/a%20b/c.d'],
  ])('%j is %j', (given, base) => expect(toBasePath(given)).toBe(base))

  test.each([
    'api',
    'api/agents',
    '//',
    '/a//b',
    '/a/../b',
    '/..',
    '/a?b',
    '/a#b',
    '/a b',
    'http://x/a',
    `/${'a'.repeat(500)}`,
  ])('%j is rejected', (given) => {
    const error = (() => {
      try {
        return toBasePath(given)
      } catch (cause) {
        return cause
      }
    })()
    expect(isHoldfastError(error, 'invalid_request') && error.message).toContain('such as /api/agents')
  })
})

describe('base path: locate', () => {
  test.each([
    ['a server at the root', { url: '/runs?a=1' }, direct, '', ['/runs', '', 'a=1']],
    ['an absolute URL', { url: 'http://host/runs' }, direct, '', ['/runs', '', '']],
    [
      'a server below its base path',
      { url: '/api/agents/runs?a=1' },
      direct,
      '/api/agents',
      ['/runs', '/api/agents', 'a=1'],
    ],
    ['the base path itself', { url: '/api/agents?a=1' }, direct, '/api/agents', ['/', '/api/agents', 'a=1']],
    ['a path outside of the base path', { url: '/runs' }, direct, '/api/agents', undefined],
    ['a path that begins like the base path', { url: '/api/agentsx' }, direct, '/api/agents', undefined],
    [
      'Express, mounted anywhere',
      { url: '/runs', baseUrl: '/x', originalUrl: '/x/runs' },
      direct,
      '',
      ['/runs', '/x', ''],
    ],
    [
      'Express, mounted at the base path',
      { url: '/runs', baseUrl: '/x', originalUrl: '/x/runs' },
      direct,
      '/x',
      ['/runs', '/x', ''],
    ],
    [
      'Express, mounted above the base path',
      { url: '/y/runs', baseUrl: '/x', originalUrl: '/x/y/runs' },
      direct,
      '/x/y',
      ['/runs', '/x/y', ''],
    ],
    [
      'Express, mounted elsewhere than the base path',
      { url: '/runs', baseUrl: '/z' },
      direct,
      '/x',
      ['/runs', '/z', ''],
    ],
    ['Express, mounted at the root', { url: '/runs', baseUrl: '', originalUrl: '/runs' }, direct, '/x', undefined],
    ['Connect', { url: '/runs?a=1', originalUrl: '/x/runs?a=1' }, direct, '', ['/runs', '/x', 'a=1']],
    ['Connect, at the mount point', { url: '/', originalUrl: '/x' }, direct, '', ['/', '/x', '']],
    [
      'a web router that took the base path off',
      { url: '/runs', isMaybeStripped: true },
      direct,
      '/x',
      ['/runs', '/x', ''],
    ],
    [
      'a web router that kept the base path',
      { url: '/x/runs', isMaybeStripped: true },
      direct,
      '/x',
      ['/runs', '/x', ''],
    ],
    ['a proxy that took a prefix off', { url: '/runs' }, proxied, '', ['/runs', '/outer', '']],
    ['a proxy that took the base path off', { url: '/runs' }, proxied, '/outer', ['/runs', '/outer', '']],
    ['a proxy before a base path', { url: '/x/runs' }, proxied, '/x', ['/runs', '/outer/x', '']],
    ['a proxy before Express', { url: '/runs', baseUrl: '/x' }, proxied, '', ['/runs', '/outer/x', '']],
  ] as const)('%s', (_title, request, peer, basePath, expected) => {
    const target = locate(request, peer, basePath)
    expect(target && [target.path, target.base, target.query.toString()]).toEqual(expected)
  })
})
