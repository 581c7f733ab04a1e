/** Shared store on PostgreSQL 15 or later, for any number of nodes. */
import type { Clock } from '../../core/ports/clock.ts'
import { loadPg } from './load-pg.ts'
import type { Store } from '../../core/ports/store.ts'
import { checkSchemaName } from './schema.ts'
import { openingError } from './opening-error.ts'
import { PostgresStore } from './store.ts'

/** Options of `openPostgresStore`. */
export interface OpenPostgresOptions {
  /** `postgres://user:password@host:port/database`. Missing parts come from `PGHOST` and similar variables. */
  readonly url: string
  /**
   * Address of the same database without a proxy, if `url` goes through a transaction-pooling one: LISTEN needs a session.
   * Without it, nodes behind such a proxy notice each other's work only by polling. Default: `url`.
   */
  readonly directUrl?: string
  /** Schema of the tables; created if missing. Default: `holdfast`. */
  readonly schema?: string
  /** Pool size, besides four connections for commits, renewals and hints. Default: 8. */
  readonly connections?: number
  /** Timeout of one statement. Default: 30,000. */
  readonly requestTimeoutMs?: number
  /** How long appends are retried while the server is unreachable, before this node gives up their runs. Default: 60,000. */
  readonly outageTimeoutMs?: number
  /** Replaces the database's clock, for tests. Default: the database's clock. */
  readonly clock?: Clock
}

/** Throws `unavailable` with the address (without its password) if the server is unreachable or refuses. */
export async function openPostgresStore(options: OpenPostgresOptions): Promise<Store> {
  const { url, directUrl = url, schema = 'holdfast', connections = 8, clock } = options
  const { requestTimeoutMs = 30_000, outageTimeoutMs = 60_000 } = options
  const pg = await loadPg()
  const checked = checkSchemaName(schema)
  return PostgresStore.open(pg, {
    url,
    directUrl,
    schema: checked,
    connections,
    requestTimeoutMs,
    outageTimeoutMs,
    now: () => clock?.now() ?? null,
  }).catch((cause: unknown) => {
    throw openingError(pg, url, cause)
  })
}
