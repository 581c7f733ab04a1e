/** Reads the usage that triggers have counted. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { DOCUMENT_BYTES, type OwnerUsage, RUN_BYTES } from '../../../core/model/storage-usage.ts'

const COLUMNS = 'owner, runs, log_bytes AS logBytes, documents, document_bytes AS documentBytes'
const STORED_BYTES = `runs * ${RUN_BYTES} + log_bytes + documents * ${DOCUMENT_BYTES} + document_bytes`

export class UsageReader {
  readonly #database: DatabaseSync
  readonly #of: StatementSync

  constructor(database: DatabaseSync) {
    this.#database = database
    this.#of = database.prepare(`SELECT ${COLUMNS} FROM usage WHERE owner = ?`)
  }

  of(owner: string): OwnerUsage {
    const row = this.#of.get(owner)
    return row === undefined ? { owner, runs: 0, logBytes: 0, documents: 0, documentBytes: 0 } : usageOf(row)
  }

  total(): number {
    const row = this.#database.prepare(`SELECT coalesce(sum(${STORED_BYTES}), 0) AS bytes FROM usage`).get()!
    return Number(row['bytes'])
  }

  largest(limit: number): OwnerUsage[] {
    return this.#database
      .prepare(`SELECT ${COLUMNS} FROM usage ORDER BY ${STORED_BYTES} DESC LIMIT ?`)
      .all(limit)
      .map(usageOf)
  }
}

function usageOf(row: Record<string, unknown>): OwnerUsage {
  return { ...(row as unknown as OwnerUsage) }
}
