/** Pages of other sites: refused where they could do harm, let in where the operator has named their origin. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { HoldfastError } from '../core/errors.ts'
import type { Authenticator } from '../core/principal.ts'

export interface Cors {
  /** Origins whose pages may use this server, such as `https://app.example`. None where the list is empty. */
  readonly origins: readonly string[]
}

/** Lets pages of allowed origins read the answer. True when the request was only the browser's question whether it may ask. */
export function answerCors(request: IncomingMessage, response: ServerResponse, { origins }: Cors): boolean {
  const { origin } = request.headers
  if (origins.length === 0) return false
  response.setHeader('vary', 'Origin')
  if (origin === undefined || !origins.includes(origin)) return false
  response.setHeader('access-control-allow-origin', origin)
  response.setHeader('access-control-allow-credentials', 'true')
  response.setHeader('access-control-expose-headers', EXPOSED)
  if (request.method !== 'OPTIONS' || request.headers['access-control-request-method'] === undefined) return false
  response.setHeader('access-control-allow-methods', 'GET, HEAD, POST, PUT, PATCH, DELETE')
  response.setHeader('access-control-allow-headers', request.headers['access-control-request-headers'] ?? '*')
  if (request.headers['access-control-request-private-network'] !== undefined)
    response.setHeader('access-control-allow-private-network', 'true')
  response.setHeader('access-control-max-age', '600')
  response.writeHead(204).end()
  return true
}

const EXPOSED = 'Location, Retry-After, Holdfast-Run, Idempotency-Replayed, WWW-Authenticate, X-Request-Id'

/**
 * A server without authentication trusts whoever reaches it, and a browser lets any page reach it. So a request must be
 * addressed to this machine by a loopback name (no rebound DNS name), and a change must not come from another site's page.
 */
export function refuseForeignPages(
  request: IncomingMessage,
  authenticator: Authenticator,
  { origins }: Cors,
  changes: boolean = request.method !== 'GET' && request.method !== 'HEAD',
): void {
  const { origin, host = '' } = request.headers
  if (origin !== undefined && changes && URL.parse(origin)?.host !== host && !origins.includes(origin)) {
    throw new HoldfastError('forbidden', `pages of ${origin.slice(0, 200)} may not change anything here`)
  }
  if (authenticator.scheme !== 'none' || !isLoopback(request.socket.localAddress) || LOOPBACK_HOST.test(host)) return
  throw new HoldfastError(
    'forbidden',
    `without authentication this server answers to localhost only, not to ${JSON.stringify(host.slice(0, 200))}`,
  )
}

const LOOPBACK_HOST = /^(localhost|127(\.\d{1,3}){3}|\[::1\]|[\w.-]*\.localhost)(:\d+)?$|^$/i

function isLoopback(address: string | undefined): boolean {
  return address === undefined || address === '::1' || /^(::ffff:)?127\./.test(address)
}
