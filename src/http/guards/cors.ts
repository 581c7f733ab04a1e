/** CORS: allows pages of the origins that the operator configured. */
import type { HttpRequest, HttpResponse } from '../exchange.ts'

export interface Cors {
  /** Allowed origins, such as `https://app.example`. */
  readonly origins: readonly string[]
  /** Also allow loopback origins, at any port. */
  readonly loopback?: boolean
  /** Called with each rejected origin. */
  readonly onRefused?: (origin: string) => void
}

export function allowsOrigin({ origins, loopback = false }: Cors, origin: string): boolean {
  return origins.includes(origin) || (loopback && LOOPBACK_ORIGIN.test(origin))
}

const LOOPBACK_ORIGIN = /^https?:\/\/(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/

/** Sets the CORS headers for allowed origins. Returns true if the request was a preflight and has been answered. */
export function respondCors(request: HttpRequest, response: HttpResponse, cors: Cors): boolean {
  const { origin } = request.headers
  if (cors.origins.length > 0 || cors.loopback === true) response.setHeader('vary', 'Origin')
  if (origin === undefined) return false
  if (!allowsOrigin(cors, origin)) {
    if (isForeign(request)) cors.onRefused?.(origin)
    return false
  }
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

/** Browsers send preflights, and an Origin on safe methods, only for cross-origin requests. */
function isForeign({ method, headers }: HttpRequest): boolean {
  return method === 'GET' || (method === 'OPTIONS' && headers['access-control-request-method'] !== undefined)
}

const EXPOSED = [
  'Location',
  'Retry-After',
  'Holdfast-Replay-Length',
  'Holdfast-Run',
  'Holdfast-Stream',
  'Idempotency-Replayed',
  'WWW-Authenticate',
  'X-Request-Id',
  'X-Workflow-Run-Id',
  'X-Workflow-Stream-Tail-Index',
].join(', ')
