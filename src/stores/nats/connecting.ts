/** How the store connects to NATS servers, and what is said when it cannot. */
import type { NatsConnection } from '@nats-io/transport-node'
import { HoldfastError, detailOf } from '../../core/errors.ts'

export type Nats = typeof import('@nats-io/transport-node')

export interface ConnectOptions {
  readonly servers: readonly string[]
  readonly user?: string
  readonly pass?: string
  readonly token?: string
  readonly tls?: boolean
}

const CONNECT_MS = 10_000
/** A connection that died without a word is noticed by asking. */
const PING_EVERY_MS = 5000

export function connectTo(nats: Nats, { servers, user, pass, token, tls }: ConnectOptions): Promise<NatsConnection> {
  return nats.connect({
    servers: [...servers],
    name: 'holdfast',
    timeout: CONNECT_MS,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 100,
    reconnectJitter: 100,
    pingInterval: PING_EVERY_MS,
    maxPingOut: 2,
    ...(user !== undefined && { user }),
    ...(pass !== undefined && { pass }),
    ...(token !== undefined && { token }),
    ...(tls && { tls: {} }),
  })
}

export function connectionError({ servers }: ConnectOptions, cause: unknown): HoldfastError {
  const where = `${servers.join(', ')} (--store, HOLDFAST_STORE)`
  const message = `cannot connect to the NATS store at ${where}: ${detailOf(cause)}. Check the address, and that a server listens there`
  return new HoldfastError('unavailable', message, { cause, retryAfterMs: 1000 })
}
