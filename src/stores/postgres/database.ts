/** Connections to the server, and the rule by which a statement is sent again. */
import type { ClientConfig, Pool, PoolClient, PoolConfig, QueryConfig, QueryResult, QueryResultRow } from 'pg'
import { detailOf, storeUnavailable } from '../../core/model/errors.ts'
import type { StoreHealth } from '../../core/ports/store.ts'
import { pause } from '../shared/pause.ts'
import { cancelBackend } from './cancel-request.ts'
import { failureKind, isSilence, leavesConnection, storeError } from './failures.ts'
import { beginWith, sessionSettings, type TimeBounds } from './time-bounds.ts'

export type Pg = typeof import('pg')

export interface Statement {
  readonly text: string
  readonly values: readonly unknown[]
}

/** `again`: it was sent before, and whether it was done is not known. */
export type Repeatable = (again: boolean) => Statement

/** Whether the server could be reached at the last attempt, by whichever connection that was. */
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
  /** How long one statement may take, by the server's own measure. */
  readonly bounds: TimeBounds
  /** How long a connection may take to be made. Default: 10 seconds. */
  readonly connectMs?: number
}

/** Delays between attempts: doubled, within these bounds. */
const RETRY_MIN_MS = 20
const RETRY_MAX_MS = 1000
const CONNECT_MS = 10_000
/** How much longer than the server's bound its answer is waited for, before the connection is given up. */
const GRACE_MS = 2000
/** What an attempt is given at least, where the time of who waits is nearly over. */
const ATTEMPT_MIN_MS = 500

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
      pipeline: bounds.scope === 'transaction', // begin, statement and commit are one round trip
    }
    this.#pool = new pg.default.Pool(config)
    // An idle connection broke, as idle ones do; the pool forgets it, and the next statement opens another.
    this.#pool.on('error', ignore)
    // From its first moment: one that is terminated in the packet that makes it ready fails before anybody has it.
    this.#pool.on('connect', (client) => client.on('error', ignore))
  }

  /** What may not be done twice: when it is not known whether it was done, that is what the caller is told. */
  once<Row extends QueryResultRow>(text: string, values: readonly unknown[]): Promise<Row[]> {
    return this.repeat<Row>(() => ({ text, values }), 0)
  }

  /** What does the same when it is done twice. */
  query<Row extends QueryResultRow>(text: string, values: readonly unknown[]): Promise<Row[]> {
    return this.repeat<Row>(() => ({ text, values }), PATIENCE_MS)
  }

  /** Sends a statement until it is answered, or until it is refused, or for so long. */
  async repeat<Row extends QueryResultRow>(statement: Repeatable, patienceMs: number): Promise<Row[]> {
    const since = performance.now()
    // Who waits is told within this time, whatever the server does with the last attempt.
    const boundMs = Math.max(patienceMs, PATIENCE_MS)
    let again = false
    for (let delay = RETRY_MIN_MS; ; delay = Math.min(delay * 2, RETRY_MAX_MS)) {
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
        const triedMs = performance.now() - since + delay
        const givesUp = kind === 'refused' || triedMs > (kind === 'undone' ? boundMs : patienceMs)
        if (givesUp) throw storeError(cause, RETRY_MAX_MS)
        await pause(delay, this.#closing.signal)
      }
    }
  }

  /**
   * A connection over which the server answered, if only with a refusal, is kept. One that is silent is given up, and the server
   * asked to end what it waits for: otherwise each attempt would leave a backend behind.
   */
  async #send<Row extends QueryResultRow>(text: string, values: unknown[], leftMs: number): Promise<Row[]> {
    const client = await this.#pool.connect()
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

  async #execute<Row extends QueryResultRow>(client: PoolClient, query: BoundedQuery): Promise<QueryResult<Row>> {
    if (this.#bounds.scope === 'session') return client.query<Row>(query)
    const [begun, done, committed] = await Promise.allSettled([
      client.query(beginWith(this.#bounds)),
      client.query<Row>(query),
      client.query('COMMIT'), // which rolls back where the statement failed
    ])
    for (const step of [done, begun, committed]) if (step.status === 'rejected') throw step.reason
    return (done as PromiseFulfilledResult<QueryResult<Row>>).value
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#pool.end()
  }
}

function ignore(): void {}

/** The types of the package leave the bound of one query out. */
type BoundedQuery = QueryConfig & { readonly query_timeout: number }

/** How long what may be repeated is tried, before whoever asked is told. */
const PATIENCE_MS = 10_000

export function connectionConfig(url: string): ClientConfig {
  return {
    connectionString: url,
    application_name: 'holdfast',
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
  }
}
