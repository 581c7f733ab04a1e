/**
 * Server-side statement and lock timeouts. A client-side timeout is not enough: a backend whose client has gone keeps working
 * and waiting, and every reconnect adds another until the server refuses connections.
 */
import type { ClientConfig } from 'pg'
import type { Pg } from './database.ts'

export interface TimeBounds {
  readonly statementMs: number
  readonly lockMs: number
  /**
   * `session`: set on the connection. `transaction`: the address goes through a transaction-pooling proxy that drops such
   * settings, so every statement runs in a transaction that sets them first.
   */
  readonly scope: 'session' | 'transaction'
}

/** Longer than Holdfast itself holds any lock. Waiting for a foreign lock is retried. */
const LOCK_MS = 5000

/** Finds out whether a connection keeps session settings. */
export async function scopeOfBounds(pg: Pg, config: ClientConfig, statementMs: number): Promise<TimeBounds> {
  const bounds = { statementMs, lockMs: Math.min(statementMs, LOCK_MS) }
  const client = new pg.default.Client({ ...config, ...sessionSettings({ ...bounds, scope: 'session' }) })
  client.on('error', () => {}) // the pending call rejects with it
  try {
    await client.connect()
    const { rows } = await client.query<{ timeout: string }>(`SELECT current_setting('statement_timeout') AS timeout`)
    return { ...bounds, scope: rows[0]!.timeout === '0' ? 'transaction' : 'session' }
  } catch (cause) {
    if (!/unsupported startup parameter/.test(String(cause))) throw cause
    return { ...bounds, scope: 'transaction' }
  } finally {
    client.end().catch(() => {}) // it may never have connected
  }
}

export function sessionSettings({ scope, statementMs, lockMs }: TimeBounds): ClientConfig {
  return scope === 'session' ? { statement_timeout: statementMs, lock_timeout: lockMs } : {}
}

/** The opening statements of such a transaction. */
export function beginWith({ statementMs, lockMs }: TimeBounds): string {
  return `BEGIN; SET LOCAL statement_timeout = ${statementMs}; SET LOCAL lock_timeout = ${lockMs}`
}
