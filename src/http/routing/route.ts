/** Route tables of protocols. */
import type { HoldfastError } from '../../core/model/errors.ts'
import type { Logger } from '../../core/ports/logger.ts'
import type { Principal } from '../../core/model/principal.ts'
import type { HttpRequest, HttpResponse } from '../exchange.ts'
import type { Peer } from '../guards/trusted-proxies.ts'
import type { Upgrade } from '../socket/upgrade.ts'

/** A routed and authenticated request. */
export interface Call {
  readonly request: HttpRequest
  readonly peer: Peer
  readonly response: HttpResponse
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
  /** Path of the mount point, for links; empty at the root. */
  readonly base: string
  readonly principal: Principal
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal
  /** For details that the client must not see. */
  readonly logger: Logger
}

export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Such as `/runs/{id}/events`. A last segment such as `{rest*}` stands for one or more, which are not decoded. */
  readonly path: string
  /** Passthrough to an upstream at the root takes precedence. */
  readonly yields?: boolean
  /** No authentication. */
  readonly public?: boolean
  /** Also accepts share links for the run in its path. */
  readonly shareable?: boolean
  handle(call: Call): Promise<void> | void
}

export interface ErrorResponse {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly contentType: string
  readonly body: string
}

/** A protocol's routes, and how it renders errors before a stream starts. */
export interface Protocol {
  readonly name: string
  readonly routes: readonly Route[]
  /** WebSocket routes. */
  readonly upgrades?: readonly Upgrade[]
  /** Closes connections other than streams, such as WebSockets. */
  close?(reason: string): void
  error(error: HoldfastError, requestId: string): ErrorResponse
}

export type Match =
  | {
      readonly kind: 'found'
      readonly protocol: Protocol
      readonly route: Route
      readonly params: Readonly<Record<string, string>>
    }
  | { readonly kind: 'wrong method'; readonly protocol: Protocol; readonly allow: readonly string[] }
  /** `protocol`: the owner of the path prefix, if any. */
  | { readonly kind: 'none'; readonly protocol?: Protocol }

interface Entry {
  readonly protocol: Protocol
  readonly route: Route
  readonly segments: readonly string[]
}

export class RouteTable {
  readonly #entries = new Map<number, Entry[]>()
  /** Routes with `{rest*}`. */
  readonly #open: Entry[] = []

  constructor(protocols: readonly Protocol[]) {
    for (const protocol of protocols) {
      for (const route of protocol.routes) {
        const segments = route.path.split('/').slice(1)
        if (segments.at(-1)!.endsWith('*}')) {
          this.#open.push({ protocol, route, segments })
          continue
        }
        const entries = this.#entries.get(segments.length) ?? []
        this.#entries.set(segments.length, [...entries, { protocol, route, segments }])
      }
    }
  }

  match(method: string, path: string): Match {
    const segments = path.split('/').slice(1)
    const fitting = [
      ...(this.#entries.get(segments.length) ?? []).flatMap((entry) => {
        const params = bind(entry.segments, segments)
        return params === undefined ? [] : [{ ...entry, params }]
      }),
      ...this.#open.flatMap((entry) => {
        const params = bindOpen(entry.segments, segments)
        return params === undefined ? [] : [{ ...entry, params }]
      }),
    ]
    const routeMethod = method === 'HEAD' ? 'GET' : method
    const found = fitting.find(({ route }) => route.method === routeMethod)
    if (found !== undefined) return { kind: 'found', ...found }
    if (fitting[0] === undefined) return { kind: 'none' }
    return { kind: 'wrong method', protocol: fitting[0].protocol, allow: allowed(fitting) }
  }
}

/** GET implies HEAD. */
function allowed(entries: readonly Entry[]): string[] {
  const methods = entries.map(({ route }) => route.method)
  return [...new Set(methods.flatMap((method) => (method === 'GET' ? [method, 'HEAD'] : [method])))].toSorted()
}

/** The parameters of a path that matches a pattern such as `/ai/{component}/chat`. */
export function bindPath(pattern: string, path: string): Readonly<Record<string, string>> | undefined {
  const [segments, given] = [pattern.split('/').slice(1), path.split('/').slice(1)]
  if (segments.at(-1)!.endsWith('*}')) return bindOpen(segments, given)
  return segments.length === given.length ? bind(segments, given) : undefined
}

function bind(pattern: readonly string[], segments: readonly string[]): Record<string, string> | undefined {
  const params: Record<string, string> = {}
  for (const [position, segment] of pattern.entries()) {
    const value = segments[position]!
    if (!segment.startsWith('{')) {
      if (segment !== value) return undefined
      continue
    }
    const decoded = decode(value)
    if (decoded === undefined || decoded === '') return undefined
    params[segment.slice(1, -1)] = decoded
  }
  return params
}

/** The last parameter gets the rest of the path unchanged. */
function bindOpen(pattern: readonly string[], segments: readonly string[]): Record<string, string> | undefined {
  const before = pattern.length - 1
  if (segments.length < pattern.length) return undefined
  const params = bind(pattern.slice(0, before), segments.slice(0, before))
  return params && { ...params, [pattern[before]!.slice(1, -2)]: segments.slice(before).join('/') }
}

function decode(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment)
  } catch {
    return undefined
  }
}
