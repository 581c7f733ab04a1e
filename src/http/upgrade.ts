/** Requests to turn a connection into a WebSocket: find who serves it, and refuse pages of other sites. */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { HoldfastError, isHoldfastError } from '../core/model/errors.ts'
import type { Logger } from '../core/ports/logger.ts'
import type { Authenticator, Credential, Principal } from '../core/model/principal.ts'
import type { AddressLimit } from './address-limit.ts'
import { type PagePolicy, refuseForeignPages } from './foreign-pages.ts'
import type { Mounts } from './mounts.ts'
import { retrySeconds } from './respond.ts'
import type { RequestRate } from './request-rate.ts'
import type { TrustedProxies } from './trusted-proxies.ts'

/** A connection that is to be upgraded. Who it is from is found out in the protocol's own way. */
export interface UpgradeCall {
  readonly request: IncomingMessage
  readonly socket: Duplex
  readonly head: Buffer
  readonly authenticate: (credential: Credential) => Promise<Principal>
  /** Counts one request; throws `rate_limited` when the principal sends them too fast. */
  readonly admit: (principal: Principal) => void
  /** A credential is needed. */
  readonly guarded: boolean
}

/** By then some of those that wait have authenticated, or were closed. */
const RETRY_MS = 1000

export interface Upgrade {
  readonly path: string
  handle(call: UpgradeCall): Promise<void> | void
}

export interface UpgradeOptions {
  readonly mounts: Mounts
  readonly authenticator: Authenticator
  readonly logger: Logger
  readonly pages: PagePolicy
  readonly proxies: TrustedProxies
  /** Connections that have not authenticated yet. */
  readonly logins: AddressLimit
  readonly rate: RequestRate
}

/** Whether a request is one for a WebSocket of ours: others, such as for HTTP/2, are answered as if they did not ask. */
export function isUpgrade({ url = '/', headers }: IncomingMessage, mounts: Mounts): boolean {
  return headers.upgrade?.toLowerCase() === 'websocket' && mounts.hasUpgrade(pathOf(url))
}

function pathOf(url: string): string {
  return url.split('?')[0]!
}

export type UpgradeListener = (request: IncomingMessage, socket: Duplex, head: Buffer) => void

export function createUpgradeListener(options: UpgradeOptions): UpgradeListener {
  return (request, socket, head) => void serveUpgrade(request, socket, head, options)
}

async function serveUpgrade(
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  { mounts, authenticator, pages, proxies, logger, logins, rate }: UpgradeOptions,
): Promise<void> {
  socket.on('error', () => {}) // the client is gone, which `close` tells whoever has the socket by then
  try {
    const found = await mounts.upgrade(pathOf(request.url ?? '/'))
    if (found === undefined) throw new HoldfastError('not_found', 'no WebSocket is served here')
    // Whoever has one can change things, and browsers ask nobody before they open one.
    const peer = proxies.peerOf(request)
    refuseForeignPages(request, peer, pages, true)
    rate.admitAddress(peer.address)
    const guarded = authenticator.scheme !== 'none'
    const release = guarded ? logins.acquire(peer.address) : () => {}
    if (release === undefined)
      throw new HoldfastError('rate_limited', 'too many connections wait to authenticate', { retryAfterMs: RETRY_MS })
    socket.once('close', release)
    const authenticate = async (credential: Credential): Promise<Principal> => {
      const { address: from } = peer
      const principal = await rate.authenticate(from, credential.bearer, () =>
        authenticator.authenticate({ ...credential, ...(from !== undefined && { from }) }),
      )
      release()
      return principal
    }
    const admit = (principal: Principal): void => rate.admit(principal)
    await found.handle({ request, socket, head, authenticate, admit, guarded })
  } catch (cause) {
    const error = isHoldfastError(cause) ? cause : new HoldfastError('internal', 'internal error', { cause })
    if (error.status >= 500)
      logger.error({ path: pathOf(request.url ?? '/').slice(0, 500), err: cause }, 'an upgrade failed')
    const { STATUS_CODES } = process.getBuiltinModule('node:http') // an import would slow the start down
    const later = error.retryAfterMs === undefined ? '' : `retry-after: ${retrySeconds(error.retryAfterMs)}\r\n`
    socket.end(
      `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status] ?? 'Refused'}\r\n${later}connection: close\r\n\r\n`,
    )
  }
}
