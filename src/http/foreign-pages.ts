/** Refuses requests that a browser sends for a page of another site, where they could do harm. */
import type { IncomingMessage } from 'node:http'
import { HoldfastError } from '../core/model/errors.ts'
import type { Authenticator } from '../core/model/principal.ts'
import { allowsOrigin, type Cors } from './cors.ts'
import type { Peer } from './trusted-proxies.ts'

export interface PagePolicy {
  readonly cors: Cors
  readonly authenticator: Pick<Authenticator, 'scheme'>
  /** Names that the server answers to besides loopback names and IP addresses. Absent: all of them where a credential is needed. */
  readonly allowedHosts?: readonly string[] | undefined
}

/** `changes`: the request could change something. */
export function refuseForeignPages(
  request: IncomingMessage,
  peer: Peer,
  policy: PagePolicy,
  changes: boolean = request.method !== 'GET' && request.method !== 'HEAD',
): void {
  if (changes) refuseForeignChange(request, peer, policy.cors)
  refuseForeignName(request, peer, policy)
}

function refuseForeignChange({ headers }: IncomingMessage, { protocol, host }: Peer, cors: Cors): void {
  const { origin, 'sec-fetch-site': site } = headers
  if (origin !== undefined && allowsOrigin(cors, origin)) return
  if (origin !== undefined && origin !== originOf(protocol, host))
    throw new HoldfastError(
      'forbidden',
      `pages of ${origin.slice(0, 200)} may not change anything here: --cors-origins names other origins, --trust-proxy a proxy that ends TLS`,
    )
  // A browser says this of every request, also of those to which it adds no Origin.
  if (site === 'cross-site' || site === 'same-site')
    throw new HoldfastError('forbidden', 'pages of other origins may not change anything here')
}

/** Of the server, as a browser writes it. */
function originOf(protocol: string, host: string): string | undefined {
  return URL.parse(`${protocol}://${host}`)?.origin
}

/**
 * A server without authentication trusts whoever reaches it, and a browser lets any page reach it by a DNS name that the page's owner
 * has pointed here. So it answers to names that nobody else can own: loopback names, and IP addresses where other machines reach it.
 */
function refuseForeignName(
  { socket }: IncomingMessage,
  { host }: Peer,
  { authenticator, allowedHosts }: PagePolicy,
): void {
  if (authenticator.scheme !== 'none' && allowedHosts === undefined) return
  const name = host.replace(/:\d+$/, '').toLowerCase()
  if (LOOPBACK_NAME.test(name) || allowedHosts?.includes(name)) return
  const isLocal = authenticator.scheme === 'none' && isLoopback(socket.localAddress)
  if (!isLocal && IP_ADDRESS.test(name)) return
  throw new HoldfastError(
    'forbidden',
    `this server does not answer to ${JSON.stringify(host.slice(0, 200))}: --allowed-hosts names the hosts that it answers to`,
  )
}

/** A client that names no host is no browser. */
const LOOPBACK_NAME = /^(localhost|127(\.\d{1,3}){3}|\[::1\]|[\w.-]*\.localhost)$|^$/
const IP_ADDRESS = /^(\d{1,3}(\.\d{1,3}){3}|\[[0-9a-f:.]+\])$/

function isLoopback(address: string | undefined): boolean {
  return address === undefined || address === '::1' || /^(::ffff:)?127\./.test(address)
}
