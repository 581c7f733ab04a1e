import { expect, test } from 'vitest'
import { HoldfastError } from '../core/model/errors.ts'
import { Mounts } from './mounts.ts'
import type { Protocol, Route } from './route.ts'

function protocol(name: string, ...routes: readonly [Route['method'], string][]): Protocol {
  return {
    name,
    routes: routes.map(([method, path]) => ({ method, path, handle: () => {} })),
    upgrades: [{ path: `/${name}/ws`, handle: () => {} }],
    error: () => ({ status: 500, contentType: 'text/plain', body: '' }),
  }
}

function counted(given: Protocol) {
  let loads = 0
  return { loads: () => loads, load: () => (loads++, Promise.resolve(given)) }
}

test('a protocol is loaded by the first request for one of its paths, once, and by no other', async () => {
  const other = counted(protocol('other', ['GET', '/other/{id}']))
  const mounts = new Mounts(protocol('first', ['GET', '/runs']), [{ segments: ['other'], load: other.load }])
  expect(await mounts.match('GET', '/runs')).toMatchObject({ kind: 'found', protocol: { name: 'first' } })
  expect(await mounts.match('GET', '/elsewhere')).toEqual({ kind: 'none' })
  expect(other.loads()).toBe(0)
  const found = await Promise.all([mounts.match('GET', '/other/1'), mounts.match('GET', '/other/2')])
  expect(found).toMatchObject([{ params: { id: '1' } }, { params: { id: '2' } }])
  await mounts.loadAll()
  expect(other.loads()).toBe(1)
})

test('a path that is nobody’s is refused by the protocol whose paths begin so', async () => {
  const other = counted(protocol('other', ['GET', '/other/{id}']))
  const mounts = new Mounts(protocol('first', ['GET', '/runs']), [{ segments: ['other'], load: other.load }])
  expect(await mounts.match('GET', '/other/1/2')).toMatchObject({ kind: 'none', protocol: { name: 'other' } })
})

test('a path that two protocols share goes to the one that has its method', async () => {
  const other = counted(protocol('other', ['POST', '/shared']))
  const mounts = new Mounts(protocol('first', ['GET', '/shared']), [{ segments: ['shared'], load: other.load }])
  expect(await mounts.match('POST', '/shared')).toMatchObject({ kind: 'found', protocol: { name: 'other' } })
  expect(await mounts.match('DELETE', '/shared')).toMatchObject({ kind: 'wrong method', protocol: { name: 'first' } })
})

test('a protocol that cannot be loaded fails the request that needs it, and is tried again by the next', async () => {
  let broken = true
  const other = protocol('other', ['GET', '/other'])
  const load = () => (broken ? Promise.reject(new HoldfastError('internal', 'broken')) : Promise.resolve(other))
  const mounts = new Mounts(protocol('first'), [{ segments: ['other'], load }])
  await expect(mounts.match('GET', '/other')).rejects.toThrow('broken')
  broken = false
  expect(await mounts.match('GET', '/other')).toMatchObject({ kind: 'found' })
})

test('a WebSocket is found by its whole path', async () => {
  const other = counted(protocol('other'))
  const mounts = new Mounts(protocol('first'), [{ segments: ['other'], load: other.load }])
  expect(await mounts.upgrade('/other/ws')).toMatchObject({ path: '/other/ws' })
  expect(await mounts.upgrade('/other/wss')).toBeUndefined()
  expect(await mounts.upgrade('/')).toBeUndefined()
})
