/** All protocols as a server mounts them, so that new routes are included automatically. */
import { systemClock, systemIds } from '../../src/core/ports/clock.ts'
import { silentLogger } from '../../src/core/ports/logger.ts'
import type { ComponentSource } from '../../src/core/ports/component-source.ts'
import type { Service } from '../../src/core/service.ts'
import type { Store } from '../../src/core/ports/store.ts'
import type { Protocol } from '../../src/http/routing/route.ts'
import { Streams } from '../../src/http/response/stream.ts'
import { openPassthrough } from '../../src/server/protocols/open-passthrough.ts'
import { openSubscriptions } from '../../src/server/protocols/open-subscriptions.ts'
import { toProtocolPaths } from '../../src/server/protocols/protocol-paths.ts'
import { firstProtocol, mountedProtocols, type ProtocolParts } from '../../src/server/protocols/protocols.ts'

export interface ServedProtocols {
  readonly protocols: readonly Protocol[]
  /** Stops their timers. */
  readonly close: () => void
}

/** `sources`: upstreams whose other requests are passed through. */
export async function servedProtocols(
  service: Service,
  store: Store,
  sources: readonly ComponentSource[] = [],
): Promise<ServedProtocols> {
  const streams = new Streams(service.limits, systemClock)
  const parts: ProtocolParts = {
    service,
    streams,
    logger: silentLogger,
    ids: systemIds(),
    auth: 'keys',
    version: '0.0.0',
    store,
    supervised: false,
    a2a: { push: true },
    subscriptions: async () => openSubscriptions(store, systemClock, undefined, true),
    paths: toProtocolPaths(),
  }
  const passed = await openPassthrough(sources, service, parts.paths)
  const mounted = await Promise.all([...mountedProtocols(parts), ...passed.mounts].map((mount) => mount.load()))
  return {
    protocols: [await firstProtocol(parts, ''), ...mounted],
    close: () => streams.closeAll('the test is over'),
  }
}
