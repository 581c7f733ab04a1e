/** The composition root: wires a store, components and protocols together and listens. */
import type { Server as HttpServer } from 'node:http'
import type { Component } from '../core/ports/component.ts'
import { Audit, type AuditSink } from '../core/access/audit.ts'
import { AuditedService } from '../core/access/audited-service.ts'
import { type Clock, type Ids, systemClock, systemIds } from '../core/ports/clock.ts'
import { CredentialWatch } from '../core/access/credential-watch.ts'
import { HoldfastError } from '../core/model/errors.ts'
import { defaultLimits, type Limits } from '../core/model/limits.ts'
import { type Logger, silentLogger } from '../core/ports/logger.ts'
import type { Authenticator } from '../core/model/principal.ts'
import { redactingLogger } from '../core/redaction/redacting-logger.ts'
import type { RedactOptions } from '../core/redaction/redaction.ts'
import { redactorOf } from '../core/redaction/redactor.ts'
import { Registry } from '../core/registry.ts'
import type { SecretBox } from '../core/ports/secret-box.ts'
import type { Service } from '../core/service.ts'
import { ShareLinks } from '../core/access/share-links.ts'
import type { Store } from '../core/ports/store.ts'
import { AddressLimit } from '../http/address-limit.ts'
import { createApp } from '../http/app.ts'
import { limitConnections, LISTEN_BACKLOG } from '../http/limit-connections.ts'
import type { Cors } from '../http/cors.ts'
import { Mounts } from '../http/mounts.ts'
import { RequestRate } from '../http/request-rate.ts'
import { Streams } from '../http/stream.ts'
import { TrustedProxies } from '../http/trusted-proxies.ts'
import { createUpgradeListener } from '../http/upgrade.ts'
import type { GrpcServer } from '../protocols/a2a/grpc/index.ts'
import type { A2aOptions } from '../protocols/a2a/index.ts'
import type { Pushes } from '../protocols/a2a/push/index.ts'
import { agentOsHealth } from '../protocols/agentos/wire/health.ts'
import { nativeProtocol } from '../protocols/native/index.ts'
import { loggedAudit } from './audit-sinks.ts'
import { auditedAuthenticator } from './auth/audited.ts'
import { sharedAuthenticator } from './auth/shared.ts'
import { openAuthenticator } from './auth/index.ts'
import { CertificateFiles, type TlsOptions } from './certificate-files.ts'
import { closerOfIdle } from './connections.ts'
import { EventLoopMonitor } from './event-loop/monitor.ts'
import { createHttpServer, urlOf } from './http-server.ts'
import { openGrpcBinding } from './open-grpc.ts'
import { openPushes } from './open-pushes.ts'
import { mountedProtocols } from './protocols.ts'
import { warnOfOrigins } from './warn-of-origins.ts'
import { Retention, type RetentionOptions } from './retention/retention.ts'
import { createSecretBox, KEY_BYTES } from './secret-box.ts'
import { parseSecretKey } from './secret-keys.ts'
import { shareSigner } from './share-signer.ts'
import { handleUncaughtErrors } from './uncaught-errors.ts'
import { version } from './version.ts'
import { workIdentity } from './work-identity.ts'

export interface ServerOptions {
  readonly components: readonly Component[]
  /** The server closes it. */
  readonly store: Store
  readonly host?: string
  /** 0 picks a free one. */
  readonly port?: number
  /** Default: everyone is one local principal. */
  readonly authenticator?: Authenticator
  /** Receives every audit entry. Servers with authentication also write them to the logger. */
  readonly audit?: AuditSink
  /** Serves HTTPS, and gRPC over TLS. The certificate is reloaded when its files change. */
  readonly tls?: TlsOptions
  /** Origins whose pages may use the server from a browser. Default: none. */
  readonly corsOrigins?: readonly string[]
  /** Also pages of localhost, 127.0.0.1 and [::1], at any port. Default: false; `holdfast dev` sets it. */
  readonly corsLoopback?: boolean
  /**
   * Keys that encrypt stored credentials: 32 random bytes each, in hex or base64. The first encrypts, all decrypt. Every node of a
   * shared store needs the same. Default: none, and webhook credentials are rejected; a store in memory gets a random key.
   */
  readonly secretKeys?: readonly string[]
  /** Accepted host names besides loopback names and IP addresses. Default: any if authentication is required. */
  readonly allowedHosts?: readonly string[]
  /** Proxies whose `X-Forwarded-*` headers are trusted: addresses, networks, `loopback` or `private`. Default: none. */
  readonly trustProxy?: readonly string[]
  readonly a2a?: A2aOptions
  /** Somebody starts the process again when it is killed. Nothing depends on it: the console says so. */
  readonly supervised?: boolean
  readonly limits?: Partial<Limits>
  /** Retention periods per component, tenant or principal that override those of `limits`. */
  readonly retention?: RetentionOptions
  /**
   * Redacts events before they are appended to a log, and documents. Every node of a shared store needs the same. Default: nothing.
   */
  readonly redact?: RedactOptions
  readonly logger?: Logger
  readonly clock?: Clock
  readonly ids?: Ids
  /**
   * An uncaught error in a run's code fails the run instead of ending the process. Errors of other code keep Node's behaviour.
   * Default: true.
   */
  readonly handleUncaught?: boolean
}

export interface Server {
  readonly url: string
  readonly service: Service
  /** Serves these from now on. Runs in progress keep the component that they started with. */
  replaceComponents(components: readonly Component[]): void
  /** Drains: finishes or hands over running runs, tells subscribers to reconnect, closes the store. */
  stop(): Promise<void>
}

export async function createServer(options: ServerOptions): Promise<Server> {
  const { store, clock = systemClock, host = '127.0.0.1', port = 0 } = options
  const redactor = redactorOf(undefined, options.redact)
  const { logger: given = silentLogger } = options
  const logger = redactor === undefined ? given : redactingLogger(given, redactor)
  const { supervised = false } = options
  const limits: Limits = { ...defaultLimits, ...options.limits }
  const ids = options.ids ?? systemIds(clock)
  const registry = new Registry(options.components)
  refuseAnyHost(options.a2a)
  const certificate = options.tls && (await CertificateFiles.open(options.tls, logger))
  const asked = options.authenticator ?? (await openAuthenticator({}))
  const audit = new Audit(clock, [
    ...(asked.scheme === 'none' ? [] : [loggedAudit(logger)]),
    ...(options.audit === undefined ? [] : [options.audit]),
  ])
  const secrets = secretsFor(options)
  const shares = new ShareLinks({ store, clock, ids, limits, signer: shareSigner(store, secrets) })
  const authenticator = auditedAuthenticator(sharedAuthenticator(asked, shares), audit)
  const credentials = new CredentialWatch(authenticator, clock)
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
      eventLoop: () => loop.health(),
      ...(redactor !== undefined && { redactor }),
      ...workIdentity(store),
    },
    audit,
  )
  const streams = new Streams(limits, clock)
  const auth = authenticator.scheme
  const proxies = new TrustedProxies(options.trustProxy ?? [])
  const rate = new RequestRate(limits, auth !== 'none', clock)
  const { grpc, a2a } = await openGrpcBinding(
    { ...options.a2a, ...(secrets !== undefined && { secrets }) },
    {
      service,
      ids,
      authenticator,
      proxies,
      rate,
      logger,
      version,
      host,
      url: () => urlOf(http),
      ...(certificate !== undefined && { certificate }),
    },
  )
  const mounts = new Mounts(
    nativeProtocol(service, streams, version, agentOsHealth(new Date(clock.now()).toISOString())),
    mountedProtocols({ service, streams, logger, ids, auth, version, store, supervised, a2a }),
  )
  const cors: Cors = {
    origins: options.corsOrigins ?? [],
    loopback: options.corsLoopback ?? false,
    onRefused: warnOfOrigins(logger),
  }
  const pages = { authenticator, cors, allowedHosts: options.allowedHosts }
  const app = createApp({
    mounts,
    authenticator,
    ids,
    logger,
    pages,
    proxies,
    rate,
    stallMs: limits.subscriberStallTimeoutMs,
  })
  const http = createHttpServer({ app, mounts, limits, certificate })
  limitConnections(http, limits)
  const logins = new AddressLimit({ perAddressMax: limits.loginsPerAddressMax, totalMax: limits.loginsMax })
  const closeIdle = closerOfIdle(http)
  http.on('upgrade', createUpgradeListener({ mounts, authenticator, logger, pages, proxies, logins, rate }))
  try {
    await listen(http, port, host)
  } catch (cause) {
    streams.closeAll('not listening')
    await grpc?.close()
    await service.drain()
    throw cause
  }
  const loop = new EventLoopMonitor({ loopBlockedMs: limits.loopBlockedMs, logger })
  const ignoreUncaught = options.handleUncaught === false ? undefined : handleUncaughtErrors()
  service.begin()
  const opening = new AbortController()
  const pushes = afterwards(opening.signal, () =>
    openPushes({
      service,
      clock,
      ids,
      logger,
      shared: store.capabilities.shared,
      options: a2a,
    }),
  )
  const retention = new Retention(store, limits, clock, logger, options.retention)
  const warming = setTimeout(() => void mounts.loadAll().catch(() => {}), WARM_MS) // the request that needs it gets the error
  warming.unref()
  let stopping: Promise<void> | undefined
  return {
    url: urlOf(http),
    service,
    replaceComponents: (components) => registry.replace(components),
    stop: () =>
      (stopping ??= shutDown(http, service, {
        closeIdle,
        streams,
        mounts,
        warming,
        opening,
        retention,
        pushes,
        grpc,
        certificate,
        store,
        loop,
      }).finally(ignoreUncaught)),
  }
}

/** Without a configured address a card names the requested host, so any caller could get any host signed. */
function refuseAnyHost({ signer, url }: A2aOptions = {}): void {
  if (signer === undefined || url !== undefined) return
  throw new HoldfastError('invalid_request', 'a2a.signer needs a2a.url: the address that signed cards name')
}

function secretsFor({ secretKeys = [], store }: ServerOptions): SecretBox | undefined {
  if (secretKeys.length > 0) return createSecretBox(secretKeys.map(parseSecretKey))
  if (store.capabilities.durable) return undefined
  return createSecretBox([process.getBuiltinModule('node:crypto').randomBytes(KEY_BYTES)])
}

interface ServerShutdown {
  readonly closeIdle: () => void
  readonly streams: Streams
  readonly mounts: Mounts
  readonly warming: NodeJS.Timeout
  readonly retention: Retention
  /** Aborts work that was deferred until after startup. */
  readonly opening: AbortController
  readonly pushes: Promise<Pushes | undefined>
  readonly grpc: GrpcServer | undefined
  readonly certificate: CertificateFiles | undefined
  readonly store: Store
  readonly loop: EventLoopMonitor
}

/** Keeps responding until all runs are finished or handed over, if only to reject new work. */
async function shutDown(
  http: HttpServer,
  service: Service,
  { closeIdle, streams, mounts, warming, opening, retention, pushes, grpc, certificate, store, loop }: ServerShutdown,
): Promise<void> {
  clearTimeout(warming)
  certificate?.close()
  await retention.stop()
  opening.abort()
  await (await pushes)?.stop()
  await service.drain()
  const closed = Promise.all([new Promise((resolve) => http.close(resolve)), grpc?.close()])
  streams.closeAll('draining')
  mounts.close('draining')
  closeIdle()
  // Repeat, because a connection may become idle at any time.
  const idle = setInterval(closeIdle, 20)
  const forced = setTimeout(() => http.closeAllConnections(), CLOSE_MS)
  await closed
  clearInterval(idle)
  clearTimeout(forced)
  await store.close()
  await loop.stop()
}

/** Delay before the remaining protocols are loaded, so that the first requests are not slowed down. */
const WARM_MS = 1000

/** Defers work until after startup. Resolves to undefined if the server stops first. */
function afterwards<Result>(stopped: AbortSignal, open: () => Promise<Result>): Promise<Result | undefined> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(open()), WARM_MS)
    timer.unref()
    stopped.addEventListener('abort', () => (clearTimeout(timer), resolve(undefined)), { once: true })
  })
}

/** Time limit for sending the last bytes of open responses. */
const CLOSE_MS = 2000

function listen(http: HttpServer, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    http.once('error', reject)
    http.listen(port, host, LISTEN_BACKLOG, resolve)
  })
}
