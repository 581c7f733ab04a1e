/** CORS: pages of other origins are let in where the operator has named their origin. */
import type { IncomingMessage, ServerResponse } from 'node:http'

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
