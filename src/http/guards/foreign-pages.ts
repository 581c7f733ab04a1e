/** CSRF and DNS-rebinding protection: rejects harmful requests from pages of other sites. */
import { HoldfastError } from '../../core/model/errors.ts'
import type { Authenticator } from '../../core/model/principal.ts'
import { allowsOrigin, type Cors } from './cors.ts'
import type { HttpRequest } from '../exchange.ts'
import type { Peer } from './trusted-proxies.ts'

export interface PagePolicy {
  readonly cors: Cors
  readonly authenticator: Pick<Authenticator, 'scheme'>
  /** Accepted host names besides loopback names and IP addresses. Default: all if authentication is required. */
  readonly allowedHosts?: readonly string[] | undefined
}

/** `changes`: the request may have side effects. */
export function refuseForeignPages(
  request: HttpRequest,
  peer: Peer,
  policy: PagePolicy,
  changes: boolean = request.method !== 'GET' && request.method !== 'HEAD',
): void {
  if (changes) refuseForeignChange(request, peer, policy.cors)
  refuseForeignName(request, peer, policy)
}

function refuseForeignChange({ headers }: HttpRequest, { protocol, host }: Peer, cors: Cors): void {
  const { origin, 'sec-fetch-site': site } = headers
  if (origin !== undefined && allowsOrigin(cors, origin)) return
  if (origin !== undefined && origin !== originOf(protocol, host))
    throw new HoldfastError(
      'forbidden',
      `pages of ${origin.slice(0, 200)} may not change anything: allow the origin with --cors-origins, or set --trust-proxy if a proxy terminates TLS`,
    )
  // Browsers send Sec-Fetch-Site also on requests without an Origin.
  if (site === 'cross-site' || site === 'same-site')
    throw new HoldfastError(
      'forbidden',
      "cross-origin requests may not change anything: allow the page's origin with --cors-origins",
    )
}

/** The server's own origin, in the form that browsers send. */
function originOf(protocol: string, host: string): string | undefined {
  return URL.parse(`${protocol}://${host}`)?.origin
}

/**
 * DNS rebinding: a page can point its own DNS name at this server, and without authentication the server would trust the request.
 * So it accepts only names that nobody else can own: loopback names, and IP addresses if it listens on a reachable address.
 */
function refuseForeignName({ socket }: HttpRequest, { host }: Peer, { authenticator, allowedHosts }: PagePolicy): void {
  if (authenticator.scheme !== 'none' && allowedHosts === undefined) return
  const name = host.replace(/:\d+$/, '').toLowerCase()
  if (LOOPBACK_NAME.test(name) || allowedHosts?.includes(name)) return
  const isLocal = authenticator.scheme === 'none' && isLoopback(socket.localAddress)
  if (!isLocal && IP_ADDRESS.test(name)) return
  throw new HoldfastError(
    'forbidden',
    `this server does not accept requests for host ${JSON.stringify(host.slice(0, 200))}: add it to --allowed-hosts, or to the option allowedHosts`,
  )
}

/** Includes the empty host: browsers always send one. */
const LOOPBACK_NAME = /^(localhost|127(\.\d{1,3}){3}|\[::1\]|[\w.-]*\.localhost)$|^$/
const IP_ADDRESS = /^(\d{1,3}(\.\d{1,3}){3}|\[[0-9a-f:.]+\])$/

function isLoopback(address: string | undefined): boolean {
  return address === undefined || address === '::1' || /^(::ffff:)?127\./.test(address)
}
