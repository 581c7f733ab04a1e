/** The composition root: wires a store, components and protocols together. It serves requests that others receive. */
import { ComponentSources, type ComponentSourcesOptions } from '../core/component-sources.ts'
import { componentsIn, type ComponentOrSource, sourcesIn } from '../core/ports/component-source.ts'
import { AuditedService } from '../core/access/audited-service.ts'
import type { CallerCredentials } from '../core/access/caller-credentials.ts'
import { systemClock, systemIds } from '../core/ports/clock.ts'
import { defaultLimits, type Limits } from '../core/model/limits.ts'
import { silentLogger } from '../core/ports/logger.ts'
import type { Principal } from '../core/model/principal.ts'
import type { Run } from '../core/model/run.ts'
import { Registry } from '../core/registry.ts'
import { loadExecution } from '../core/scheduling/load-execution.ts'
import type { Service, ServiceOptions } from '../core/service.ts'
import { AddressLimit } from '../http/guards/address-limit.ts'
import { type App, createApp } from '../http/routing/app.ts'
import { toBasePath } from '../http/routing/base-path.ts'
import type { Cors } from '../http/guards/cors.ts'
import { Mounts } from '../http/routing/mounts.ts'
import { RequestRate } from '../http/guards/request-rate.ts'
import { Streams } from '../http/response/stream.ts'
import { TrustedProxies } from '../http/guards/trusted-proxies.ts'
import { createUpgradeListener, type UpgradeListener } from '../http/socket/upgrade.ts'
import { BackgroundTasks } from './background-tasks.ts'
import type { CertificateFiles } from './certificate-files.ts'
import type { EngineOptions } from './engine-options.ts'
import { EventLoopMonitor } from './event-loop/monitor.ts'
import { openGrpcBinding } from './protocols/open-grpc.ts'
import { openPassthrough } from './protocols/open-passthrough.ts'
import { openPushes } from './protocols/open-pushes.ts'
import type { OpenSubscriptions } from './protocols/open-subscriptions.ts'
import { openRedaction } from './open-redaction.ts'
import { openSecurity, type Security } from './open-security.ts'
import { inProcessPaths, type ProtocolPaths, toProtocolPaths } from './protocols/protocol-paths.ts'
import { firstProtocol, mountedProtocols, type ProtocolParts } from './protocols/protocols.ts'
import { logRejectedOrigins } from './rejected-origins.ts'
import { assertSignedCardHost } from './signed-card-host.ts'
import { handleUncaughtErrors } from './uncaught-errors.ts'
import { version } from './version.ts'
import { workIdentity } from './work-identity.ts'

/** Address of the HTTP listener, beside which gRPC opens a port of its own. */
export interface EngineListener {
  readonly host: string
  readonly url: () => string
  readonly certificate?: CertificateFiles
}

export interface Engine {
  readonly service: Service
  readonly limits: Limits
  readonly streams: Streams
  readonly mounts: Mounts
  readonly basePath: string
  readonly proxies: TrustedProxies
  readonly app: App
  readonly upgrade: UpgradeListener
  /** The native and AI SDK protocols for code in this process, which acts as the principal without a credential. */
  appFor(principal: Principal): Promise<App>
  /** Replaces the served components. Runs in progress keep the component that they started with. */
  replaceComponents(components: readonly ComponentOrSource[]): void
  /** Starts executing runs. */
  start(): void
  /** Finishes or hands over running runs. Still responds meanwhile, if only to reject new work. */
  drain(): Promise<void>
  /** Ends all streams with the reason; clients reconnect. Resolves when the engine's own listeners are closed. */
  disconnect(reason: string): Promise<void>
  /** Call after `drain` and `disconnect`. Closes the store too, unless `keepStore` is set. */
  close(options?: { readonly keepStore: boolean }): Promise<void>
}

export async function openEngine(options: EngineOptions, listener?: EngineListener): Promise<Engine> {
  const { store, clock = systemClock } = options
  const paths = toProtocolPaths(options.protocols)
  const basePath = toBasePath(options.basePath)
  const { redactor, logger } = await openRedaction(options.redact, options.logger ?? silentLogger)
  const limits: Limits = { ...defaultLimits, ...options.limits }
  const ids = options.ids ?? systemIds(clock)
  const registry = new Registry(componentsIn(options.components))
  assertSignedCardHost(options.a2a)
  const security = await openSecurity(options, { clock, ids, limits, logger })
  const { secrets, authenticator } = security
  const rate = new RequestRate(limits, authenticator.scheme !== 'none', clock)
  const sources = openSources(options, { registry, clock, logger }, security.callerCredentials, rate)
  const background = new BackgroundTasks()
  let loop: EventLoopMonitor | undefined
  const service = openService(
    { store, registry, clock, ids, logger, limits },
    { security, redactor, sources, eventLoop: () => loop?.health() ?? { delayMs: 0, blocks: 0 } },
  )
  const streams = new Streams(limits, clock)
  const auth = authenticator.scheme
  const proxies = new TrustedProxies(options.trustProxy ?? [])
  const a2aOptions = { ...options.a2a, ...(secrets !== undefined && { secrets }) }
  const grpcDeps = { service, ids, authenticator, proxies, rate, logger, version }
  const { grpc, a2a } =
    listener === undefined || !paths.has('a2a')
      ? { a2a: a2aOptions }
      : await openGrpcBinding(a2aOptions, { ...grpcDeps, path: paths.get('a2a')!, ...listener })
  const { supervised = false } = options
  let opened: Promise<OpenSubscriptions> | undefined
  const subscriptions = (): Promise<OpenSubscriptions> =>
    (opened ??= import('./protocols/open-subscriptions.ts').then(({ openSubscriptions }) =>
      openSubscriptions(store, clock, secrets, options.streamWebhooks),
    ))
  const deps = { service, streams, logger, ids, clock, auth, version, store, supervised, a2a, subscriptions, paths }
  const mounts = await openMounts(options, deps, new Date(clock.now()).toISOString())
  const cors: Cors = {
    origins: options.corsOrigins ?? [],
    loopback: options.corsLoopback ?? false,
    onRefused: logRejectedOrigins(logger),
  }
  const pages = { authenticator, cors, allowedHosts: options.allowedHosts }
  const stallMs = limits.subscriberStallTimeoutMs
  const logins = new AddressLimit({
    maxPerAddress: limits.maxUnauthenticatedSocketsPerAddress,
    maxTotal: limits.maxUnauthenticatedSockets,
  })
  await sources.start()
  let own: Promise<Mounts> | undefined
  return {
    service,
    limits,
    streams,
    mounts,
    basePath,
    proxies,
    app: createApp({ mounts, basePath, authenticator, ids, logger, pages, proxies, rate, stallMs }),
    upgrade: createUpgradeListener({ mounts, basePath, authenticator, logger, pages, proxies, logins, rate }),
    async appFor(principal) {
      own ??= paths.has('native') && paths.has('ai-sdk') ? Promise.resolve(mounts) : inProcess(deps, paths)
      return createApp({
        mounts: await own,
        basePath,
        authenticator: { scheme: 'keys', authenticate: () => Promise.resolve(principal) },
        ids,
        logger,
        pages: { authenticator: { scheme: 'keys' }, cors: { origins: [] } },
        proxies: new TrustedProxies([]),
        rate: new RequestRate({ ...limits, maxRequestsPerSecond: 0 }, false, clock),
        stallMs,
      })
    },
    replaceComponents: (components) => sources.replaceFixed(componentsIn(components)),
    start() {
      loop = new EventLoopMonitor({ eventLoopBlockedMs: limits.eventLoopBlockedMs, logger })
      background.atEnd(() => loop!.close())
      if (options.handleUncaught !== false) background.atEnd(handleUncaughtErrors())
      service.startScheduling()
      // The first sweep runs a minute later.
      background.later(async () => {
        const { Retention } = await import('./retention/retention.ts')
        const retention = new Retention(store, limits, clock, logger, options.retention)
        background.beforeDrain(() => retention.close())
      })
      const { callerCredentials } = security
      if (callerCredentials !== undefined)
        background.later(async () => {
          const { UnverifiedOwners } = await import('./retention/unverified-owners.ts')
          const owners = new UnverifiedOwners({ store, callers: callerCredentials.unverified, clock, logger })
          background.beforeDrain(() => owners.close())
        })
      background.later(async () => loadExecution())
      background.later(() => mounts.loadAll().catch(() => {})) // a request that needs the protocol gets the error
      if (paths.has('durable-streams'))
        background.later(async () => {
          const { ExpiredStreams } = await import('../protocols/durable-streams/requests/expired-streams.ts')
          const expired = new ExpiredStreams({ service, clock, logger })
          background.beforeDrain(() => expired.close())
          const { SubscriptionWorker } = await import('../protocols/durable-streams/subscriptions/worker.ts')
          const worker = new SubscriptionWorker({
            service,
            clock,
            logger,
            shared: store.capabilities.shared,
            ...(await subscriptions()),
          })
          background.beforeDrain(() => worker.close())
        })
      if (paths.has('a2a'))
        background.later(async () => {
          const { shared } = store.capabilities
          const pushes = await openPushes({ service, clock, ids, logger, shared, options: a2a })
          if (pushes !== undefined) background.beforeDrain(() => pushes.close())
        })
    },
    async drain() {
      sources.close()
      await background.stop()
      await service.drain()
    },
    async disconnect(reason) {
      const closed = grpc?.close()
      streams.closeAll(reason)
      mounts.close(reason)
      await closed
    },
    async close({ keepStore } = { keepStore: false }) {
      try {
        if (!keepStore) await store.close()
      } finally {
        await background.end()
      }
    },
  }
}

/** Component sources, with access to the credentials that they may forward. */
function openSources(
  { components }: EngineOptions,
  deps: Pick<ComponentSourcesOptions, 'registry' | 'clock' | 'logger'>,
  credentials: CallerCredentials | undefined,
  rate: RequestRate,
): ComponentSources {
  const sources = sourcesIn(components)
  if (credentials !== undefined) credentials.unverified.onRefused = (network) => rate.countWrong(network)
  const accept = async (run: Pick<Run, 'id' | 'owner'>): Promise<void> => {
    await credentials?.unverified.accept(run)
    const credential = await credentials?.of(run)
    if (credential !== undefined) rate.remember(credential.reveal())
  }
  for (const source of sources)
    source.attach?.({
      credentialOf: async (run) => credentials?.of(run),
      onVerdict: (run, decision) =>
        decision === 'refused'
          ? credentials?.unverified.refuse(run)
          : accept(run).catch((cause: unknown) => {
              deps.logger.warn({ run: run.id, err: cause }, 'failed to record that an upstream accepted a credential')
            }),
    })
  return new ComponentSources({ ...deps, sources, fixed: componentsIn(components) })
}

interface ServiceParts {
  readonly security: Security
  readonly redactor: ServiceOptions['redactor'] | undefined
  readonly eventLoop: NonNullable<ServiceOptions['eventLoop']>
  readonly sources: ComponentSources
}

function openService(
  base: Pick<ServiceOptions, 'store' | 'registry' | 'clock' | 'ids' | 'logger' | 'limits'>,
  { security, redactor, sources, eventLoop }: ServiceParts,
): Service {
  const { audit, shares, authenticator, credentials, callerCredentials } = security
  return new AuditedService(
    {
      ...base,
      credentials,
      shares,
      removeCredentials: (who, how) => authenticator.removeCredentials?.(who, how) ?? Promise.resolve(0),
      eventLoop,
      upstreams: () => sources.health(),
      ...(redactor !== undefined && { redactor }),
      ...(callerCredentials !== undefined && { callerCredentials }),
      ...workIdentity(base.store),
    },
    audit,
  )
}

async function openMounts({ components }: EngineOptions, deps: ProtocolParts, startedAt: string): Promise<Mounts> {
  const passed = await openPassthrough(sourcesIn(components), deps.service, deps.paths)
  return new Mounts(
    await firstProtocol(deps, startedAt),
    [...mountedProtocols({ ...deps, upstreamSessions: passed.upstreamSessions }, startedAt), ...passed.mounts],
    passed.fallback,
  )
}

/** The protocols for code in this process, even if no other protocol is served. */
async function inProcess(deps: ProtocolParts, chosen: ProtocolPaths): Promise<Mounts> {
  const paths = inProcessPaths(chosen)
  return new Mounts(await firstProtocol({ ...deps, paths }, ''), mountedProtocols({ ...deps, paths }))
}
