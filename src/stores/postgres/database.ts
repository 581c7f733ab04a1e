/** Connections to the server, and the rule by which a statement is sent again. */
import type { ClientConfig, Pool, PoolClient, PoolConfig, QueryResultRow } from 'pg'
import { HoldfastError, messageOf } from '../../core/errors.ts'
import type { StoreHealth } from '../../core/store.ts'
import { pause } from '../shared/pause.ts'
import { failureKind, storeError } from './failures.ts'

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
  /** How long one statement may take before its connection is given up. */
  readonly answerMs: number
}

/** Delays between attempts: doubled, within these bounds. */
const RETRY_MIN_MS = 20
const RETRY_MAX_MS = 1000
const CONNECT_MS = 10_000

export class Database {
  readonly #pool: Pool
  readonly #reachability: Reachability
  readonly #closing = new AbortController()

  constructor(pg: Pg, { url, reachability, connections, answerMs }: DatabaseOptions) {
    this.#reachability = reachability
    const config: PoolConfig = { ...connectionConfig(url), max: connections, query_timeout: answerMs }
    this.#pool = new pg.default.Pool(config)
    // An idle connection broke, as idle ones do; the pool forgets it, and the next statement opens another.
    this.#pool.on('error', () => {})
  }

  /** One session of its own for a while. */
  async session<Result>(use: (session: PoolClient) => Promise<Result>): Promise<Result> {
    const client = await this.#pool.connect()
    try {
      return await use(client)
    } finally {
      client.release()
    }
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
    const until = Date.now() + patienceMs
    let again = false
    for (let delay = RETRY_MIN_MS; ; delay = Math.min(delay * 2, RETRY_MAX_MS)) {
      if (this.#closing.signal.aborted) throw new HoldfastError('unavailable', 'the store is closed')
      try {
        const { text, values } = statement(again)
        const { rows } = await this.#pool.query<Row>(text, [...values])
        this.#reachability.failure = undefined
        return rows
      } catch (cause) {
        const kind = failureKind(cause)
        if (kind === 'unknown') {
          this.#reachability.failure = messageOf(cause)
          again = true
        }
        const givesUp = kind === 'refused' || Date.now() + delay > until + (kind === 'undone' ? PATIENCE_MS : 0)
        if (givesUp) throw storeError(cause, RETRY_MAX_MS)
        await pause(delay, this.#closing.signal)
      }
    }
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#pool.end()
  }
}

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
