/** Connection pool with retries. */
import type { ClientConfig, Pool, PoolClient, PoolConfig, QueryConfig, QueryResult, QueryResultRow } from 'pg'
import { detailOf, storeUnavailable } from '../../core/model/errors.ts'
import type { StoreHealth } from '../../core/ports/store.ts'
import { delayUntilAbort } from '../shared/delay.ts'
import { cancelBackend } from './cancel-request.ts'
import { ConnectionsBusyError, failureKind, isSilence, leavesConnection, storeError } from './failures.ts'
import { beginWith, sessionSettings, type TimeBounds } from './time-bounds.ts'

export type Pg = typeof import('pg')

export interface Statement {
  readonly text: string
  readonly values: readonly unknown[]
}

/** `again`: the statement was sent before, and its outcome is unknown. */
export type Repeatable = (again: boolean) => Statement

/** Whether the last attempt to reach the server succeeded, on any connection. */
export class Reachability {
  failure: string | undefined

  health(): StoreHealth {
    return this.failure === undefined ? { ok: true } : { ok: false, reason: this.failure }
  }
}

export interface DatabaseOptions {
  readonly url: string
  readonly reachability: Reachability
  readonly connections: number
  /** Server-side limits of one statement. */
  readonly bounds: TimeBounds
  /** Timeout for opening a connection. Default: 10 seconds. */
  readonly connectMs?: number
}

/** Retry delays: doubled, within these bounds. */
const RETRY_MIN_MS = 20
const RETRY_MAX_MS = 1000
const CONNECT_MS = 10_000
/** Extra time that the client waits beyond the server's own timeout before it drops the connection. */
const GRACE_MS = 2000
/** Error message of the pool when no connection became free; a slow connect has a different message. */
const POOL_TIMEOUT = 'timeout exceeded when trying to connect'
/** Minimum time for an attempt, even if the caller's deadline is near. */
const ATTEMPT_MIN_MS = 500

/** The schema of one store: what each of its parts needs for its statements. */
export interface DatabaseSchema {
  readonly database: Database
  readonly name: string
  /** Null: use the database's clock. */
  readonly now: () => number | null
}

export class Database {
  readonly #pool: Pool
  readonly #reachability: Reachability
  readonly #bounds: TimeBounds
  readonly #closing = new AbortController()

  constructor(pg: Pg, { url, reachability, connections, bounds, connectMs = CONNECT_MS }: DatabaseOptions) {
    this.#reachability = reachability
    this.#bounds = bounds
    const config: PoolConfig = {
      ...connectionConfig(url),
      ...sessionSettings(bounds),
      max: connections,
      query_timeout: bounds.statementMs + GRACE_MS,
      connectionTimeoutMillis: connectMs,
      pipeline: bounds.scope === 'transaction', // BEGIN, statement and COMMIT in one round trip
    }
    this.#pool = new pg.default.Pool(config)
    // An idle connection broke. The pool drops it, and the next statement opens another.
    this.#pool.on('error', ignore)
    // Attached immediately: a connection that the server terminates in the packet that makes it ready fails before it is handed
    // out.
    this.#pool.on('connect', (client) => client.on('error', ignore))
  }

  /** Sends a statement that must not be repeated. If its outcome is unknown, the call rejects with that. */
  once<Row extends QueryResultRow>(text: string, values: readonly unknown[]): Promise<Row[]> {
    return this.repeat<Row>(() => ({ text, values }), 0)
  }

  /** Sends an idempotent statement. */
  query<Row extends QueryResultRow>(text: string, values: readonly unknown[]): Promise<Row[]> {
    return this.repeat<Row>(() => ({ text, values }), PATIENCE_MS)
  }

  /** Sends a statement until it succeeds, is refused, or the time is over. */
  async repeat<Row extends QueryResultRow>(statement: Repeatable, patienceMs: number): Promise<Row[]> {
    const since = performance.now()
    // The caller gets a result within this time, even if the server is silent during the last attempt.
    const boundMs = Math.max(patienceMs, PATIENCE_MS)
    let again = false
    for (let delayMs = RETRY_MIN_MS; ; delayMs = Math.min(delayMs * 2, RETRY_MAX_MS)) {
      if (this.#closing.signal.aborted) throw storeUnavailable('the store is closed')
      try {
        const { text, values } = statement(again)
        const leftMs = boundMs - (performance.now() - since)
        const rows = await this.#send<Row>(text, [...values], leftMs)
        this.#reachability.failure = undefined
        return rows
      } catch (cause) {
        const kind = failureKind(cause)
        if (kind === 'unknown') {
          this.#reachability.failure = detailOf(cause)
          again = true
        }
        const triedMs = performance.now() - since + delayMs
        const givesUp = kind === 'refused' || triedMs > (kind === 'undone' ? boundMs : patienceMs)
        if (givesUp) throw storeError(cause, RETRY_MAX_MS)
        await delayUntilAbort(delayMs, this.#closing.signal)
      }
    }
  }

  /**
   * Keeps a connection on which the server answered, even with an error. Drops a silent one and asks the server to cancel its
   * statement: otherwise every attempt would leave a backend behind.
   */
  async #send<Row extends QueryResultRow>(text: string, values: unknown[], leftMs: number): Promise<Row[]> {
    const client = await this.#connect()
    let isBroken = false
    try {
      const waitMs = Math.min(Math.max(leftMs, ATTEMPT_MIN_MS), this.#bounds.statementMs + GRACE_MS)
      const { rows } = await this.#execute<Row>(client, { text, values, query_timeout: waitMs })
      return rows
    } catch (cause) {
      isBroken = !leavesConnection(cause)
      if (isSilence(cause)) cancelBackend(client)
      throw cause
    } finally {
      client.release(isBroken)
    }
  }

  async #connect(): Promise<PoolClient> {
    try {
      return await this.#pool.connect()
    } catch (cause) {
      if (!String(cause).includes(POOL_TIMEOUT)) throw cause
      throw new ConnectionsBusyError(`all ${this.#pool.options.max} connections were busy`, { cause })
    }
  }

  async #execute<Row extends QueryResultRow>(client: PoolClient, query: BoundedQuery): Promise<QueryResult<Row>> {
    if (this.#bounds.scope === 'session') return client.query<Row>(query)
    const [began, done, committed] = await Promise.allSettled([
      client.query(beginWith(this.#bounds)),
      client.query<Row>(query),
      client.query('COMMIT'), // rolls back if the statement failed
    ])
    for (const step of [done, began, committed]) if (step.status === 'rejected') throw step.reason
    return (done as PromiseFulfilledResult<QueryResult<Row>>).value
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#pool.end()
  }
}

function ignore(): void {}

/** The types of `pg` omit the timeout of a single query. */
type BoundedQuery = QueryConfig & { readonly query_timeout: number }

/** How long an idempotent statement is retried before the caller gets the error. */
const PATIENCE_MS = 10_000

export function connectionConfig(url: string): ClientConfig {
  return {
    connectionString: url,
    application_name: 'holdfast',
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
  }
}
