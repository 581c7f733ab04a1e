/** Creates the HTTP or HTTPS listener. */
import type { RequestListener, Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Limits } from '../core/model/limits.ts'
import { isUpgrade, type UpgradePlace } from '../http/socket/upgrade.ts'
import type { CertificateFiles } from './certificate-files.ts'

export interface HttpServerOptions {
  readonly app: RequestListener
  readonly upgrades: UpgradePlace
  readonly limits: Limits
  readonly certificate?: CertificateFiles | undefined
}

export function createHttpServer({ app, upgrades, limits, certificate }: HttpServerOptions): Server {
  const options = {
    maxHeaderSize: limits.maxHeaderBytes,
    keepAliveTimeout: 65_000,
    requestTimeout: 120_000,
    shouldUpgradeCallback: (request: Parameters<typeof isUpgrade>[0]) => isUpgrade(request, upgrades),
  }
  // An import would load every lazy export of the module, which takes 30 ms.
  if (certificate === undefined) return process.getBuiltinModule('node:http').createServer(options, app)
  const https = process.getBuiltinModule('node:https')
  const server = https.createServer({ ...options, ...certificate.current, minVersion: 'TLSv1.2' }, app)
  // Applies to new connections only.
  certificate.onChange((pair) => server.setSecureContext({ ...pair, minVersion: 'TLSv1.2' }))
  return server
}

export function isSecure(server: Server): boolean {
  return 'setSecureContext' in server
}

export function urlOf(server: Server): string {
  const { address, port, family } = server.address() as AddressInfo
  const hostname =
    address === '0.0.0.0' || address === '::' ? 'localhost' : family === 'IPv6' ? `[${address}]` : address
  return `${isSecure(server) ? 'https' : 'http'}://${hostname}:${port}`
}
