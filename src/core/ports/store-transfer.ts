/**
 * Store transfer: exports everything a store holds and imports it into another, unchanged. Exporting is safe at any time. During an
 * import nothing else may use the target.
 */
import type { Document } from '../model/document.ts'
import type { Position } from '../model/page.ts'
import type { StoredRun } from './store.ts'

/** A run with the facts that only its creation knows. */
export interface TransferredRun {
  readonly stored: StoredRun
  readonly idempotency?: { readonly key: string; readonly fingerprint: string }
}

/** Identity of a document. */
export type DocumentName = Pick<Document, 'owner' | 'collection' | 'id'>

/** Exports everything a store holds and imports it into another store: `holdfast copy`. */
export interface StoreTransfer {
  /** Active workers: those with a lease that has not expired, or that renewed within their TTL without holding one. */
  workers(): Promise<readonly string[]>
  /**
   * All runs after a position, oldest first: by creation time and then id, the reverse of `list`. The position need not be that of
   * an existing run.
   */
  runs(limit: number, after?: Position): Promise<readonly TransferredRun[]>
  /** All documents after `after`, of all owners and collections, in a stable order that the store chooses. */
  documents(limit: number, after?: DocumentName): Promise<readonly Document[]>
  /**
   * Imports a run with its earliest retained record, which has the index `stored.first`; `stored.next` is the following index. Run
   * (of any status), epoch, stop request and idempotency key are kept; the lease is dropped and no session is touched. Append the
   * rest of the log with a writer of that epoch, without a claim. Refuses with `conflict`, without a change, if the id or the key
   * exists.
   */
  admit(transferred: TransferredRun, record: string): Promise<void>
  /** Imports a document with its version and times. Returns false, without a change, if the document exists. */
  admitDocument(document: Document): Promise<boolean>
}
