/** Store transfer for NATS: ordered export, and import. */
import type { Document } from '../../core/model/document.ts'
import type { DocumentName, TransferredRun, StoreTransfer } from '../../core/ports/store-transfer.ts'
import type { Position } from '../../core/model/page.ts'
import type { Creation } from './creation.ts'
import type { NatsDocuments } from './state/documents.ts'

export interface NatsTransferOptions {
  readonly workers: () => Promise<readonly string[]>
  readonly runs: (limit: number, after?: Position) => Promise<readonly TransferredRun[]>
  readonly documents: NatsDocuments
  readonly creation: Creation
}

export class NatsTransfer implements StoreTransfer {
  readonly #options: NatsTransferOptions

  constructor(options: NatsTransferOptions) {
    this.#options = options
  }

  workers(): Promise<readonly string[]> {
    return this.#options.workers()
  }

  runs(limit: number, after?: Position): Promise<readonly TransferredRun[]> {
    return this.#options.runs(limit, after)
  }

  documents(limit: number, after?: DocumentName): Promise<readonly Document[]> {
    return this.#options.documents.all(limit, after)
  }

  admit(kept: TransferredRun, record: string): Promise<void> {
    return this.#options.creation.admit(kept, record)
  }

  admitDocument(document: Document): Promise<boolean> {
    return this.#options.documents.admit(document)
  }
}
