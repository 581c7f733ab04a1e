import { describe, expect, test } from 'vitest'
import { type Protocol, type Route, RouteTable } from './route.ts'

const protocol = (name: string, ...routes: [Route['method'], string][]): Protocol => ({
  name,
  routes: routes.map(([method, path]) => ({ method, path, handle: () => {} })),
  error: () => ({ status: 500, contentType: 'text/plain', body: name }),
})

const table = new RouteTable([
  protocol(
    'first',
    ['GET', '/runs'],
    ['POST', '/runs'],
    ['GET', '/runs/{id}'],
    ['DELETE', '/runs/{id}'],
    ['GET', '/runs/{id}/parts/{part}'],
  ),
  protocol('second', ['GET', '/'], ['PUT', '/runs/{id}'], ['GET', '/v1/runs'], ['GET', '/runs/{id}/parts/last']),
])

describe('route table: a path that is served', () => {
  test.each<[string, string, string, Record<string, string>]>([
    ['GET', '/', '/', {}],
    ['GET', '/runs', '/runs', {}],
    ['POST', '/runs', '/runs', {}],
    ['GET', '/runs/x', '/runs/{id}', { id: 'x' }],
    ['PUT', '/runs/x', '/runs/{id}', { id: 'x' }],
    ['GET', '/runs/x/parts/7', '/runs/{id}/parts/{part}', { id: 'x', part: '7' }],
    ['GET', '/runs/a%20b', '/runs/{id}', { id: 'a b' }],
    ['GET', '/runs/a%2Fb', '/runs/{id}', { id: 'a/b' }],
    ['GET', '/runs/%F0%9F%8C%8A', '/runs/{id}', { id: '🌊' }],
    ['GET', '/runs/__proto__', '/runs/{id}', { id: '__proto__' }],
    ['GET', '/v1/runs', '/v1/runs', {}],
  ])('%s %s matches %s', (method, path, found, params) => {
    const match = table.match(method, path)
    expect(match).toMatchObject({ kind: 'found', route: { method, path: found }, params })
  })

  test('matches the first of two routes that fit', () => {
    expect(table.match('GET', '/runs/x/parts/last')).toMatchObject({
      protocol: { name: 'first' },
      params: { part: 'last' },
    })
  })

  test('matches HEAD if there is GET', () => {
    expect(table.match('HEAD', '/runs/x')).toMatchObject({
      kind: 'found',
      route: { method: 'GET' },
      params: { id: 'x' },
    })
  })
})

describe('route table: a path with other methods', () => {
  test.each([
    ['PATCH', '/runs', 'first', ['GET', 'HEAD', 'POST']],
    ['POST', '/runs/x', 'first', ['DELETE', 'GET', 'HEAD', 'PUT']],
    ['DELETE', '/', 'second', ['GET', 'HEAD']],
    ['get', '/v1/runs', 'second', ['GET', 'HEAD']],
  ])('%s %s lists them', (method, path, name, allow) => {
    const match = table.match(method, path)
    expect(match).toMatchObject({ kind: 'wrong method', protocol: { name } })
    expect('allow' in match && [...match.allow].toSorted()).toEqual(allow)
  })

  test('has no HEAD without GET', () => {
    const posts = new RouteTable([protocol('only', ['POST', '/runs'])])
    expect(posts.match('HEAD', '/runs')).toEqual(expect.objectContaining({ kind: 'wrong method', allow: ['POST'] }))
  })
})

describe('route table: an unknown path', () => {
  test.each([
    '',
    'runs',
    '/run',
    '/runs/',
    '//',
    '//runs',
    '/runs//',
    '/runs/x/',
    '/runs/x/parts',
    '/runs/x/parts/',
    '/runs/x/parts/7/8',
    '/Runs',
    '/runs%2Fx',
    '/%72uns',
  ])('%j matches nothing', (path) => {
    expect(table.match('GET', path)).toEqual({ kind: 'none' })
  })

  test.each(['%', '%zz', '%E0%A4%A', '%C0%AF', '%ED%A0%80'])('%s cannot be decoded and matches nothing', (segment) => {
    expect(table.match('GET', `/runs/${segment}`)).toEqual({ kind: 'none' })
  })

  test('a path of very many segments matches nothing', () => {
    expect(table.match('GET', '/x'.repeat(10_000))).toEqual({ kind: 'none' })
  })
})
