/** Store transfer for PostgreSQL. Each command is one statement. */
import { type Document, caseFolded } from '../../core/model/document.ts'
import { HoldfastError } from '../../core/model/errors.ts'
import type { DocumentName, TransferredRun, StoreTransfer } from '../../core/ports/store-transfer.ts'
import type { Position } from '../../core/model/page.ts'
import { isFinished } from '../../core/model/run.ts'
import type { DatabaseSchema } from './database.ts'
import { DOCUMENT_COLUMNS, documentOf, type DocumentRow } from './documents.ts'
import { STORED_COLUMNS, storedRun, type StoredRow } from './rows.ts'

interface TransferRow extends StoredRow {
  readonly idempotency_key: string | null
  readonly fingerprint: string | null
}

export class PostgresTransfer implements StoreTransfer {
  readonly #schema: DatabaseSchema

  constructor(schema: DatabaseSchema) {
    this.#schema = schema
  }

  async workers(): Promise<readonly string[]> {
    const schema = this.#schema.name
    const rows = await this.#schema.database.query<{ owner: string }>(
      `SELECT owner FROM ${schema}.owners WHERE until > ${schema}.clock($1)
       UNION SELECT lease_owner FROM ${schema}.runs WHERE lease_owner IS NOT NULL AND lease_until > ${schema}.clock($1)`,
      [this.#schema.now()],
    )
    return rows.map(({ owner }) => owner)
  }

  async runs(limit: number, after?: Position): Promise<readonly TransferredRun[]> {
    const schema = this.#schema.name
    const where = after === undefined ? '' : 'WHERE (created, id) > ($2, $3)'
    const rows = await this.#schema.database.query<TransferRow>(
      `SELECT idempotency_key, fingerprint, ${STORED_COLUMNS} FROM ${schema}.stored ${where} ORDER BY created, id LIMIT $1`,
      after === undefined ? [limit] : [limit, after.createdAt, after.id],
    )
    return rows.map((row) => ({
      stored: storedRun(row),
      ...(row.idempotency_key !== null && {
        idempotency: { key: row.idempotency_key, fingerprint: row.fingerprint! },
      }),
    }))
  }

  async documents(limit: number, after?: DocumentName): Promise<readonly Document[]> {
    const where = after === undefined ? '' : 'WHERE (collection, owner, id) > ($2, $3, $4)'
    const rows = await this.#schema.database.query<DocumentRow>(
      `SELECT ${DOCUMENT_COLUMNS} FROM ${this.#schema.name}.documents ${where} ORDER BY collection, owner, id LIMIT $1`,
      after === undefined ? [limit] : [limit, after.collection, after.owner, after.id],
    )
    return rows.map(documentOf)
  }

  /** Plain SQL rather than a database function: transfers are rare and should not require a migration. */
  async admit({ stored: { run, first, epoch, stop }, idempotency }: TransferredRun, record: string): Promise<void> {
    const schema = this.#schema.name
    const rows = await this.#schema.database.once(
      `WITH admitted AS (
         INSERT INTO ${schema}.runs
           (id, owner, component, session, status, finished, created, lane, wake, stop, idempotency_key, fingerprint, run)
         SELECT $1, $2, $3, $4, $5, $6::boolean, $7, $8, $9::bigint, $10, $11, $12, $13 WHERE ${schema}.durably()
         ON CONFLICT DO NOTHING RETURNING number
       ), head AS (
         INSERT INTO ${schema}.heads (id, number, epoch, first, next, bytes, closed)
         SELECT $1, number, $14::integer, $15::integer, $15::integer + 1, octet_length($16::bytea), $6::boolean FROM admitted
       ), logged AS (
         INSERT INTO ${schema}.log (run, first, count, data) SELECT number, $15::integer, 1, $16::bytea FROM admitted
       ) SELECT number FROM admitted`,
      [
        run.id,
        run.owner,
        run.component,
        run.session,
        run.status,
        isFinished(run.status),
        run.createdAt,
        run.lane ?? null,
        run.wakeAt ?? null,
        stop === undefined ? null : JSON.stringify(stop),
        idempotency?.key ?? null,
        idempotency?.fingerprint ?? null,
        JSON.stringify(run),
        epoch,
        first,
        Buffer.from(record),
      ],
    )
    if (rows.length === 0) throw new HoldfastError('conflict', `run ${run.id}: the id or its idempotency key is in use`)
  }

  async admitDocument(document: Document): Promise<boolean> {
    const { owner, collection, id, label, title, body, version, createdAt, updatedAt } = document
    const rows = await this.#schema.database.once(
      `INSERT INTO ${this.#schema.name}.documents
         (owner, collection, id, label, title, search, body, version, created, updated)
       SELECT $1, $2, $3, $4, $5, $6, $7, $8::integer, $9, $10 WHERE ${this.#schema.name}.durably()
       ON CONFLICT DO NOTHING RETURNING id`,
      [
        owner,
        collection,
        id,
        label ?? null,
        title ?? null,
        caseFolded(title ?? ''),
        JSON.stringify(body),
        version,
        createdAt,
        updatedAt,
      ],
    )
    return rows.length > 0
  }
}
