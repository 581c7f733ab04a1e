/** Proxies requests that no protocol serves to an upstream. Off unless an upstream is configured for it. */
import type { Duplex } from 'node:stream'
import { permits, requirePermission } from '../../core/access/scopes.ts'
import { HoldfastError } from '../../core/model/errors.ts'
import type { Principal } from '../../core/model/principal.ts'
import type { ComponentSource, Passthrough } from '../../core/ports/component-source.ts'
import type { Service } from '../../core/service.ts'
import { OpenCall } from '../../http/response/open-call.ts'
import { toProblemResponse } from '../../http/response/problem.ts'
import type { Call, Protocol, Route } from '../../http/routing/route.ts'
import { bearerIn } from '../../http/request/bearer.ts'
import type { Upgrade, UpgradeCall } from '../../http/socket/upgrade.ts'
import { type FetchedJson, fetchJson } from './fetch-json.ts'
import { passSocket } from './pass-socket.ts'
import { passThrough } from './pass-through.ts'
import { requestHeaders } from './passed-headers.ts'
import { targetUrl } from './target-url.ts'

export const UPSTREAM_PATH = '/upstream'
/** Route of requests and WebSockets. */
export const UPSTREAM_ROUTE = `${UPSTREAM_PATH}/{name}/{path*}`

interface PassedUpstream extends Passthrough {
  readonly name: string
  readonly protocol: string
}

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

/** Upstreams configured for passthrough. Throws if two of one protocol claim the root. */
export function passedUpstreams(sources: readonly ComponentSource[]): readonly PassedUpstream[] {
  const passed = sources.flatMap(({ name, protocol, passthrough }) =>
    passthrough === undefined ? [] : [{ name, protocol, ...passthrough }],
  )
  for (const { name, protocol, atRoot } of passed) {
    const other = passed.find((each) => each.atRoot && each.protocol === protocol && each.name !== name)
    if (atRoot && other !== undefined)
      throw new HoldfastError('invalid_request', `${other.name} and ${name} cannot both be passed through at the root`)
  }
  return passed
}

/** `/upstream/{name}/…` */
export function upstreamProtocol(service: Service, upstreams: readonly PassedUpstream[]): Protocol {
  const handle = async (call: Call): Promise<void> => {
    await pass(service, call, named(upstreams, call.params['name']))
  }
  const routes = METHODS.map((method): Route => ({ method, path: UPSTREAM_ROUTE, handle }))
  const sockets = new Set<Duplex>()
  const upgrade: Upgrade = {
    path: UPSTREAM_ROUTE,
    async handle(call) {
      sockets.add(call.socket)
      call.socket.once('close', () => sockets.delete(call.socket))
      await acceptSocket(service, call, named(upstreams, call.params['name']))
    },
  }
  return {
    name: 'upstream',
    routes,
    upgrades: [upgrade],
    error: toProblemResponse,
    close() {
      for (const socket of sockets) socket.destroy()
    },
  }
}

function named(upstreams: readonly PassedUpstream[], name: string | undefined): PassedUpstream {
  const found = upstreams.find((each) => each.name === name)
  if (found === undefined) throw new HoldfastError('not_found', 'no such upstream')
  return found
}

/** Serves paths that this server does not. `openAiPath`: path of the OpenAI protocol. */
export function rootProtocol(
  service: Service,
  upstreams: readonly PassedUpstream[],
  openAiPath: string | undefined,
): Protocol | undefined {
  const atRoot = upstreams.filter((each) => each.atRoot)
  const routes = atRoot.flatMap((upstream) => {
    const prefix = upstream.protocol === 'openai' ? openAiPath : ''
    if (prefix === undefined || upstream.protocol === 'a2a') return []
    const handle = (call: Call): Promise<void> => {
      if (RUNS.get(upstream.protocol)?.test(call.params['path'] ?? '') === true)
        throw new HoldfastError('not_found', 'runs are not passed through: start them here')
      return pass(service, call, upstream)
    }
    return METHODS.map((method): Route => ({ method, path: `${prefix}/{path*}`, handle }))
  })
  // The more specific route first.
  const ordered = routes.toSorted((one, other) => other.path.length - one.path.length)
  return ordered.length === 0 ? undefined : { name: 'upstream', routes: ordered, error: toProblemResponse }
}

/** Sessions of an upstream, for those who show them with ours. */
interface PassedSessions {
  readonly name: string
  isOpenTo(principal: Principal): boolean
  list(call: Call, query: URLSearchParams): Promise<FetchedJson>
  pass(call: Call, path: string): Promise<void>
}

/** The sessions of the AgentOS at the root; undefined if there is none. */
export function passedSessions(service: Service, upstreams: readonly PassedUpstream[]): PassedSessions | undefined {
  const upstream = upstreams.find(({ atRoot, protocol }) => atRoot && protocol === 'agentos')
  if (upstream === undefined) return undefined
  return {
    name: upstream.name,
    isOpenTo: (principal) => permits(principal, actionOf(upstream, 'GET')),
    list: (call, query) => list(service, call, upstream, query),
    pass: (call, path) => pass(service, { ...call, params: { ...call.params, path } }, upstream),
  }
}

async function list(
  service: Service,
  call: Call,
  upstream: PassedUpstream,
  query: URLSearchParams,
): Promise<FetchedJson> {
  const path = 'sessions'
  let answer: FetchedJson | undefined
  await service.pass(call.principal, { upstream: upstream.name, method: 'GET', path }, async (onResponse) => {
    // No other header: one such as `if-none-match` is about the merged list.
    const { authorization } = call.request.headers
    const headers = requestHeaders({ authorization }, await upstream.headers?.())
    answer = await fetchJson(targetUrl(upstream.url, path, query), headers, call.signal)
    onResponse(answer.status)
  })
  return answer!
}

/** Would be executed without a log. */
const RUNS: ReadonlyMap<string, RegExp> = new Map([
  ['agentos', /^(agents|teams|workflows)\/[^/]+\/runs(\/|$)/],
  ['openai', /^(chat|completions|responses|conversations)(\/|$)/],
])

function pass(service: Service, call: Call, upstream: PassedUpstream): Promise<void> {
  const { principal, params, request } = call
  const about = { upstream: upstream.name, method: request.method ?? '', path: params['path'] ?? '' }
  return service.pass(principal, about, async (onResponse) => {
    requirePass(principal, upstream, request.method)
    const open = new OpenCall(call, service)
    const noteResponse = (status: number): void => {
      onResponse(status)
      // Only 401 tells that the credential was refused: a route may be public.
      if (upstream.headers === undefined && status === 401) service.credentialRefused(principal)
    }
    try {
      const { subscriberStallTimeoutMs: stallMs } = service.limits
      await passThrough(call, open, upstream, { stallMs, onResponse: noteResponse })
    } finally {
      open.release()
    }
  })
}

/** Authenticates a WebSocket before the upstream is contacted. */
async function acceptSocket(service: Service, call: UpgradeCall, upstream: PassedUpstream): Promise<void> {
  const { request, socket, params } = call
  const bearer = bearerIn(request.headers.authorization)
  const principal = await call.authenticate(bearer === undefined ? {} : { bearer })
  call.admit(principal)
  const path = params['path'] ?? ''
  await service.pass(principal, { upstream: upstream.name, method: 'WEBSOCKET', path }, async (onResponse) => {
    requirePass(principal, upstream, undefined)
    const { searchParams } = new URL(request.url ?? '', 'http://localhost')
    const url = targetUrl(upstream.url, path, searchParams)
    const gone = new AbortController()
    socket.once('close', () => gone.abort())
    const open = new OpenCall({ principal, signal: gone.signal }, service)
    try {
      const target = { name: upstream.name, url, own: await upstream.headers?.() }
      await passSocket(call, target, open.signal, onResponse)
    } catch (cause) {
      open.assertCurrent()
      throw cause
    } finally {
      open.release()
    }
  })
}

/** With the upstream's configured key, only administrators may pass requests. A caller's own credential is checked by the upstream. */
function requirePass(principal: Principal, upstream: PassedUpstream, method: string | undefined): void {
  requirePermission(principal, actionOf(upstream, method))
}

function actionOf(upstream: PassedUpstream, method: string | undefined): 'admin' | 'read' | 'edit' {
  if (upstream.headers !== undefined) return 'admin'
  return method === 'GET' || method === 'HEAD' ? 'read' : 'edit'
}
