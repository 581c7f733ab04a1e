/** The gRPC binding: a separate server, with packages that are loaded only if it is enabled. */
import { type AddressInfo, createServer, type Server } from 'node:net'
import type * as Grpc from '@grpc/grpc-js'
import { GRPC_PACKAGES, loadGrpc } from '../../../a2a/grpc/packages.ts'
import { current, legacy } from '../../../a2a/grpc/schema.ts'
import type { Limits } from '../../../core/model/limits.ts'
import type { Logger } from '../../../core/ports/logger.ts'
import { optionalPackage } from '../../../core/runtime/optional-package.ts'
import type { Authenticator } from '../../../core/model/principal.ts'
import { limitConnections, LISTEN_BACKLOG } from '../../../http/guards/limit-connections.ts'
import type { RequestRate } from '../../../http/guards/request-rate.ts'
import type { TrustedProxies } from '../../../http/guards/trusted-proxies.ts'
import { Agents, type AgentsOptions } from '../requests/agents.ts'
import { GrpcAdmission } from './admission.ts'
import { Calls } from './calls.ts'

export interface GrpcOptions extends Omit<AgentsOptions, 'auth'> {
  readonly authenticator: Authenticator
  readonly proxies: TrustedProxies
  /** Shared with HTTP. */
  readonly rate: RequestRate
  readonly logger: Logger
  readonly host: string
  /** 0 selects a free port. */
  readonly port: number
  /** HTTP address of the server. */
  readonly url: () => string
  /** For TLS. */
  readonly certificate?: CertificateSource
}

/** A certificate and its key, which may be reloaded. */
export interface CertificateSource {
  readonly current: IdentityPair
  onChange(listener: (pair: IdentityPair) => void): void
}

interface IdentityPair {
  readonly cert: Buffer
  readonly key: Buffer
}

export interface GrpcServer {
  readonly port: number
  /** Waits a bounded time for open calls. */
  close(): Promise<void>
}

/** Time limit for open calls at shutdown. */
const CLOSE_MS = 2000

/** Maximum concurrent calls per connection. */
const CALLS_PER_CONNECTION_MAX = 100

/** HTTP/2 memory per connection, in MB: flow-control windows and unsent responses. */
const SESSION_MEGABYTES_MAX = 64

/** Maximum age of a connection without open calls, so that clients rebalance across nodes. */
const CONNECTION_AGE_MS = 3_600_000

const CONNECTION_IDLE_MS = 300_000

export async function openGrpc(options: GrpcOptions): Promise<GrpcServer> {
  const { authenticator, proxies, rate, host, port } = options
  const { grpc, define } = await optionalPackage('gRPC', GRPC_PACKAGES, loadGrpc)
  const { limits } = options.service
  const services = new Map<string, Calls>()
  const admission = new GrpcAdmission({
    grpc,
    authenticator,
    proxies,
    rate,
    grpcMessageTimeoutMs: limits.grpcMessageTimeoutMs,
    statusOf: (path, cause) => services.get(path.split('/')[1]!)!.statusOf(cause),
  })
  const server = new grpc.Server({
    'grpc.max_receive_message_length': limits.maxBodyBytes,
    'grpc.keepalive_time_ms': limits.heartbeatIntervalMs,
    'grpc.max_concurrent_streams': CALLS_PER_CONNECTION_MAX,
    'grpc.max_connection_age_ms': CONNECTION_AGE_MS,
    'grpc.max_connection_idle_ms': CONNECTION_IDLE_MS,
    'grpc-node.max_session_memory': SESSION_MEGABYTES_MAX,
    interceptors: [admission.interceptor],
  })
  const agents = new Agents({ ...options, auth: authenticator.scheme })
  for (const [version, text] of [['1.0', current] as const, ['0.3', legacy] as const]) {
    const definition = define(text)
    const calls = new Calls({ ...options, grpc, agents, admission }, text, version, definition)
    services.set(`${text.package}.A2AService`, calls)
    server.addService(withRawMessages(definition.service), calls.handlers())
  }
  const listener = createListener(server, credentialsOf(grpc, options.certificate), limits)
  await listen(listener, port, host)
  return { port: (listener.address() as AddressInfo).port, close: () => close(server, listener) }
}

/** Leaves requests undecoded until they are authenticated and counted. */
function withRawMessages(service: Grpc.ServiceDefinition): Grpc.ServiceDefinition {
  return Object.fromEntries(
    Object.entries(service).map(([name, method]) => [
      name,
      { ...method, requestDeserialize: (bytes: Buffer) => bytes },
    ]),
  )
}

function credentialsOf(grpc: typeof Grpc, certificate: CertificateSource | undefined): Grpc.ServerCredentials {
  if (certificate === undefined) return grpc.ServerCredentials.createInsecure()
  return grpc.experimental.createCertificateProviderServerCredentials(
    {
      addIdentityCertificateListener(listener) {
        queueMicrotask(() => listener(identityOf(certificate.current))) // the listener is active only after this call returns
        certificate.onChange((pair) => listener(identityOf(pair)))
      },
      // The source is closed together with the server.
      removeIdentityCertificateListener() {},
      addCaCertificateListener() {},
      removeCaCertificateListener() {},
    },
    null,
    false,
  )
}

function identityOf({ cert, key }: IdentityPair): Grpc.experimental.IdentityCertificateUpdate {
  return { certificate: cert, privateKey: key }
}

/** A separate listener, so that connections can be limited. */
function createListener(server: Grpc.Server, credentials: Grpc.ServerCredentials, limits: Limits): Server {
  const injector = server.createConnectionInjector(credentials)
  const listener = createServer()
  limitConnections(listener, limits)
  return listener.on('connection', (socket) => {
    if (!socket.destroyed) injector.injectConnection(socket)
  })
}

function listen(listener: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    listener.once('error', reject)
    listener.listen(port, host, LISTEN_BACKLOG, resolve)
  })
}

function close(server: Grpc.Server, listener: Server): Promise<void> {
  listener.close()
  return new Promise((resolve) => {
    const forced = setTimeout(() => server.forceShutdown(), CLOSE_MS)
    server.tryShutdown(() => {
      clearTimeout(forced)
      resolve()
    })
  })
}
