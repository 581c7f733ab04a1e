/** Store transfer for SQLite. */
import { type Document, caseFolded } from '../../core/model/document.ts'
import type { DocumentName, TransferredRun, StoreTransfer } from '../../core/ports/store-transfer.ts'
import type { Position } from '../../core/model/page.ts'
import type { DocumentAccess } from './documents.ts'

/** The parts of the store that a transfer needs; all refuse if it is not open. */
export interface TransferAccess {
  readonly workers: () => readonly string[]
  readonly runs: (limit: number, after: Position | undefined) => Promise<readonly TransferredRun[]>
  readonly admit: (kept: TransferredRun, record: string) => Promise<void>
  readonly documents: DocumentAccess
}

export class SqliteTransfer implements StoreTransfer {
  readonly #access: TransferAccess

  constructor(access: TransferAccess) {
    this.#access = access
  }

  async workers(): Promise<readonly string[]> {
    return this.#access.workers()
  }

  runs(limit: number, after?: Position): Promise<readonly TransferredRun[]> {
    return this.#access.runs(limit, after)
  }

  documents(limit: number, after?: DocumentName): Promise<readonly Document[]> {
    return this.#access.documents.request('documentsFollowing', limit, after)
  }

  admit(kept: TransferredRun, record: string): Promise<void> {
    return this.#access.admit(kept, record)
  }

  async admitDocument(document: Document): Promise<boolean> {
    const { owner, collection, id, label, title, body, version, createdAt, updatedAt } = document
    const written = await this.#access.documents.write({
      kind: 'admit',
      key: { owner, collection, id },
      label: label ?? null,
      title: title ?? null,
      search: caseFolded(title ?? ''),
      body: JSON.stringify(body),
      version,
      createdAt,
      updatedAt,
    })
    return written !== undefined
  }
}
