/** Opens A2A over gRPC if configured. It must listen first, because agent cards contain its address. */
import type { GrpcOptions, GrpcServer } from '../../protocols/a2a/grpc/index.ts'
import type { A2aOptions } from '../../protocols/a2a/index.ts'

export interface OpenedGrpc {
  readonly grpc?: GrpcServer
  /** Includes the bound address. */
  readonly a2a: A2aOptions
}

export async function openGrpcBinding(
  a2a: A2aOptions,
  deps: Omit<GrpcOptions, 'options' | 'port'>,
): Promise<OpenedGrpc> {
  const { grpcPort, grpcUrl, url } = a2a
  if (grpcPort === undefined) return { a2a }
  try {
    const { openGrpc } = await import('../../protocols/a2a/grpc/index.ts')
    const grpc = await openGrpc({ ...deps, port: grpcPort, options: a2a })
    const host = url === undefined ? printableHost(deps.host) : new URL(url).hostname
    // Without a scheme, clients assume that loopback addresses have no TLS.
    const scheme = deps.certificate === undefined ? '' : 'https://'
    return { grpc, a2a: { ...a2a, grpcUrl: grpcUrl ?? `${scheme}${host}:${grpc.port}` } }
  } catch (cause) {
    await deps.service.drain()
    throw cause
  }
}

function printableHost(host: string): string {
  if (host === '0.0.0.0' || host === '::') return 'localhost'
  return host.includes(':') ? `[${host}]` : host
}
