/** Connects to NATS servers, with an error that says what to check. */
import type { NatsConnection } from '@nats-io/transport-node'
import { HoldfastError, detailOf } from '../../../core/model/errors.ts'

export type Nats = typeof import('@nats-io/transport-node')

export interface ConnectOptions {
  readonly servers: readonly string[]
  readonly user?: string
  readonly pass?: string
  readonly token?: string
  readonly tls?: boolean
}

/** At most a third of a lease: if one server is silent, another may respond. */
const CONNECT_MS = 3000
const FIRST_CONNECTS_MAX = 3
/** Pings detect a dead connection. */
const PING_EVERY_MS = 5000

/** Retries the first connect if no server responds in time, as on a busy machine. */
export async function connectTo(nats: Nats, options: ConnectOptions): Promise<NatsConnection> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await connectOnce(nats, options)
    } catch (cause) {
      if (attempt === FIRST_CONNECTS_MAX || !(cause instanceof nats.TimeoutError)) throw cause
    }
  }
}

function connectOnce(nats: Nats, { servers, user, pass, token, tls }: ConnectOptions): Promise<NatsConnection> {
  return nats.connect({
    servers: [...servers],
    name: 'holdfast',
    timeout: CONNECT_MS,
    // By default the client would retry the server that it just left first.
    reconnectToServer: (pool) => pool.reduce((first, next) => (next.lastConnect < first.lastConnect ? next : first)),
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
  const message = `cannot connect to the NATS store at ${where}: ${detailOf(cause)}. Check the address and that a server listens there`
  return new HoldfastError('unavailable', message, { cause, retryAfterMs: 1000 })
}
