/** Storage usage per owner, computed on demand: a running total would serialize an owner's appends. */
import type { Position } from '../../core/model/page.ts'
import {
  DOCUMENT_BYTES,
  type OwnerUsage,
  RUN_BYTES,
  type SizedRun,
  type StoredUsage,
} from '../../core/model/storage-usage.ts'
import type { DatabaseSchema } from './database.ts'
import { STORED_COLUMNS, type StoredRow, storedRun } from './rows.ts'

/** Sums are numerics, which `pg` returns as text. */
type UsageRow = Readonly<Record<keyof OwnerUsage, string>>

const STORED_BYTES = `sum(runs) * ${RUN_BYTES} + sum(log_bytes) + sum(documents) * ${DOCUMENT_BYTES} + sum(document_bytes)`

export class PostgresUsage implements StoredUsage {
  readonly #schema: DatabaseSchema

  constructor(schema: DatabaseSchema) {
    this.#schema = schema
  }

  async of(owner: string): Promise<OwnerUsage> {
    const schema = this.#schema.name
    // Loose index scan over the primary key, from collection to collection.
    const [row] = await this.#schema.database.query<UsageRow>(
      `WITH RECURSIVE collections (name) AS (
         (SELECT collection FROM ${schema}.documents ORDER BY collection LIMIT 1)
         UNION ALL
         SELECT (SELECT d.collection FROM ${schema}.documents d WHERE d.collection > c.name ORDER BY d.collection LIMIT 1)
         FROM collections c WHERE c.name IS NOT NULL
       )
       SELECT $1 AS owner, r.*, d.* FROM (
         SELECT count(*) AS runs, coalesce(sum(h.bytes), 0) AS "logBytes"
         FROM ${schema}.runs r JOIN ${schema}.heads h ON h.id = r.id WHERE r.owner = $1
       ) r, (
         SELECT count(*) AS documents, coalesce(sum(octet_length(d.body)), 0) AS "documentBytes"
         FROM collections c JOIN ${schema}.documents d ON d.collection = c.name AND d.owner = $1
       ) d`,
      [owner],
    )
    return usageOf(row!)
  }

  async total(): Promise<number> {
    const text = `SELECT coalesce(${STORED_BYTES}, 0) AS bytes FROM (${this.#parts()}) parts`
    const [row] = await this.#schema.database.query<{ bytes: string }>(text, [])
    return Number(row!.bytes)
  }

  async largest(limit: number): Promise<readonly OwnerUsage[]> {
    const rows = await this.#schema.database.query<UsageRow>(
      `SELECT owner, sum(runs) AS runs, sum(log_bytes) AS "logBytes", sum(documents) AS documents,
         sum(document_bytes) AS "documentBytes"
       FROM (${this.#parts()}) parts GROUP BY owner ORDER BY ${STORED_BYTES} DESC LIMIT $1`,
      [limit],
    )
    return rows.map(usageOf)
  }

  async finishedRuns(owner: string, limit: number, after?: Position): Promise<readonly SizedRun[]> {
    const schema = this.#schema.name
    const where = after === undefined ? '' : 'AND (created, id) > ($3, $4)'
    const rows = await this.#schema.database.query<StoredRow & { readonly bytes: string }>(
      `SELECT ${STORED_COLUMNS}, (SELECT h.bytes FROM ${schema}.heads h WHERE h.id = s.id) AS bytes
       FROM ${schema}.stored s WHERE owner = $1 AND finished ${where} ORDER BY created, id LIMIT $2`,
      [owner, limit, ...(after === undefined ? [] : [after.createdAt, after.id])],
    )
    return rows.map((row) => ({ stored: storedRun(row), bytes: Number(row.bytes) }))
  }

  /** Runs and documents of each owner, separately. */
  #parts(): string {
    const schema = this.#schema.name
    return `SELECT r.owner, count(*) AS runs, sum(h.bytes) AS log_bytes, 0 AS documents, 0 AS document_bytes
        FROM ${schema}.runs r JOIN ${schema}.heads h ON h.id = r.id GROUP BY r.owner
      UNION ALL
      SELECT owner, 0, 0, count(*), sum(octet_length(body)) FROM ${schema}.documents GROUP BY owner`
  }
}

function usageOf({ owner, runs, logBytes, documents, documentBytes }: UsageRow): OwnerUsage {
  return {
    owner,
    runs: Number(runs),
    logBytes: Number(logBytes),
    documents: Number(documents),
    documentBytes: Number(documentBytes),
  }
}
