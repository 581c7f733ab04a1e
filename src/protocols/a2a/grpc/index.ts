/** The gRPC binding: a server of its own, with packages that only its users need. */
import { type AddressInfo, createServer, type Server } from 'node:net'
import type * as Grpc from '@grpc/grpc-js'
import { GRPC_PACKAGES, loadGrpc } from '../../../a2a/grpc/packages.ts'
import { current, legacy } from '../../../a2a/grpc/schema.ts'
import type { Limits } from '../../../core/model/limits.ts'
import type { Logger } from '../../../core/ports/logger.ts'
import { optionalPackage } from '../../../core/runtime/optional-package.ts'
import type { Authenticator } from '../../../core/model/principal.ts'
import { limitConnections, LISTEN_BACKLOG } from '../../../http/limit-connections.ts'
import type { RequestRate } from '../../../http/request-rate.ts'
import type { TrustedProxies } from '../../../http/trusted-proxies.ts'
import { Agents, type AgentsOptions } from '../requests/agents.ts'
import { Admission } from './admission.ts'
import { Calls } from './calls.ts'

export interface GrpcOptions extends Omit<AgentsOptions, 'auth'> {
  readonly authenticator: Authenticator
  readonly proxies: TrustedProxies
  /** Of all requests, also those over HTTP. */
  readonly rate: RequestRate
  readonly logger: Logger
  readonly host: string
  /** 0 takes a free one. */
  readonly port: number
  /** Where the server is reached over HTTP. */
  readonly url: () => string
  /** For TLS. */
  readonly certificate?: CertificateSource
}

/** A certificate and its key, which may be replaced. */
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
  /** Lets open calls end, for a while. */
  close(): Promise<void>
}

/** How long open calls may take to end. */
const CLOSE_MS = 2000

/** Calls that one connection may have open. */
const CALLS_PER_CONNECTION_MAX = 100

/** What HTTP/2 may hold for one connection, in MB: windows of its calls, and answers that wait for its client. */
const SESSION_MEGABYTES_MAX = 64

/** A connection is closed when it is this old and its calls are over: clients spread over nodes again. */
const CONNECTION_AGE_MS = 3_600_000

const CONNECTION_IDLE_MS = 300_000

export async function openGrpc(options: GrpcOptions): Promise<GrpcServer> {
  const { authenticator, proxies, rate, host, port } = options
  const { grpc, define } = await optionalPackage('gRPC', GRPC_PACKAGES, loadGrpc)
  const { limits } = options.service
  const services = new Map<string, Calls>()
  const admission = new Admission({
    grpc,
    authenticator,
    proxies,
    rate,
    messageTimeoutMs: limits.messageTimeoutMs,
    statusOf: (path, cause) => services.get(path.split('/')[1]!)!.statusOf(cause),
  })
  const server = new grpc.Server({
    'grpc.max_receive_message_length': limits.bodyBytesMax,
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
    server.addService(undecoded(definition.service), calls.handlers())
  }
  const listener = createListener(server, credentialsOf(grpc, options.certificate), limits)
  await listen(listener, port, host)
  return { port: (listener.address() as AddressInfo).port, close: () => close(server, listener) }
}

/** Requests are decoded when it is known who sent them, and counted before. */
function undecoded(service: Grpc.ServiceDefinition): Grpc.ServiceDefinition {
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
        queueMicrotask(() => listener(identityOf(certificate.current))) // it listens to its own news only after this call
        certificate.onChange((pair) => listener(identityOf(pair)))
      },
      // The source is closed with the server, and tells nobody anything from then on.
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

/** Not the server's own: only so can its connections be limited. */
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
