/**
 * Shared store: one PostgreSQL database, any number of nodes. It caches nothing about runs between calls; the database makes
 * every decision in one statement, by its own clock.
 */
import { systemIds } from '../../core/ports/clock.ts'
import { Hints } from '../../core/delivery/hints.ts'
import type { StoreTransfer } from '../../core/ports/store-transfer.ts'
import { cursorOf, positionOf } from '../../core/model/page.ts'
import { type Slice, sliceOf } from '../../core/model/slice.ts'
import { isFinished, type RunStatus } from '../../core/model/run.ts'
import type {
  ClaimableQuery,
  ClaimOptions,
  CreateResult,
  LeasedRun,
  Hint,
  HintListener,
  LogWriter,
  NewRun,
  StoredRunPage,
  RunQuery,
  StopRequest,
  Store,
  StoreCapabilities,
  StoredRun,
  StoreHealth,
} from '../../core/ports/store.ts'
import { delayUntilAbort } from '../shared/delay.ts'
import { connectionConfig, Database, type Pg, Reachability } from './database.ts'
import { PostgresDocuments } from './documents.ts'
import { GroupCommit, COMMIT_STREAMS } from './group-commit.ts'
import { Listener } from './listener.ts'
import { readLog } from './log.ts'
import { PostgresTransfer } from './transfer.ts'
import { decodeNotices } from './notices.ts'
import { Notifier } from './notifier.ts'
import { type HeldRow, leasedRun, STORED_COLUMNS, type StoredRow, storedRun } from './rows.ts'
import { migrated } from './schema.ts'
import { scopeOfBounds, type TimeBounds } from './time-bounds.ts'
import { claimable, forgetTurns, unservedQuery } from './fair-order.ts'
import { PostgresUsage } from './usage.ts'
import { BatchWriter, type Part } from '../shared/batch-writer.ts'
import { idInUse, notFinished } from '../shared/refusals.ts'

export interface PostgresStoreOptions {
  readonly url: string
  /** Reaches the server directly, if `url` goes through a transaction-pooling proxy. */
  readonly directUrl: string
  readonly schema: string
  readonly connections: number
  readonly requestTimeoutMs: number
  readonly outageTimeoutMs: number
  /** Milliseconds since 1970, or null for the database's own clock. */
  readonly now: () => number | null
}

/** How long closing waits for pending work. */
const CLOSE_MS = 5000
/** Workers without leases are removed this long after their last renewal. */
const WORKER_KEPT_MS = 24 * 60 * 60 * 1000
/** Timeout of one renewal attempt, including its connection: less than a third of a lease. */
const RENEW_MS = 3000
/** How long a claim or a creation is retried while the server is unreachable. */
const COMMAND_MS = 10_000

export class PostgresStore implements Store {
  readonly name = 'postgres'
  readonly capabilities: StoreCapabilities = { durable: true, shared: true }
  readonly documents: PostgresDocuments
  readonly transfer: StoreTransfer
  readonly usage: PostgresUsage
  readonly #schema: string
  readonly #now: () => number | null
  readonly #reachability: Reachability
  readonly #database: Database
  /** Commits have their own connections, so that readers cannot delay them. */
  readonly #committing: Database
  /** So do renewals: a lease must not expire because there are many readers. */
  readonly #renewing: Database
  readonly #commits: GroupCommit
  readonly #notifier: Notifier
  readonly #listener: Listener
  readonly #hints = new Hints()
  readonly #ids = systemIds()
  #closing: Promise<void> | undefined

  private constructor(
    pg: Pg,
    options: PostgresStoreOptions,
    { database, reachability, bounds }: { database: Database; reachability: Reachability; bounds: TimeBounds },
  ) {
    const { schema, url, directUrl, outageTimeoutMs, now } = options
    this.#schema = schema
    this.#now = now
    this.#database = database
    this.#reachability = reachability
    this.#committing = new Database(pg, { url, reachability, connections: COMMIT_STREAMS, bounds })
    this.#renewing = new Database(pg, {
      url,
      reachability,
      connections: 1,
      bounds: {
        ...bounds,
        statementMs: Math.min(bounds.statementMs, RENEW_MS),
        lockMs: Math.min(bounds.lockMs, RENEW_MS),
      },
      connectMs: RENEW_MS,
    })
    const parts = { database, name: schema, now }
    this.documents = new PostgresDocuments(parts)
    this.transfer = new PostgresTransfer(parts)
    this.usage = new PostgresUsage(parts)
    this.#commits = new GroupCommit({
      database: this.#committing,
      schema,
      name: () => this.#ids.unique(),
      outageTimeoutMs,
      onDurable: (part, slice) => this.#announce(part, slice),
    })
    const [channel, node] = [`holdfast_${schema}`, this.#ids.unique()]
    this.#notifier = new Notifier(database, channel, node)
    this.#listener = new Listener({
      pg,
      url: directUrl,
      channel,
      onNotice: (text) => {
        for (const notice of decodeNotices(node, text)) this.#hints.give(notice)
      },
      onGap: () => void this.#hintClaimable(),
    })
  }

  static async open(pg: Pg, options: PostgresStoreOptions): Promise<PostgresStore> {
    const { url, connections, requestTimeoutMs, schema } = options
    const config = connectionConfig(url)
    const bounds = await scopeOfBounds(pg, config, requestTimeoutMs)
    await migrated(pg, config, schema)
    const reachability = new Reachability()
    const database = new Database(pg, { url, reachability, connections, bounds })
    try {
      await database.query(
        `DELETE FROM ${schema}.owners o WHERE o.until < ${schema}.clock($1) - $2::bigint
           AND NOT EXISTS (SELECT FROM ${schema}.runs r WHERE r.lease_owner = o.owner)`,
        [options.now(), WORKER_KEPT_MS],
      )
      await database.query(forgetTurns(schema), [])
    } catch (cause) {
      await database.close()
      throw cause
    }
    return new PostgresStore(pg, options, { database, reachability, bounds })
  }

  health(): StoreHealth {
    if (this.#closing !== undefined) return { ok: false, reason: 'the store is closed' }
    return this.#reachability.health()
  }

  async create({ run, record, idempotency, rejectIfBusy = false, claim }: NewRun): Promise<CreateResult> {
    const values = [
      this.#now(),
      JSON.stringify(run),
      run.id,
      run.owner,
      run.component,
      run.session,
      run.createdAt,
      run.lane ?? null,
      idempotency?.key ?? null,
      idempotency?.fingerprint ?? null,
      Buffer.from(record),
      rejectIfBusy,
      claim?.worker ?? null,
      claim?.ttlMs ?? null,
    ]
    const text = `SELECT * FROM ${this.#schema}.create_run($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`
    type Answer = StoredRow & { readonly outcome: CreateResult['kind'] | 'taken' }
    const rows = await this.#database.repeat<Answer>((again) => ({ text, values: [...values, again] }), COMMAND_MS)
    const { outcome, ...row } = rows[0]!
    if (outcome === 'taken') throw idInUse(run.id)
    const stored = storedRun(row)
    if (outcome === 'created') {
      this.#hints.give({ run: run.id, next: 1, slice: sliceOf(0, [record], false) })
      // Even if its lane is busy: the run before it may have finished just now without seeing this one.
      if (stored.lease === undefined) this.#hint({ run: run.id, next: 1, claimable: true })
    }
    return { kind: outcome, stored }
  }

  async get(id: string): Promise<StoredRun | undefined> {
    const [stored] = await this.#stored('id = $1', [id])
    return stored
  }

  async findByKey(owner: string, key: string): Promise<{ stored: StoredRun; fingerprint: string } | undefined> {
    const [row] = await this.#database.query<StoredRow & { fingerprint: string }>(
      `SELECT fingerprint, ${STORED_COLUMNS} FROM ${this.#schema}.stored WHERE owner = $1 AND idempotency_key = $2`,
      [owner, key],
    )
    return row && { stored: storedRun(row), fingerprint: row.fingerprint }
  }

  async list(query: RunQuery): Promise<StoredRunPage> {
    const found: StoredRun[] = []
    for (let { after } = query; ;) {
      const page = await this.#newest({ ...query, ...(after !== undefined && { after }) })
      found.push(...page.filter(({ run }) => query.version === undefined || run.version === query.version))
      if (found.length > query.limit || page.length <= query.limit) break
      after = cursorOf(page.at(-1)!.run)
    }
    const runs = found.slice(0, query.limit)
    return found.length > query.limit ? { runs, cursor: cursorOf(runs.at(-1)!.run) } : { runs }
  }

  /** Up to `limit + 1` rows. Some may only contain the version's text elsewhere in their JSON. */
  #newest(query: RunQuery): Promise<StoredRun[]> {
    const values: unknown[] = []
    const conditions: string[] = []
    for (const column of ['owner', 'component', 'session'] as const) {
      const value = query[column]
      if (value !== undefined) conditions.push(`${column} = $${values.push(value)}`)
    }
    if (query.status !== undefined) conditions.push(`status = ANY($${values.push(query.status)})`)
    // The column is text (see tables.ts), written by JSON.stringify.
    if (query.version !== undefined)
      conditions.push(`strpos(run, $${values.push(`"version":${JSON.stringify(query.version)}`)}) > 0`)
    if (query.after !== undefined) {
      const { createdAt, id } = positionOf(query.after)
      conditions.push(`(created, id) < ($${values.push(createdAt)}, $${values.push(id)})`)
    }
    const where = conditions.length === 0 ? 'true' : conditions.join(' AND ')
    const order = `ORDER BY created DESC, id DESC LIMIT $${values.push(query.limit + 1)}`
    return this.#stored(`${where} ${order}`, values)
  }

  async remove(id: string): Promise<boolean> {
    const text = `SELECT * FROM ${this.#schema}.remove_run($1)`
    const [row] = await this.#database.once<{ status: RunStatus }>(text, [id])
    if (row === undefined) return false
    if (!isFinished(row.status)) throw notFinished(id, row.status)
    return true
  }

  writer(
    id: string,
    claim: { readonly epoch: number; readonly next: number },
    onRefused?: (cause: unknown) => void,
  ): LogWriter {
    return new BatchWriter(id, claim, (writer) => this.#commits.appended(writer), onRefused)
  }

  read(id: string, after: number, maxBytes: number): Promise<Slice | undefined> {
    return readLog(this.#database, this.#schema, id, after, maxBytes)
  }

  async trim(id: string, before: number): Promise<void> {
    await this.#database.query(`SELECT ${this.#schema}.trim_run($1, $2)`, [id, before])
  }

  async size(): Promise<number> {
    const text = `SELECT coalesce(sum(bytes), 0) AS bytes FROM ${this.#schema}.heads`
    const [row] = await this.#database.query<{ bytes: string }>(text, [])
    return Number(row!.bytes)
  }

  async claim(id: string, worker: string, ttlMs: number, options: ClaimOptions = {}): Promise<StoredRun | undefined> {
    const { paused = false, outOfOrder = false, takeover = true } = options
    const text = `SELECT * FROM ${this.#schema}.claim_run($1, $2, $3, $4, $5, $6, $7, $8)`
    const values = [this.#now(), this.#ids.unique(), id, worker, ttlMs, paused, outOfOrder, takeover]
    // No longer than this: a run that was free at the start may be leased meanwhile, and look abandoned after an outage.
    const patienceMs = Math.min(COMMAND_MS, ttlMs / 3)
    const [row] = await this.#database.repeat<StoredRow>(() => ({ text, values }), patienceMs)
    return row && storedRun(row)
  }

  async renew(worker: string, ttlMs: number, components?: readonly string[]): Promise<readonly LeasedRun[]> {
    const rows = await this.#renewing.query<HeldRow>(
      `WITH renewed AS (
         INSERT INTO ${this.#schema}.owners (owner, until, components)
           VALUES ($1, ${this.#schema}.clock($2) + $3::bigint, $4::text[])
         ON CONFLICT (owner) DO UPDATE SET until = excluded.until, components = excluded.components)
       SELECT r.id, h.epoch, h.next, r.stop FROM ${this.#schema}.runs r JOIN ${this.#schema}.heads h ON h.id = r.id
         WHERE r.lease_owner = $1`,
      [worker, this.#now(), ttlMs, components ?? null],
    )
    return rows.map(leasedRun)
  }

  async release(id: string, epoch: number): Promise<void> {
    const text = `SELECT * FROM ${this.#schema}.release_run($1, $2)`
    const [row] = await this.#database.query<{ next: number }>(text, [id, epoch])
    if (row !== undefined) this.#hint({ run: id, next: row.next, claimable: true })
  }

  async claimable(limit: number, { components, takeover = true }: ClaimableQuery = {}): Promise<readonly string[]> {
    const values = [this.#now(), components ?? null, limit, takeover]
    const rows = await this.#database.query<{ id: string }>(claimable(this.#schema), values)
    return rows.map(({ id }) => id)
  }

  async unserved(): Promise<readonly string[]> {
    const rows = await this.#database.query<{ component: string }>(unservedQuery(this.#schema), [this.#now()])
    return rows.map(({ component }) => component)
  }

  async queued(owner?: string): Promise<number> {
    const [of, values] = owner === undefined ? ['', []] : ['AND owner = $1', [owner]]
    const text = `SELECT count(*)::integer AS queued FROM ${this.#schema}.runs WHERE status = 'queued' ${of}`
    const [row] = await this.#database.query<{ queued: number }>(text, values)
    return row!.queued
  }

  async requestStop(id: string, stop: StopRequest): Promise<StoredRun | undefined> {
    const text = `UPDATE ${this.#schema}.runs SET stop = $2
      WHERE id = $1 AND NOT finished AND stop IS NULL AND ${this.#schema}.durably()`
    await this.#database.query(text, [id, JSON.stringify(stop)])
    const stored = await this.get(id)
    if (stored !== undefined && !isFinished(stored.run.status)) this.#hint({ run: id, next: stored.next, stop: true })
    return stored
  }

  watch(id: string, listener: HintListener): () => void {
    return this.#hints.watch(id, listener)
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    const enough = new AbortController()
    const late = delayUntilAbort(CLOSE_MS, enough.signal)
    await Promise.race([this.#commits.idle(), late])
    await Promise.race([this.#notifier.close(), late])
    const databases = [this.#committing, this.#renewing, this.#database]
    await Promise.race([Promise.all([this.#listener, ...databases].map((part) => part.close())), late])
    enough.abort()
  }

  async #stored(where: string, values: readonly unknown[]): Promise<StoredRun[]> {
    const text = `SELECT ${STORED_COLUMNS} FROM ${this.#schema}.stored WHERE ${where}`
    return (await this.#database.query<StoredRow>(text, values)).map(storedRun)
  }

  /** Notifies subscribers on this node and on others. */
  #hint(hint: Omit<Hint, 'slice'>): void {
    this.#hints.give(hint)
    this.#notifier.notify(hint)
  }

  #announce({ writer: { id }, change }: Part, slice: Slice): void {
    const next = slice.first + slice.count
    this.#hints.give({ run: id, next, slice })
    this.#notifier.notify({ run: id, next })
    if (slice.closed && change?.lane !== undefined) void this.#hintNextInLane(change.lane)
  }

  /** Queried after the commit: a run that is created meanwhile is either seen here or sees that its lane is free. */
  async #hintNextInLane(lane: string): Promise<void> {
    const [nextInLane] = await this.#stored('lane = $1 AND NOT finished ORDER BY number LIMIT 1', [lane]).catch(
      () => [],
    )
    if (nextInLane !== undefined) this.#hint({ run: nextInLane.run.id, next: nextInLane.next, claimable: true })
  }

  /** A hint about new work may have been lost while nobody listened. */
  async #hintClaimable(): Promise<void> {
    const [id] = await this.claimable(1).catch(() => [])
    const stored = id === undefined ? undefined : await this.get(id).catch(() => undefined)
    if (stored !== undefined) this.#hints.give({ run: stored.run.id, next: stored.next, claimable: true })
  }
}
