/**
 * How long the server itself lets a statement work or wait for a lock. The client's own bound is not enough: a backend whose client has
 * gone works and waits on, and each reconnect adds another until the server takes no more connections.
 */
import type { ClientConfig } from 'pg'
import type { Pg } from './database.ts'

export interface TimeBounds {
  readonly statementMs: number
  readonly lockMs: number
  /**
   * `session`: they are settings of the connection. `transaction`: the address leads through a proxy that pools transactions and does
   * not pass such settings on, so each statement is a transaction that begins with them.
   */
  readonly scope: 'session' | 'transaction'
}

/** Longer than any lock that Holdfast itself takes; a lock of somebody else's is waited for in turns. */
const LOCK_MS = 5000

/** Asks a connection whether it takes its bounds as settings. */
export async function scopeOfBounds(pg: Pg, config: ClientConfig, statementMs: number): Promise<TimeBounds> {
  const bounds = { statementMs, lockMs: Math.min(statementMs, LOCK_MS) }
  const client = new pg.default.Client({ ...config, ...sessionSettings({ ...bounds, scope: 'session' }) })
  client.on('error', () => {}) // told to who waits for it
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

/** What a transaction of its own begins with. */
export function beginWith({ statementMs, lockMs }: TimeBounds): string {
  return `BEGIN; SET LOCAL statement_timeout = ${statementMs}; SET LOCAL lock_timeout = ${lockMs}`
}
