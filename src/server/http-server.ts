/** The listener for HTTP, with TLS where it has a certificate. */
import type { RequestListener, Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Limits } from '../core/model/limits.ts'
import type { Mounts } from '../http/mounts.ts'
import { isUpgrade } from '../http/upgrade.ts'
import type { CertificateFiles } from './certificate-files.ts'

export interface HttpServerOptions {
  readonly app: RequestListener
  readonly mounts: Mounts
  readonly limits: Limits
  readonly certificate?: CertificateFiles | undefined
}

export function createHttpServer({ app, mounts, limits, certificate }: HttpServerOptions): Server {
  const options = {
    maxHeaderSize: limits.headerBytesMax,
    keepAliveTimeout: 65_000,
    requestTimeout: 120_000,
    shouldUpgradeCallback: (request: Parameters<typeof isUpgrade>[0]) => isUpgrade(request, mounts),
  }
  // Not imported: that would read every export of the module, and load what a server has no use for, for thirty milliseconds.
  if (certificate === undefined) return process.getBuiltinModule('node:http').createServer(options, app)
  const https = process.getBuiltinModule('node:https')
  const server = https.createServer({ ...options, ...certificate.current, minVersion: 'TLSv1.2' }, app)
  // Connections that are open keep theirs; new ones get the new one.
  certificate.onChange((pair) => server.setSecureContext({ ...pair, minVersion: 'TLSv1.2' }))
  return server
}

export function isSecure(server: Server): boolean {
  return 'setSecureContext' in server
}

export function urlOf(server: Server): string {
  const { address, port, family } = server.address() as AddressInfo
  const shown = address === '0.0.0.0' || address === '::' ? 'localhost' : family === 'IPv6' ? `[${address}]` : address
  return `${isSecure(server) ? 'https' : 'http'}://${shown}:${port}`
}
