/** Server overview for operators. */
import type { Principal } from '../../core/model/principal.ts'
import { requirePermission } from '../../core/access/scopes.ts'
import type { Service } from '../../core/service.ts'
import { respondJson } from '../../http/response/respond.ts'
import type { Call } from '../../http/routing/route.ts'
import type { Streams } from '../../http/response/stream.ts'
import type { ProtocolView } from './frames.ts'

export interface ServerInfo {
  readonly version: string
  readonly auth: string
  readonly storeName: string
  readonly streams: Streams
  /** A supervisor restarts the process when it dies. */
  readonly supervised: boolean
  /** Abandoned runs of all principals: their worker died, and no other has claimed them yet. */
  readonly orphaned: () => Promise<OrphanedRuns>
  /** Dead letters of the caller. */
  readonly deadLetters: (principal: Principal) => Promise<number>
}

export interface OrphanedRuns {
  readonly count: number
  /** The count is a lower bound. */
  readonly more: boolean
}

export async function describeServer(
  call: Call,
  service: Service,
  info: ServerInfo,
  views: readonly ProtocolView[],
): Promise<void> {
  requirePermission(call.principal, 'admin')
  const { version, auth, storeName, streams, supervised } = info
  const [deadLetters, orphaned] = await Promise.all([info.deadLetters(call.principal), info.orphaned()])
  const { ok, store, draining, upstreams } = service.health()
  const { rss, heapUsed } = process.memoryUsage()
  respondJson(call.response, 200, {
    version,
    auth,
    ok,
    draining,
    store: { name: storeName, ...store },
    deadLetters,
    supervised,
    load: { ...service.load(), orphaned, streams: streams.size },
    process: {
      pid: process.pid,
      node: process.versions.node,
      uptimeMs: Math.round(process.uptime() * 1000),
      rss,
      heapUsed,
    },
    limits: service.limits,
    views: views.map(({ id, title }) => ({ id, title })),
    ...(upstreams !== undefined && { upstreams }),
  })
}
