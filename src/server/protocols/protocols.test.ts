import { openSubscriptions } from './open-subscriptions.ts'
import { expect, test } from 'vitest'
import { systemClock, systemIds } from '../../core/ports/clock.ts'
import { silentLogger } from '../../core/ports/logger.ts'
import { openNode } from '../../../test/support/node.ts'
import { Mounts } from '../../http/routing/mounts.ts'
import { covers, toOwnedPath } from '../../http/routing/path-ownership.ts'
import { isOwnedPath, type ProtocolChoice, protocolNames, toProtocolPaths, upgradePaths } from './protocol-paths.ts'
import { firstProtocol, mountedProtocols } from './protocols.ts'

test('every path of every protocol is owned by its mount, and no two protocols serve the same path', async () => {
  const { service, store } = openNode({ components: [] })
  const parts = {
    service,
    streams: {} as never,
    logger: silentLogger,
    ids: systemIds(),
    auth: 'none',
    version: '0',
    store,
    supervised: false,
    subscriptions: async () => openSubscriptions(store, systemClock),
    paths: toProtocolPaths(),
  } as const
  const served = new Set<string>()
  for (const mount of mountedProtocols(parts)) {
    const { routes, upgrades = [] } = await mount.load()
    expect(routes.length).toBeGreaterThan(0)
    for (const { path } of [...routes, ...upgrades])
      expect(
        mount.paths.some((owned) => covers(toOwnedPath(owned), path.split('/').slice(1))),
        path,
      ).toBe(true)
    for (const { method, path } of routes) {
      const key = `${method} ${path.replaceAll(/\{[^}]*\}/g, '{}')}`
      expect(served, key).not.toContain(key)
      served.add(key)
    }
  }
})

test('protocols serve exactly the paths that they own before they are loaded', async () => {
  const { service, store } = openNode({ components: [] })
  const parts = {
    service,
    streams: {} as never,
    logger: silentLogger,
    ids: systemIds(),
    auth: 'none',
    version: '0',
    store,
    supervised: false,
    subscriptions: async () => openSubscriptions(store, systemClock),
  } as const
  const moved: ProtocolChoice = {
    native: '/api',
    openai: '/api/v1',
    a2a: '/agents-a2a',
    agentos: '/os',
    console: '/ui/console',
  }
  for (const protocols of [protocolNames, ['openai'], ['native'], [], moved] as const) {
    const paths = toProtocolPaths(protocols)
    const chosen = { ...parts, paths }
    const first = await firstProtocol(chosen, '')
    const loaded = [first, ...(await Promise.all(mountedProtocols(chosen).map((mount) => mount.load())))]
    const mounts = new Mounts(first, mountedProtocols(chosen))
    for (const { path } of loaded.flatMap(({ routes }) => routes))
      expect([path, isOwnedPath(path, paths), mounts.owns(path)]).toEqual([path, true, true])
    for (const path of [
      '/',
      '/other',
      '/v1/models',
      '/runs',
      '/agents',
      '/console',
      '/api',
      '/api/x',
      '/os',
      '/os/',
      '/os/x',
      '/ui',
    ])
      expect([path, isOwnedPath(path, paths)]).toEqual([path, mounts.owns(path)])
    expect(upgradePaths(paths)).toEqual(loaded.flatMap(({ upgrades = [] }) => upgrades.map(({ path }) => path)))
  }
})
