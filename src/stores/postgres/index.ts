/** The shared store on PostgreSQL 15 or later, for any number of nodes. */
import type { Clock } from '../../core/ports/clock.ts'
import { optionalPackage } from '../../core/runtime/optional-package.ts'
import type { Store } from '../../core/ports/store.ts'
import { checkSchemaName } from './schema.ts'
import { openingError } from './opening-error.ts'
import { PostgresStore } from './store.ts'

export interface OpenPostgresOptions {
  /** `postgres://user:password@host:port/database`; what it leaves out is taken from `PGHOST` and the like. */
  readonly url: string
  /**
   * The same database without a proxy, where `url` leads through one that pools transactions: LISTEN needs a session. Without it
   * nodes behind such a proxy hear of each other's work only when they look.
   */
  readonly directUrl?: string
  /** Schema of the tables; created if missing. Default: `holdfast`. */
  readonly schema?: string
  /** Connections for everything but commits, renewals and hints, which have four. Default: 8. */
  readonly connections?: number
  /** How long one statement may take. Default: 30,000. */
  readonly requestTimeoutMs?: number
  /** How long appends are tried while the server cannot be reached, before their runs are given up here. Default: 60,000. */
  readonly outageTimeoutMs?: number
  /** Instead of the database's clock, for tests. */
  readonly clock?: Clock
}

/** Throws `unavailable` with the address, without its password, where the server cannot be reached or refuses. */
export async function openPostgresStore(options: OpenPostgresOptions): Promise<Store> {
  const { url, directUrl = url, schema = 'holdfast', connections = 8, clock } = options
  const { requestTimeoutMs = 30_000, outageTimeoutMs = 60_000 } = options
  const pg = await optionalPackage('the PostgreSQL store', 'pg', () => import('pg'))
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
