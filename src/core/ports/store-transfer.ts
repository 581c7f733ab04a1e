/**
 * Store transfer: exports everything a store holds and imports it into another, unchanged. Exporting is safe at any time; importing
 * requires that nothing else uses the target meanwhile.
 */
import type { Document } from '../model/document.ts'
import type { Position } from '../model/page.ts'
import type { StoredRun } from './store.ts'

/** A run with what only its creation knew. */
export interface TransferredRun {
  readonly stored: StoredRun
  readonly idempotency?: { readonly key: string; readonly fingerprint: string }
}

/** By which a document is known. */
export type DocumentName = Pick<Document, 'owner' | 'collection' | 'id'>

/** Exports everything a store holds, and imports it into another store: `holdfast copy`. */
export interface StoreTransfer {
  /** Owners that hold a claim which has not run out, or that renewed theirs within its time though they held none: nodes at work. */
  workers(): Promise<readonly string[]>
  /** All runs, oldest first: by creation time and then id, the reverse of `list`. Those after a position, whether or not a run is there. */
  runs(limit: number, after?: Position): Promise<readonly TransferredRun[]>
  /** All documents of all owners and collections, in an order of the store's own that does not change. Those that follow `after`. */
  documents(limit: number, after?: DocumentName): Promise<readonly Document[]>
  /**
   * Takes in a run with the first record that is kept of its log, which has the index `stored.first`; `stored.next` is the one after
   * it. Run (of whatever status), epoch, stop request and key are kept as given, a lease is not; no session is touched. What follows
   * of the log is appended by a writer with that epoch, without a claim. Refuses with `conflict`, and changes nothing, when the id or
   * the key is in use.
   */
  admit(transferred: TransferredRun, record: string): Promise<void>
  /** Takes in a document with the version and the times that it has. False, and nothing changed, when its name is in use. */
  admitDocument(document: Document): Promise<boolean>
}
