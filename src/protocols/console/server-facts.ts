/** What an operator wants to know of a server at a glance. */
import type { Principal } from '../../core/principal.ts'
import type { Service } from '../../core/service.ts'
import { respondJson } from '../../http/respond.ts'
import type { Call } from '../../http/route.ts'
import type { Streams } from '../../http/stream.ts'
import type { WireView } from './frames.ts'

export interface ServerFacts {
  readonly version: string
  readonly auth: string
  readonly storeName: string
  readonly streams: Streams
  /** How many pushes to a caller's receivers were given up. */
  readonly deadLetters: (principal: Principal) => Promise<number>
}

export async function describeServer(
  call: Call,
  service: Service,
  facts: ServerFacts,
  views: readonly WireView[],
): Promise<void> {
  const { version, auth, storeName, streams } = facts
  const deadLetters = await facts.deadLetters(call.principal)
  const { ok, store, draining } = service.health()
  const { rss, heapUsed } = process.memoryUsage()
  respondJson(call.response, 200, {
    version,
    auth,
    ok,
    draining,
    store: { name: storeName, ...store },
    deadLetters,
    load: { ...service.load(), streams: streams.size },
    process: {
      pid: process.pid,
      node: process.versions.node,
      uptimeMs: Math.round(process.uptime() * 1000),
      rss,
      heapUsed,
    },
    limits: service.limits,
    views: views.map(({ id, title }) => ({ id, title })),
  })
}
