/** The mount point of a server: splits the path of a request into the mount point and the path below it. */
import { HoldfastError } from '../../core/model/errors.ts'
import type { HttpRequest } from '../exchange.ts'
import type { Peer } from '../guards/trusted-proxies.ts'

export interface Target {
  /** Path below the mount point. */
  readonly path: string
  readonly query: URLSearchParams
  /** Path of the mount point as clients see it, without a slash at its end; empty at the root. */
  readonly base: string
}

/** A request whose router may have removed the mount point. Express and Connect keep the original. */
interface RoutedRequest extends Pick<HttpRequest, 'url'> {
  readonly baseUrl?: unknown
  readonly originalUrl?: unknown
  /** Set for a web `Request`: its router leaves no trace of a removed prefix. */
  readonly isMaybeStripped?: boolean
}

const BASE_CHARS_MAX = 500

/** Throws `invalid_request` unless it is a path such as `/api/agents`; empty and `/` are the root. */
export function toBasePath(text = ''): string {
  const base = text.replace(/\/$/, '')
  if (base.length <= BASE_CHARS_MAX && /^(\/(?!\.\.?(?:\/|$))[\w.~!$&'()*+,;=:@%-]+)*$/.test(base)) return base
  throw new HoldfastError('invalid_request', `basePath: ${JSON.stringify(text)} is not a path such as /api/agents`)
}

/** Undefined if the request is for something outside of the base path. Does not normalize: each path has exactly one spelling. */
export function locate(request: RoutedRequest, peer: Peer, basePath: string): Target | undefined {
  const { path, search } = split(request.url ?? '/')
  const taken = strippedPrefix(request, path)
  const forwarded = peer.prefix ?? ''
  const inner = below(basePath, taken + path)
  if (inner !== undefined && (basePath !== '' || taken === ''))
    return { path: inner, query: new URLSearchParams(search), base: forwarded + basePath }
  if (taken === '' && forwarded === '' && request.isMaybeStripped !== true) return undefined
  // The router in front has stripped the mount point.
  const base = taken === '' ? forwarded || basePath : forwarded + taken
  return { path, query: new URLSearchParams(search), base }
}

/** Whether the path belongs to the host application: without a base path, the server leaves it the root. */
export function isHostsRoot({ path, base }: Target): boolean {
  return path === '/' && base === ''
}

function split(url: string): { readonly path: string; readonly search: string } {
  // Clients that treat the server as a proxy send an absolute URL.
  const target = url.replace(/^https?:\/\/[^/?]*/i, '')
  const start = target.indexOf('?')
  return start < 0 ? { path: target, search: '' } : { path: target.slice(0, start), search: target.slice(start + 1) }
}

function below(base: string, path: string): string | undefined {
  if (base === '') return path
  if (path === base) return '/'
  return path.startsWith(base) && path[base.length] === '/' ? path.slice(base.length) : undefined
}

/** The removed prefix: Express reports it, Connect only the original URL. */
function strippedPrefix({ baseUrl, originalUrl }: RoutedRequest, path: string): string {
  if (typeof baseUrl === 'string') return baseUrl
  if (typeof originalUrl !== 'string') return ''
  const before = split(originalUrl).path
  if (before.endsWith(path)) return before.slice(0, before.length - path.length)
  return path === '/' ? before : ''
}
