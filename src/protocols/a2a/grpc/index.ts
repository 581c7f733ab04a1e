/** The gRPC binding: a server of its own, with packages that only its users need. */
import type * as Grpc from '@grpc/grpc-js'
import { GRPC_PACKAGES, loadGrpc } from '../../../a2a/grpc/packages.ts'
import { current, legacy } from '../../../a2a/grpc/schema.ts'
import type { Logger } from '../../../core/logger.ts'
import { optionalPackage } from '../../../core/optional-package.ts'
import type { Authenticator } from '../../../core/principal.ts'
import { Agents, type AgentsOptions } from '../agents.ts'
import { Calls } from './calls.ts'

export interface GrpcOptions extends Omit<AgentsOptions, 'auth'> {
  readonly authenticator: Authenticator
  readonly logger: Logger
  readonly host: string
  /** 0 takes a free one. */
  readonly port: number
  /** Where the server is reached over HTTP. */
  readonly url: () => string
}

export interface GrpcServer {
  readonly port: number
  /** Lets open calls end, for a while. */
  close(): Promise<void>
}

/** How long open calls may take to end. */
const CLOSE_MS = 2000

export async function openGrpc(options: GrpcOptions): Promise<GrpcServer> {
  const { authenticator, host, port } = options
  const { grpc, define } = await optionalPackage('gRPC', GRPC_PACKAGES, loadGrpc)
  const { bodyBytesMax, heartbeatMs } = options.service.limits
  const server = new grpc.Server({
    'grpc.max_receive_message_length': bodyBytesMax,
    'grpc.keepalive_time_ms': heartbeatMs,
    'grpc.max_concurrent_streams': CALLS_PER_CONNECTION_MAX,
  })
  const agents = new Agents({ ...options, auth: authenticator.scheme })
  for (const [version, text] of [['1.0', current] as const, ['0.3', legacy] as const]) {
    const { service, codecs } = define(text)
    server.addService(service, new Calls({ ...options, grpc, agents }, text, version, codecs).handlers())
  }
  const bound = await bind(grpc, server, `${host.includes(':') ? `[${host}]` : host}:${port}`)
  return { port: bound, close: () => close(server) }
}

const CALLS_PER_CONNECTION_MAX = 1000

function bind(grpc: typeof Grpc, server: Grpc.Server, address: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.bindAsync(address, grpc.ServerCredentials.createInsecure(), (error, port) => {
      if (error === null) resolve(port)
      else reject(error)
    })
  })
}

function close(server: Grpc.Server): Promise<void> {
  return new Promise((resolve) => {
    const forced = setTimeout(() => server.forceShutdown(), CLOSE_MS)
    server.tryShutdown(() => {
      clearTimeout(forced)
      resolve()
    })
  })
}
