import { expect, test } from 'vitest'
import { HoldfastError } from '../../core/model/errors.ts'
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

test('mounts: a protocol is loaded once, by the first request for one of its paths', async () => {
  const other = counted(protocol('other', ['GET', '/other/{id}']))
  const mounts = new Mounts(protocol('first', ['GET', '/runs']), [{ paths: ['/other'], load: other.load }])
  expect(await mounts.match('GET', '/runs')).toMatchObject({ kind: 'found', protocol: { name: 'first' } })
  expect(await mounts.match('GET', '/elsewhere')).toEqual({ kind: 'none' })
  expect(other.loads()).toBe(0)
  const found = await Promise.all([mounts.match('GET', '/other/1'), mounts.match('GET', '/other/2')])
  expect(found).toMatchObject([{ params: { id: '1' } }, { params: { id: '2' } }])
  await mounts.loadAll()
  expect(other.loads()).toBe(1)
})

test('mounts: an unknown path gets the error form of the protocol with that prefix', async () => {
  const other = counted(protocol('other', ['GET', '/other/{id}']))
  const mounts = new Mounts(protocol('first', ['GET', '/runs']), [{ paths: ['/other'], load: other.load }])
  expect(await mounts.match('GET', '/other/1/2')).toMatchObject({ kind: 'none', protocol: { name: 'other' } })
})

test('mounts: a path that two protocols share goes to the one with its method', async () => {
  const other = counted(protocol('other', ['POST', '/shared']))
  const mounts = new Mounts(protocol('first', ['GET', '/shared']), [{ paths: ['/shared'], load: other.load }])
  expect(await mounts.match('POST', '/shared')).toMatchObject({ kind: 'found', protocol: { name: 'other' } })
  expect(await mounts.match('DELETE', '/shared')).toMatchObject({ kind: 'wrong method', protocol: { name: 'first' } })
})

test('mounts: a protocol that fails to load fails that request, and is loaded again by the next', async () => {
  let broken = true
  const other = protocol('other', ['GET', '/other'])
  const load = () => (broken ? Promise.reject(new HoldfastError('internal', 'broken')) : Promise.resolve(other))
  const mounts = new Mounts(protocol('first'), [{ paths: ['/other'], load }])
  await expect(mounts.match('GET', '/other')).rejects.toThrow('broken')
  broken = false
  expect(await mounts.match('GET', '/other')).toMatchObject({ kind: 'found' })
})

test('mounts: a WebSocket is found by its whole path', async () => {
  const other = counted(protocol('other'))
  const mounts = new Mounts(protocol('first'), [{ paths: ['/other'], load: other.load }])
  expect(await mounts.upgrade('/other/ws')).toMatchObject({ upgrade: { path: '/other/ws' } })
  expect(await mounts.upgrade('/other/wss')).toBeUndefined()
  expect(await mounts.upgrade('/')).toBeUndefined()
})
