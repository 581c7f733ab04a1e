/** All protocols as a server mounts them, so that new routes are included automatically. */
import { systemClock, systemIds } from '../../src/core/ports/clock.ts'
import { silentLogger } from '../../src/core/ports/logger.ts'
import type { Service } from '../../src/core/service.ts'
import type { Store } from '../../src/core/ports/store.ts'
import type { Protocol } from '../../src/http/route.ts'
import { Streams } from '../../src/http/stream.ts'
import { nativeProtocol } from '../../src/protocols/native/index.ts'
import { mountedProtocols } from '../../src/server/protocols.ts'

export interface ServedProtocols {
  readonly protocols: readonly Protocol[]
  /** Stops their timers. */
  readonly close: () => void
}

export async function servedProtocols(service: Service, store: Store): Promise<ServedProtocols> {
  const streams = new Streams(service.limits, systemClock)
  const mounts = mountedProtocols({
    service,
    streams,
    logger: silentLogger,
    ids: systemIds(),
    auth: 'keys',
    version: '0.0.0',
    store,
    supervised: false,
    a2a: { push: true },
  })
  const mounted = await Promise.all(mounts.map((mount) => mount.load()))
  return {
    protocols: [nativeProtocol(service, streams, '0.0.0'), ...mounted],
    close: () => streams.closeAll('the test is over'),
  }
}
