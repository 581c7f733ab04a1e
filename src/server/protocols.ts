/** The protocols besides the native one: their path prefixes and modules. */
import type { Ids } from '../core/ports/clock.ts'
import type { Logger } from '../core/ports/logger.ts'
import type { Authenticator, Principal } from '../core/model/principal.ts'
import type { Service } from '../core/service.ts'
import type { Store } from '../core/ports/store.ts'
import type { Mount } from '../http/mounts.ts'
import type { Streams } from '../http/stream.ts'
import type { A2aOptions } from '../protocols/a2a/index.ts'

export interface ProtocolParts {
  readonly service: Service
  readonly streams: Streams
  readonly logger: Logger
  readonly ids: Ids
  readonly auth: Authenticator['scheme']
  readonly version: string
  readonly store: Store
  readonly supervised: boolean
  readonly a2a?: A2aOptions | undefined
}

export function mountedProtocols(parts: ProtocolParts): Mount[] {
  const { service, streams, logger, ids, auth, version, store, supervised, a2a = {} } = parts
  return [
    {
      segments: ['v1'],
      load: async () => (await import('../protocols/openai/index.ts')).openaiProtocol(service, streams, ids),
    },
    {
      segments: ['a2a', '.well-known'],
      async load() {
        const { a2aProtocol } = await import('../protocols/a2a/index.ts')
        return a2aProtocol({ service, streams, ids, logger, auth, version, options: a2a })
      },
    },
    {
      segments: AGENTOS,
      upgrades: ['/agents/ws', '/teams/ws', '/workflows/ws'],
      load: async () =>
        (await import('../protocols/agentos/index.ts')).agentosProtocol({ service, streams, logger, auth, version }),
    },
    {
      segments: ['console'],
      async load() {
        const [{ consoleProtocol }, { wireViews }, { countOrphaned }, { DEAD_LETTERS: collection }] = await Promise.all(
          [
            import('../protocols/console/index.ts'),
            import('./wire-views.ts'),
            import('./count-orphaned.ts'),
            import('../protocols/a2a/push/deliveries.ts'),
          ],
        )
        const deadLetters = async (principal: Principal): Promise<number> =>
          (await service.documents(principal).list({ collection, limit: 1 })).total
        return consoleProtocol({
          service,
          streams,
          auth,
          version,
          supervised,
          storeName: store.name,
          views: wireViews(service),
          orphaned: () => countOrphaned(store),
          deadLetters,
        })
      },
    },
  ]
}

const AGENTOS: readonly string[] = [
  '',
  'agents',
  'teams',
  'workflows',
  'sessions',
  'info',
  'config',
  'models',
  // Answered with "not supported".
  'memories',
  'memory_topics',
  'user_memory_stats',
  'optimize-memories',
  'learnings',
  'knowledge',
  'eval-runs',
  'traces',
  'trace_session_stats',
  'schedules',
  'approvals',
  'registry',
  'databases',
  'service-accounts',
]
