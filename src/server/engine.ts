/** The composition root: wires a store, components and protocols together. It serves requests that others receive. */
import { ComponentSources } from '../core/component-sources.ts'
import { componentsIn, type ComponentOrSource, sourcesIn } from '../core/ports/component-source.ts'
import { Audit } from '../core/access/audit.ts'
import { AuditedService } from '../core/access/audited-service.ts'
import { type Clock, systemClock, systemIds } from '../core/ports/clock.ts'
import { CallerCredentials } from '../core/access/caller-credentials.ts'
import { CredentialWatch } from '../core/access/credential-watch.ts'
import { HoldfastError } from '../core/model/errors.ts'
import { defaultLimits, type Limits } from '../core/model/limits.ts'
import { silentLogger } from '../core/ports/logger.ts'
import type { Authenticator, Principal } from '../core/model/principal.ts'
import { redactingLogger } from '../core/redaction/redacting-logger.ts'
import { redactorOf } from '../core/redaction/redactor.ts'
import { Registry } from '../core/registry.ts'
import type { SecretBox } from '../core/ports/secret-box.ts'
import type { Service } from '../core/service.ts'
import { ShareLinks } from '../core/access/share-links.ts'
import { AddressLimit } from '../http/address-limit.ts'
import { type App, createApp } from '../http/app.ts'
import { toBasePath } from '../http/base-path.ts'
import type { Cors } from '../http/cors.ts'
import { Mounts } from '../http/mounts.ts'
import { RequestRate } from '../http/request-rate.ts'
import { Streams } from '../http/stream.ts'
import { TrustedProxies } from '../http/trusted-proxies.ts'
import { createUpgradeListener, type UpgradeListener } from '../http/upgrade.ts'
import { loggedAudit } from './audit-sinks.ts'
import { auditedAuthenticator } from './auth/audited.ts'
import { hostAuthenticator } from './auth/host.ts'
import { sharedAuthenticator } from './auth/shared.ts'
import { openAuthenticator } from './auth/index.ts'
import type { CertificateFiles } from './certificate-files.ts'
import type { EngineOptions } from './engine-options.ts'
import { EventLoopMonitor } from './event-loop/monitor.ts'
import { openGrpcBinding } from './open-grpc.ts'
import { openPassthrough } from './open-passthrough.ts'
import { openPushes } from './open-pushes.ts'
import { inProcessPaths, type ProtocolPaths, toProtocolPaths } from './protocol-paths.ts'
import { firstProtocol, mountedProtocols, type ProtocolParts } from './protocols.ts'
import { warnOfOrigins } from './warn-of-origins.ts'
import { Retention } from './retention/retention.ts'
import { createSecretBox, KEY_BYTES } from './secret-box.ts'
import { parseSecretKey } from './secret-keys.ts'
import { refuseAnyHost } from './refuse-any-host.ts'
import { shareSigner, storeHash } from './share-signer.ts'
import { handleUncaughtErrors } from './uncaught-errors.ts'
import { version } from './version.ts'
import { workIdentity } from './work-identity.ts'

/** Where the server listens: gRPC has a port of its own beside it. */
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
  /** The native protocol and that of the AI SDK, for code of this process, which acts as the principal and needs no credential. */
  appFor(principal: Principal): Promise<App>
  /** Serves these from now on. Runs in progress keep the component that they started with. */
  replaceComponents(components: readonly ComponentOrSource[]): void
  /** Starts executing runs. */
  start(): void
  /** Finishes or hands over running runs, while it still responds, if only to reject new work. */
  drain(): Promise<void>
  /** Ends all streams with the reason; clients reconnect. Resolves when the engine's own listeners are closed. */
  disconnect(reason: string): Promise<void>
  /** After `drain` and `disconnect`. Closes the store too, unless told to keep it. */
  close(options?: { readonly keepStore: boolean }): Promise<void>
}

export async function openEngine(options: EngineOptions, listener?: EngineListener): Promise<Engine> {
  const { store, clock = systemClock } = options
  const paths = toProtocolPaths(options.protocols)
  const basePath = toBasePath(options.basePath)
  const redactor = redactorOf(undefined, options.redact)
  const { logger: plainLogger = silentLogger } = options
  const logger = redactor === undefined ? plainLogger : redactingLogger(plainLogger, redactor)
  const { supervised = false } = options
  const limits: Limits = { ...defaultLimits, ...options.limits }
  const ids = options.ids ?? systemIds(clock)
  const registry = new Registry(componentsIn(options.components))
  refuseAnyHost(options.a2a)
  const secrets = secretsFor(options)
  const checked = await authenticatorFor(options, clock, secrets)
  const audit = new Audit(clock, [
    ...(checked.scheme === 'none' ? [] : [loggedAudit(logger)]),
    ...(options.audit === undefined ? [] : [options.audit]),
  ])
  const shares = new ShareLinks({ store, clock, ids, limits, signer: shareSigner(store, secrets) })
  const authenticator = auditedAuthenticator(sharedAuthenticator(checked, shares), audit)
  const credentials = new CredentialWatch(authenticator, clock)
  const callerCredentials = forwardsCredentials(options) ? new CallerCredentials(store.documents, secrets) : undefined
  for (const source of sourcesIn(options.components))
    source.attach?.({ credentialOf: async (run) => callerCredentials?.of(run) })
  const sources = new ComponentSources({
    registry,
    sources: sourcesIn(options.components),
    fixed: componentsIn(options.components),
    clock,
    logger,
  })
  let loop: EventLoopMonitor | undefined
  const service = new AuditedService(
    {
      store,
      registry,
      clock,
      ids,
      logger,
      limits,
      credentials,
      shares,
      removeCredentials: (who, how) => authenticator.removeCredentials?.(who, how) ?? Promise.resolve(0),
      eventLoop: () => loop?.health() ?? { delayMs: 0, blocks: 0 },
      upstreams: () => sources.health(),
      ...(redactor !== undefined && { redactor }),
      ...(callerCredentials !== undefined && { callerCredentials }),
      ...workIdentity(store),
    },
    audit,
  )
  const streams = new Streams(limits, clock)
  const auth = authenticator.scheme
  const proxies = new TrustedProxies(options.trustProxy ?? [])
  const rate = new RequestRate(limits, auth !== 'none', clock)
  const a2aOptions = { ...options.a2a, ...(secrets !== undefined && { secrets }) }
  const { grpc, a2a } =
    listener === undefined || !paths.has('a2a')
      ? { a2a: a2aOptions }
      : await openGrpcBinding(a2aOptions, {
          service,
          ids,
          authenticator,
          proxies,
          rate,
          logger,
          version,
          path: paths.get('a2a')!,
          ...listener,
        })
  const deps = { service, streams, logger, ids, clock, auth, version, store, supervised, a2a, paths }
  const startedAt = new Date(clock.now()).toISOString()
  const passed = await openPassthrough(sourcesIn(options.components), service, paths)
  const mounts = new Mounts(
    await firstProtocol(deps, startedAt),
    [...mountedProtocols(deps, startedAt), ...passed.mounts],
    passed.fallback,
  )
  const cors: Cors = {
    origins: options.corsOrigins ?? [],
    loopback: options.corsLoopback ?? false,
    onRefused: warnOfOrigins(logger),
  }
  const pages = { authenticator, cors, allowedHosts: options.allowedHosts }
  const stallMs = limits.subscriberStallTimeoutMs
  const logins = new AddressLimit({ maxPerAddress: limits.maxLoginsPerAddress, maxTotal: limits.maxLogins })
  const background = new Background()
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
      loop = new EventLoopMonitor({ loopBlockedMs: limits.loopBlockedMs, logger })
      background.atEnd(() => loop!.close())
      if (options.handleUncaught !== false) background.atEnd(handleUncaughtErrors())
      service.startScheduling()
      const retention = new Retention(store, limits, clock, logger, options.retention)
      background.beforeDrain(() => retention.close())
      background.later(() => mounts.loadAll().catch(() => {})) // the request that needs it gets the error
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

/** What code of this process uses, also if nobody else is served. */
async function inProcess(deps: ProtocolParts, chosen: ProtocolPaths): Promise<Mounts> {
  const paths = inProcessPaths(chosen)
  return new Mounts(await firstProtocol({ ...deps, paths }, ''), mountedProtocols({ ...deps, paths }))
}

/** Delay of work that may wait, so that it does not slow down the first requests. */
const LATER_MS = 1000

/** What an engine does besides serving, and how each part of it ends. */
class Background {
  readonly #timers = new Set<NodeJS.Timeout>()
  readonly #started = new Set<Promise<unknown>>()
  readonly #beforeDrain: (() => Promise<unknown>)[] = []
  readonly #atEnd: (() => unknown)[] = []

  later(work: () => Promise<unknown>): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      const started = work().finally(() => this.#started.delete(started))
      this.#started.add(started)
    }, LATER_MS)
    timer.unref()
    this.#timers.add(timer)
  }

  beforeDrain(stop: () => Promise<unknown>): void {
    this.#beforeDrain.push(stop)
  }

  atEnd(stop: () => unknown): void {
    this.#atEnd.push(stop)
  }

  async stop(): Promise<void> {
    for (const timer of this.#timers) clearTimeout(timer)
    await Promise.allSettled(this.#started)
    for (const stop of this.#beforeDrain.splice(0)) await stop()
  }

  async end(): Promise<void> {
    for (const stop of this.#atEnd.splice(0)) await stop()
  }
}

/** `authenticate` comes first; `auth` decides about requests for which it returns null. */
async function authenticatorFor(
  { authenticate, auth, store }: EngineOptions,
  clock: Clock,
  secrets: SecretBox | undefined,
): Promise<Authenticator> {
  const digest = storeHash(store, 'caller', secrets)
  const hash = async (text: string): Promise<string> => (await digest(text)).toString('base64url')
  const others = await openAuthenticator(auth ?? {}, clock, hash)
  if (authenticate === undefined) return others
  return hostAuthenticator(authenticate, others.scheme === 'none' ? undefined : others)
}

/** Whether upstreams get the credentials of callers. Throws if they should and there are none. */
function forwardsCredentials({ auth = {}, components }: EngineOptions): boolean {
  const isOn = 'passthrough' in auth && auth.passthrough === true
  const source = sourcesIn(components).find((each) => each.forwardsCredentials === true)
  if (source !== undefined && !isOn)
    throw new HoldfastError(
      'invalid_request',
      `the upstream ${source.name} gets the caller's credential, which this server only has with auth: { passthrough: true }`,
    )
  return isOn
}

function secretsFor({ secretKeys = [], store }: EngineOptions): SecretBox | undefined {
  if (secretKeys.length > 0) return createSecretBox(secretKeys.map(parseSecretKey))
  if (store.capabilities.durable) return undefined
  return createSecretBox([process.getBuiltinModule('node:crypto').randomBytes(KEY_BYTES)])
}
