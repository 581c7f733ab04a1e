/** Handles WebSocket upgrades: finds the protocol and rejects pages of other sites. */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { HoldfastError, isHoldfastError } from '../../core/model/errors.ts'
import type { Logger } from '../../core/ports/logger.ts'
import type { Authenticator, Credential, Principal } from '../../core/model/principal.ts'
import { paceRequests } from '../../core/runtime/share-event-loop.ts'
import type { AddressLimit } from '../guards/address-limit.ts'
import { locate } from '../routing/base-path.ts'
import { bearerIn } from '../request/bearer.ts'
import { toClientError } from '../response/client-error.ts'
import { type PagePolicy, refuseForeignPages } from '../guards/foreign-pages.ts'
import { hostRequestOf } from '../request/host-request.ts'
import type { Mounts } from '../routing/mounts.ts'
import { retrySeconds } from '../response/respond.ts'
import type { RequestRate } from '../guards/request-rate.ts'
import type { Peer, TrustedProxies } from '../guards/trusted-proxies.ts'

/** A connection to be upgraded. The protocol authenticates it after the upgrade. */
export interface UpgradeCall {
  readonly request: IncomingMessage
  /** Parameters of its path. */
  readonly params: Readonly<Record<string, string>>
  readonly socket: Duplex
  readonly head: Buffer
  readonly authenticate: (credential: Credential) => Promise<Principal>
  /** Counts one request; throws `rate_limited` if the principal exceeds its rate. */
  readonly admit: (principal: Principal) => void
  /** Authentication is required. */
  readonly guarded: boolean
}

/** By then some pending connections have authenticated or closed. */
const RETRY_MS = 1000

export interface Upgrade {
  readonly path: string
  handle(call: UpgradeCall): Promise<void> | void
}

export interface UpgradeOptions {
  readonly mounts: Mounts
  /** As `toBasePath` returned it. */
  readonly basePath: string
  readonly authenticator: Authenticator
  readonly logger: Logger
  readonly pages: PagePolicy
  readonly proxies: TrustedProxies
  /** Connections that have not authenticated yet. */
  readonly logins: AddressLimit
  readonly rate: RequestRate
}

/** The options that `isUpgrade` needs. */
export type UpgradePlace = Pick<UpgradeOptions, 'mounts' | 'basePath' | 'proxies'>

/** Whether a request is for a WebSocket of this server. Other upgrades, such as to HTTP/2, are ignored. */
export function isUpgrade(request: IncomingMessage, place: UpgradePlace): boolean {
  if (request.headers.upgrade?.toLowerCase() !== 'websocket') return false
  const path = pathOf(request, place)
  return path !== undefined && place.mounts.hasUpgrade(path)
}

function pathOf(request: IncomingMessage, { basePath, proxies }: UpgradePlace): string | undefined {
  return locate(request, proxies.peerOf(request), basePath)?.path
}

export type UpgradeListener = (request: IncomingMessage, socket: Duplex, head: Buffer) => void

export function createUpgradeListener(options: UpgradeOptions): UpgradeListener {
  return (request, socket, head) => void serveUpgrade(request, socket, head, options)
}

async function serveUpgrade(
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  options: UpgradeOptions,
): Promise<void> {
  const { mounts, authenticator, pages, proxies, logger, logins, rate } = options
  const path = pathOf(request, options)
  socket.on('error', () => {}) // the client disconnected; `close` follows
  try {
    const found = path === undefined ? undefined : await mounts.upgrade(path)
    await paceRequests() // not earlier: all upgrades that waited for the protocol to load continue in the same tick
    if (socket.destroyed) return
    if (found === undefined)
      throw new HoldfastError(
        'not_found',
        'no WebSocket is served at this path: AgentOS, OpenAI and AI SDK serve one each, see their pages in docs/protocols',
      )
    // A WebSocket can have side effects, and browsers send no preflight for it.
    const peer = proxies.peerOf(request)
    refuseForeignPages(request, peer, pages, true)
    rate.admitAddress(peer.address)
    const known = authenticator.scheme === 'host' ? await knownToHost(request, peer, options) : undefined
    const guarded = authenticator.scheme !== 'none' && known === undefined
    const release = guarded ? logins.acquire(peer.address) : () => {}
    if (release === undefined)
      throw new HoldfastError('rate_limited', 'too many connections are waiting to authenticate', {
        retryAfterMs: RETRY_MS,
      })
    socket.once('close', release)
    const authenticate = async (credential: Credential): Promise<Principal> => {
      if (known !== undefined) return known
      const { address: from } = peer
      const principal = await rate.authenticate(from, credential.bearer, () =>
        authenticator.authenticate({ ...credential, ...(from !== undefined && { from }) }),
      )
      release()
      return principal
    }
    const admit = (principal: Principal): void => rate.admit(principal)
    const { upgrade, params } = found
    await upgrade.handle({ request, params, socket, head, authenticate, admit, guarded })
  } catch (cause) {
    const errorId = crypto.randomUUID()
    const error = toClientError(cause, errorId)
    if (error.status >= 500)
      logger.error({ errorId, path: path?.slice(0, 500), err: cause }, 'WebSocket upgrade failed')
    const { STATUS_CODES } = process.getBuiltinModule('node:http') // an import would slow the start down
    const later = error.retryAfterMs === undefined ? '' : `retry-after: ${retrySeconds(error.retryAfterMs)}\r\n`
    socket.end(
      `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status] ?? 'Refused'}\r\n${later}x-request-id: ${errorId}\r\nconnection: close\r\n\r\n`,
    )
  }
}

/** The principal of an upgrade, if the host application knows it. Others may still authenticate with their first message. */
async function knownToHost(
  request: IncomingMessage,
  { address: from }: Peer,
  { authenticator, rate }: UpgradeOptions,
): Promise<Principal | undefined> {
  const { authorization, cookie } = request.headers
  const credential = bearerIn(authorization) ?? cookie
  const authenticate = (): Promise<Principal> =>
    authenticator.authenticate({ request: hostRequestOf(request), ...(from !== undefined && { from }) })
  try {
    // No credential was sent, so this is not a login attempt: do not rate-limit it as one.
    return await (credential === undefined ? authenticate() : rate.authenticate(from, credential, authenticate))
  } catch (cause) {
    if (isHoldfastError(cause, 'unauthenticated')) return undefined
    throw cause
  }
}
