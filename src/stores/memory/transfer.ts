/** Store transfer for the memory store: ordered export, and import. */
import type { Document } from '../../core/model/document.ts'
import type { DocumentName, TransferredRun, StoreTransfer } from '../../core/ports/store-transfer.ts'
import { comesBefore, type Position } from '../../core/model/page.ts'
import type { MemoryDocuments } from './documents.ts'

/** The parts of the store that a transfer needs. */
export interface TransferAccess {
  readonly runs: () => readonly TransferredRun[]
  readonly now: () => number
  readonly documents: MemoryDocuments
  readonly admit: (transferred: TransferredRun, record: string) => void
}

export class MemoryTransfer implements StoreTransfer {
  readonly #access: TransferAccess

  constructor(access: TransferAccess) {
    this.#access = access
  }

  async workers(): Promise<readonly string[]> {
    const leases = this.#access.runs().flatMap(({ stored }) => stored.lease ?? [])
    return [...new Set(leases.filter(({ until }) => until > this.#access.now()).map(({ worker }) => worker))]
  }

  async runs(limit: number, after?: Position): Promise<readonly TransferredRun[]> {
    const wanted = this.#access.runs().filter(({ stored: { run } }) => after === undefined || comesBefore(run, after))
    return wanted.toSorted((a, b) => (comesBefore(a.stored.run, b.stored.run) ? 1 : -1)).slice(0, limit)
  }

  async documents(limit: number, after?: DocumentName): Promise<readonly Document[]> {
    const isLast = ({ owner, collection, id }: Document): boolean =>
      owner === after?.owner && collection === after.collection && id === after.id
    const all = this.#access.documents.all()
    const start = after === undefined ? 0 : all.findIndex(isLast) + 1
    return all.slice(start, start + limit)
  }

  async admit(kept: TransferredRun, record: string): Promise<void> {
    this.#access.admit(kept, record)
  }

  async admitDocument(document: Document): Promise<boolean> {
    return this.#access.documents.admit(document)
  }
}
