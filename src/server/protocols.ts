/** The protocols of a server: their path prefixes, error forms and modules. A protocol that is not chosen is never loaded. */
import type { Ids } from '../core/ports/clock.ts'
import { HoldfastError } from '../core/model/errors.ts'
import type { Logger } from '../core/ports/logger.ts'
import type { Authenticator, Principal } from '../core/model/principal.ts'
import type { Service } from '../core/service.ts'
import type { Store } from '../core/ports/store.ts'
import { type HealthFields, healthRoutes } from '../http/health.ts'
import type { Mount } from '../http/mounts.ts'
import { toProblemResponse } from '../http/problem.ts'
import type { Protocol } from '../http/route.ts'
import type { Streams } from '../http/stream.ts'
import type { A2aOptions } from '../protocols/a2a/index.ts'

export const protocolNames = ['native', 'openai', 'a2a', 'agentos', 'console'] as const
export type ProtocolName = (typeof protocolNames)[number]

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
  /** Default: all. */
  readonly protocols?: readonly ProtocolName[]
}

/** Throws `invalid_request` for an unknown protocol, or one that needs another. */
export function checkProtocols(names: readonly string[]): void {
  const allowed: readonly string[] = protocolNames
  const unknown = names.find((name) => !allowed.includes(name))
  if (unknown !== undefined)
    throw new HoldfastError(
      'invalid_request',
      `protocols: ${JSON.stringify(unknown)} is unknown; use ${protocolNames.join(', ')}`,
    )
  if (names.includes('console') && !names.includes('native'))
    throw new HoldfastError('invalid_request', 'protocols: console needs native, which its page uses')
}

/** The protocol for paths that no other owns: the native one, or health reports alone. */
export async function firstProtocol(
  { service, streams, version, protocols = protocolNames }: ProtocolParts,
  startedAt: string,
): Promise<Protocol> {
  const fields: HealthFields = protocols.includes('agentos')
    ? (await import('../protocols/agentos/wire/health.ts')).agentOsHealth(startedAt)
    : {}
  if (!protocols.includes('native'))
    return { name: 'health', routes: healthRoutes(service, fields), error: toProblemResponse }
  const { nativeProtocol } = await import('../protocols/native/index.ts')
  return nativeProtocol(service, streams, version, fields)
}

/** The others. */
export function mountedProtocols(parts: ProtocolParts): Mount[] {
  const { protocols = protocolNames } = parts
  return others
    .filter(({ name }) => protocols.includes(name))
    .map((mountable) => ({ ...mountable, load: () => mountable.load(parts) }))
}

/** First segments of the paths that a server has without loading any protocol. */
const HEALTH: readonly string[] = ['health']
const NATIVE: readonly string[] = ['runs', 'components', 'native', 'admin', 'openapi.json']

/** Whether a path, or others that begin like it, belong to one of the protocols. Loads nothing. */
export function claimsPath(path: string, protocols: readonly ProtocolName[]): boolean {
  return firstSegments(protocols).includes(path.split('/', 2)[1] ?? '')
}

/** First segments of all paths of the protocols. */
export function firstSegments(protocols: readonly ProtocolName[]): readonly string[] {
  const owned = others.filter(({ name }) => protocols.includes(name)).flatMap(({ segments }) => segments)
  return [...HEALTH, ...(protocols.includes('native') ? NATIVE : []), ...owned]
}

/** WebSocket paths. */
export function upgradePaths(protocols: readonly ProtocolName[]): readonly string[] {
  return others.filter(({ name }) => protocols.includes(name)).flatMap(({ upgrades = [] }) => upgrades)
}

/** How the owner of a path renders errors, for servers that cannot serve it yet. */
export function errorFormOf(path: string, protocols: readonly ProtocolName[]): () => Promise<Protocol['error']> {
  const segment = path.split('/', 2)[1] ?? ''
  const owner = others.find(({ name, segments }) => protocols.includes(name) && segments.includes(segment))
  if (owner !== undefined) return () => owner.errorForm()
  return protocols.includes('native')
    ? async () => (await import('../protocols/native/errors.ts')).toProblem
    : () => Promise.resolve(toProblemResponse)
}

interface Mountable extends Omit<Mount, 'load'> {
  readonly name: ProtocolName
  errorForm(): Promise<Protocol['error']>
  load(parts: ProtocolParts): Promise<Protocol>
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

const others: readonly Mountable[] = [
  {
    name: 'openai',
    segments: ['v1'],
    errorForm: async () => (await import('../protocols/openai/wire/errors.ts')).toErrorResponse,
    load: async ({ service, streams, ids }) =>
      (await import('../protocols/openai/index.ts')).openaiProtocol(service, streams, ids),
  },
  {
    name: 'a2a',
    segments: ['a2a', '.well-known'],
    async errorForm() {
      const { toStatusResponse } = await import('../protocols/a2a/wire/errors.ts')
      return (error) => toStatusResponse(error, '1.0.1')
    },
    async load({ service, streams, ids, logger, auth, version, a2a = {} }) {
      const { a2aProtocol } = await import('../protocols/a2a/index.ts')
      return a2aProtocol({ service, streams, ids, logger, auth, version, options: a2a })
    },
  },
  {
    name: 'agentos',
    segments: AGENTOS,
    upgrades: ['/agents/ws', '/teams/ws', '/workflows/ws'],
    errorForm: async () => (await import('../protocols/agentos/wire/errors.ts')).toDetail,
    async load({ service, streams, logger, auth, version, protocols = protocolNames }) {
      const { agentosProtocol } = await import('../protocols/agentos/index.ts')
      const hasConsole = protocols.includes('console')
      return agentosProtocol({ service, streams, logger, auth, version, hasConsole })
    },
  },
  {
    name: 'console',
    segments: ['console'],
    errorForm: () => Promise.resolve(toProblemResponse),
    load: loadConsole,
  },
]

async function loadConsole(parts: ProtocolParts): Promise<Protocol> {
  const { service, streams, auth, version, store, supervised, protocols = protocolNames } = parts
  const [{ consoleProtocol }, { wireViews }, { countOrphaned }] = await Promise.all([
    import('../protocols/console/index.ts'),
    import('./wire-views.ts'),
    import('./count-orphaned.ts'),
  ])
  return consoleProtocol({
    service,
    streams,
    auth,
    version,
    supervised,
    storeName: store.name,
    views: wireViews(service).filter(({ id }) => protocols.some((name) => id.split('-')[0] === name)),
    orphaned: () => countOrphaned(store),
    deadLetters: protocols.includes('a2a')
      ? (principal) => countDeadLetters(service, principal)
      : () => Promise.resolve(0),
  })
}

async function countDeadLetters(service: Service, principal: Principal): Promise<number> {
  const { DEAD_LETTERS: collection } = await import('../protocols/a2a/collections.ts')
  return (await service.documents(principal).list({ collection, limit: 1 })).total
}
