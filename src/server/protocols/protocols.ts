/** The protocols of a server: their error formats and modules. A protocol that is not chosen is never loaded. */
import type { Clock, Ids } from '../../core/ports/clock.ts'
import type { Logger } from '../../core/ports/logger.ts'
import type { Authenticator, Principal } from '../../core/model/principal.ts'
import type { Service } from '../../core/service.ts'
import type { Store } from '../../core/ports/store.ts'
import { type HealthFields, healthRoutes } from '../../http/health.ts'
import type { Mount } from '../../http/routing/mounts.ts'
import { moveProtocol } from '../../http/routing/moved-protocol.ts'
import { toProblemResponse } from '../../http/response/problem.ts'
import type { Protocol } from '../../http/routing/route.ts'
import type { Streams } from '../../http/response/stream.ts'
import type { A2aOptions } from '../../protocols/a2a/index.ts'
import type { UpstreamSessions } from '../../protocols/agentos/requests/upstream-sessions.ts'
import { linkedProtocols } from './linked-protocols.ts'
import {
  ownedPaths,
  defaultPath,
  ownsPath,
  type ProtocolName,
  type ProtocolPaths,
  upgradesOf,
} from './protocol-paths.ts'
import type { OpenSubscriptions } from './open-subscriptions.ts'
import { rootRoute } from './root-route.ts'

export interface ProtocolParts {
  readonly service: Service
  readonly streams: Streams
  readonly logger: Logger
  readonly ids: Ids
  /** Default: the system's. */
  readonly clock?: Clock
  readonly auth: Authenticator['scheme']
  readonly version: string
  readonly store: Store
  readonly supervised: boolean
  readonly a2a?: A2aOptions | undefined
  /** Loads the code of Durable Streams when it is called. */
  readonly subscriptions: () => Promise<OpenSubscriptions>
  readonly paths: ProtocolPaths
  /** Of the AgentOS that is passed through at the root. */
  readonly upstreamSessions?: UpstreamSessions | undefined
}

/**
 * The protocol for the root and for paths that no other protocol owns: the native one if it is at the root, otherwise health reports
 * only.
 */
export async function firstProtocol(deps: ProtocolParts, startedAt: string): Promise<Protocol> {
  const { paths, version } = deps
  const first = paths.get('native') === '' ? await loadNative(deps, startedAt) : await loadHealth(deps, startedAt)
  return { ...first, routes: [rootRoute(version, paths), ...first.routes] }
}

async function loadHealth(deps: ProtocolParts, startedAt: string): Promise<Protocol> {
  const fields = await healthFields(deps, startedAt)
  return { name: 'health', routes: healthRoutes(deps.service, fields), error: toProblemResponse }
}

async function loadNative(deps: ProtocolParts, startedAt: string): Promise<Protocol> {
  const { service, streams, version, paths, auth } = deps
  const { nativeProtocol } = await import('../../protocols/native/index.ts')
  const linked = linkedProtocols(service, paths)
  return nativeProtocol(service, streams, version, await healthFields(deps, startedAt), paths, linked, auth === 'none')
}

async function healthFields({ paths }: ProtocolParts, startedAt: string): Promise<HealthFields> {
  return paths.has('agentos') ? (await import('../../protocols/agentos/wire/health.ts')).agentOsHealth(startedAt) : {}
}

/** All other protocols. `startedAt`: for the health report of the native protocol when it is not at the root. */
export function mountedProtocols(deps: ProtocolParts, startedAt = ''): Mount[] {
  const { paths } = deps
  return mountables
    .filter(({ name }) => paths.has(name) && !isFirst(name, paths))
    .map((mountable) => {
      const { name } = mountable
      const path = paths.get(name)!
      return {
        paths: ownedPaths(name, path),
        upgrades: upgradesOf(name, path),
        load: async () => moveProtocol(await mountable.load(deps, startedAt), defaultPath(name), path),
      }
    })
}

/** Whether `firstProtocol` serves it. */
function isFirst(name: ProtocolName, paths: ProtocolPaths): boolean {
  return name === 'native' && paths.get(name) === ''
}

/** How the owner of a path formats errors, for servers that cannot serve it yet. */
export function errorFormOf(path: string, paths: ProtocolPaths): () => Promise<Protocol['error']> {
  const owner =
    mountables.find(({ name }) => paths.has(name) && ownsPath(name, paths.get(name)!, path)) ??
    mountables.find(({ name }) => isFirst(name, paths))
  return owner === undefined ? () => Promise.resolve(toProblemResponse) : () => owner.errorForm()
}

interface Mountable {
  readonly name: ProtocolName
  errorForm(): Promise<Protocol['error']>
  /** Loads its routes, which are at the protocol's default path. */
  load(deps: ProtocolParts, startedAt: string): Promise<Protocol>
}

const mountables: readonly Mountable[] = [
  {
    name: 'native',
    errorForm: async () => (await import('../../protocols/native/wire/errors.ts')).toProblem,
    load: loadNative,
  },
  {
    name: 'durable-streams',
    errorForm: async () => (await import('../../protocols/durable-streams/wire/errors.ts')).toErrorResponse,
    load: async ({ service, streams, clock, paths, subscriptions }) =>
      (await import('../../protocols/durable-streams/index.ts')).durableStreamsProtocol({
        service,
        streams,
        clock,
        path: paths.get('durable-streams')!,
        ...(await subscriptions()),
      }),
  },
  {
    name: 'openai',
    errorForm: async () => (await import('../../protocols/openai/wire/errors.ts')).toErrorResponse,
    load: async ({ service, streams, ids, logger }) =>
      (await import('../../protocols/openai/index.ts')).openaiProtocol({ service, streams, ids, logger }),
  },
  {
    name: 'a2a',
    async errorForm() {
      const { toStatusResponse } = await import('../../protocols/a2a/wire/errors.ts')
      return (error) => toStatusResponse(error, '1.0.1')
    },
    async load({ service, streams, ids, logger, auth, version, a2a = {}, paths }) {
      const { a2aProtocol } = await import('../../protocols/a2a/index.ts')
      return a2aProtocol({ service, streams, ids, logger, auth, version, options: a2a, path: paths.get('a2a')! })
    },
  },
  {
    name: 'a2a-docs',
    errorForm: () => Promise.resolve(toProblemResponse),
    async load({ service, ids, auth, version, a2a = {}, paths }) {
      const { a2aDocs } = await import('../../protocols/a2a/docs/index.ts')
      return a2aDocs({ service, ids, auth, version, options: a2a, path: paths.get('a2a')! })
    },
  },
  {
    name: 'agentos',
    errorForm: async () => (await import('../../protocols/agentos/wire/errors.ts')).toDetail,
    async load({ service, streams, logger, auth, version, upstreamSessions }) {
      const { agentosProtocol } = await import('../../protocols/agentos/index.ts')
      return agentosProtocol({ service, streams, logger, auth, version, upstreamSessions })
    },
  },
  {
    name: 'ai-sdk',
    errorForm: async () => (await import('../../protocols/ai-sdk/wire/errors.ts')).toErrorText,
    load: async ({ service, streams, logger, clock }) =>
      (await import('../../protocols/ai-sdk/index.ts')).aiSdkProtocol({ service, streams, logger, clock }),
  },
  {
    name: 'ag-ui',
    errorForm: async () => (await import('../../protocols/ag-ui/wire/errors.ts')).toErrorResponse,
    load: async ({ service, streams }) =>
      (await import('../../protocols/ag-ui/index.ts')).agUiProtocol(service, streams),
  },
  {
    name: 'mcp',
    errorForm: async () => (await import('../../protocols/mcp/wire/errors.ts')).toErrorResponse,
    load: async ({ service, streams, ids, version }) =>
      (await import('../../protocols/mcp/index.ts')).mcpProtocol({ service, streams, ids, version }),
  },
  {
    name: 'console',
    errorForm: () => Promise.resolve(toProblemResponse),
    load: loadConsole,
  },
]

async function loadConsole(deps: ProtocolParts): Promise<Protocol> {
  const { service, streams, auth, version, store, supervised, paths } = deps
  const [{ consoleProtocol }, { protocolViews }, { countOrphaned }] = await Promise.all([
    import('../../protocols/console/index.ts'),
    import('./protocol-views.ts'),
    import('../store/count-orphaned.ts'),
  ])
  return consoleProtocol({
    service,
    streams,
    auth,
    version,
    supervised,
    storeName: store.name,
    paths: {
      native: paths.get('native')!,
      console: paths.get('console')!,
      a2a: paths.get('a2a') ?? defaultPath('a2a'),
    },
    views: protocolViews(service).filter(({ id }) =>
      [...paths.keys()].some((name) => id === name || id.startsWith(`${name}-`)),
    ),
    orphaned: () => countOrphaned(store),
    deadLetters: paths.has('a2a') ? (principal) => countDeadLetters(service, principal) : () => Promise.resolve(0),
  })
}

async function countDeadLetters(service: Service, principal: Principal): Promise<number> {
  const { DEAD_LETTERS: collection } = await import('../../protocols/a2a/collections.ts')
  return (await service.documents(principal).list({ collection, limit: 1 })).total
}
