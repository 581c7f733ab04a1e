/** Handles one request: finds the route, authenticates the caller, calls the handler, and renders errors in the protocol's format. */
import type { Ids } from '../../core/ports/clock.ts'
import { HoldfastError } from '../../core/model/errors.ts'
import type { Logger } from '../../core/ports/logger.ts'
import type { Authenticator, Credential, Principal } from '../../core/model/principal.ts'
import { SHARE_PREFIX } from '../../core/access/share-links.ts'
import { paceRequests } from '../../core/runtime/share-event-loop.ts'
import { isHostsRoot, locate, type Target } from './base-path.ts'
import { bearerIn } from '../request/bearer.ts'
import { toClientError } from '../response/client-error.ts'
import { respondCors } from '../guards/cors.ts'
import { discardRest } from '../request/discard.ts'
import type { HttpRequest, HttpResponse } from '../exchange.ts'
import { type PagePolicy, refuseForeignPages } from '../guards/foreign-pages.ts'
import { hostRequestOf } from '../request/host-request.ts'
import { logFailure } from '../response/log-failure.ts'
import type { Mounts } from './mounts.ts'
import type { RequestRate } from '../guards/request-rate.ts'
import { respondError, setRetryAfter } from '../response/respond.ts'
import type { Call, Match, Protocol, Route } from './route.ts'
import type { Peer, TrustedProxies } from '../guards/trusted-proxies.ts'

export interface AppOptions {
  readonly mounts: Mounts
  /** As `toBasePath` returned it. */
  readonly basePath: string
  readonly authenticator: Authenticator
  readonly ids: Ids
  readonly logger: Logger
  readonly pages: PagePolicy
  readonly proxies: TrustedProxies
  readonly rate: RequestRate
  /** Disconnect a client that reads nothing of its response for this long. */
  readonly stallMs: number
}

/** `unclaimed`: called instead if no protocol owns the path. The response is untouched then. */
export type App = (request: HttpRequest, response: HttpResponse, unclaimed?: () => void) => void

export function createApp(options: AppOptions): App {
  return (request, response, unclaimed) => void serveInTurn(request, response, options, unclaimed)
}

async function serveInTurn(
  request: HttpRequest,
  response: HttpResponse,
  options: AppOptions,
  unclaimed: (() => void) | undefined,
): Promise<void> {
  const nextTick = paceRequests()
  if (nextTick !== undefined) await nextTick
  if (!response.destroyed) await serveRequest(request, response, options, unclaimed)
}

async function serveRequest(
  request: HttpRequest,
  response: HttpResponse,
  options: AppOptions,
  unclaimed: (() => void) | undefined,
): Promise<void> {
  const { mounts, basePath } = options
  let protocol = mounts.first
  try {
    const peer = options.proxies.peerOf(request)
    const target = locate(request, peer, basePath)
    if (unclaimed !== undefined && (target === undefined || isHostsRoot(target) || !mounts.owns(target.path)))
      return unclaimed()
    if (respondCors(request, response, options.pages.cors)) return
    if (target === undefined)
      throw new HoldfastError('not_found', `no route for ${loggedPath(request)}: the server is mounted at ${basePath}`)
    const match = await mounts.match(request.method ?? 'GET', target.path)
    protocol = match.protocol ?? protocol
    refuseForeignPages(request, peer, options.pages)
    await call(match, request, response, target, peer, options)
  } catch (cause) {
    await fail(cause, request, response, protocol, options)
  }
}

async function call(
  match: Match,
  request: HttpRequest,
  response: HttpResponse,
  target: Target,
  peer: Peer,
  { authenticator, rate, logger, stallMs }: AppOptions,
): Promise<void> {
  rate.admitAddress(peer.address, credentialIn(request, target, authenticator))
  if (match.kind === 'none') throw new HoldfastError('not_found', `no route for ${target.path.slice(0, 200)}`)
  if (match.kind === 'wrong method') {
    response.setHeader('allow', match.allow.join(', '))
    throw new HoldfastError('method_not_allowed', `${request.method} is not allowed for ${target.path.slice(0, 200)}`, {
      details: { allow: match.allow },
    })
  }
  const { route, params } = match
  const principal =
    route.public === true ? { id: 'public' } : await principalOf(request, peer, target, route, authenticator, rate)
  if (principal.share !== undefined) response.setHeader('referrer-policy', 'no-referrer') // the URL may contain the share link
  const disconnected = new AbortController()
  response.once('close', () => disconnected.abort())
  const { query, base } = target
  const handled: Call = { request, peer, response, params, query, base, principal, signal: disconnected.signal, logger }
  await route.handle(handled)
  cutIfNotTaken(response, stallMs)
}

async function principalOf(
  request: HttpRequest,
  peer: Peer,
  target: Target,
  route: Route,
  authenticator: Authenticator,
  rate: RequestRate,
): Promise<Principal> {
  const presented = credential(request, peer, target, route)
  const credentials = authenticator.scheme === 'host' ? { ...presented, request: hostRequestOf(request) } : presented
  const principal = await rate.authenticate(presented.from, credentialIn(request, target, authenticator), () =>
    authenticator.authenticate(credentials),
  )
  rate.admit(principal)
  return principal
}

/** The credential of a request, to distinguish known callers. A host application identifies its users by cookies. */
function credentialIn(request: HttpRequest, target: Target, { scheme }: Authenticator): string | undefined {
  const bearer = bearerIn(request.headers.authorization)
  return shareIn(target, bearer) ?? bearer ?? (scheme === 'host' ? request.headers.cookie : undefined)
}

/** Applies the stall timeout of streams to ordinary responses. */
function cutIfNotTaken(response: HttpResponse, stallMs: number): void {
  if (!response.writableEnded || response.writableFinished) return
  response.setTimeout(stallMs, () => response.destroy())
}

/** A share link comes as a bearer token, or as a query parameter from an EventSource, which cannot set headers. */
function credential(request: HttpRequest, { address: from }: Peer, target: Target, route: Route): Credential {
  const bearer = bearerIn(request.headers.authorization)
  const known = from === undefined ? {} : { from }
  const share = shareIn(target, bearer)
  if (share === undefined) return { ...known, ...(bearer !== undefined && { bearer }) }
  if (route.shareable === true) return { ...known, share }
  throw new HoldfastError('unauthenticated', 'a share link is not accepted here: it only gives access to one run')
}

function shareIn({ query }: Target, bearer: string | undefined): string | undefined {
  return [query.get('share') ?? undefined, bearer].find((token) => token?.startsWith(SHARE_PREFIX))
}

async function fail(
  cause: unknown,
  request: HttpRequest,
  response: HttpResponse,
  protocol: Protocol,
  options: AppOptions,
): Promise<void> {
  const requestId = newId(options.ids)
  const error = toClientError(cause, requestId)
  const fields = { requestId, method: request.method, path: loggedPath(request) }
  const isDisconnected = response.destroyed || (request.destroyed && !request.complete)
  if (isDisconnected) options.logger.debug({ ...fields, code: error.code }, error.message)
  else logFailure(options.logger, error, fields)
  if (isDisconnected || response.headersSent) return void response.destroy()
  try {
    const rendered = protocol.error(error, requestId)
    setRetryAfter(response, error)
    if (error.code === 'unauthenticated') response.setHeader('www-authenticate', 'Bearer')
    await discardRest(request, response)
    respondError(response, rendered)
  } catch (defect) {
    options.logger.error({ ...fields, err: defect }, 'failed to render the error response')
    response.writeHead(500).end()
  }
}

/** Omits the query, which may contain a share link. */
function loggedPath({ url = '' }: HttpRequest): string {
  return url.split('?', 1)[0]!.slice(0, 500)
}

/** Falls back to a random UUID, because `Ids` itself may be what failed. */
function newId(ids: Ids): string {
  try {
    return ids.unique()
  } catch {
    return crypto.randomUUID()
  }
}
