/** What the store and its committing thread say to each other. */
import type { DocumentAnswer, DocumentCommand } from './document-writes.ts'

/** A row of `runs`, written whole whenever a run changes. */
export interface RunRow {
  readonly number: number
  readonly id: string
  readonly owner: string
  readonly component: string
  readonly session: string
  readonly status: string
  readonly created: string
  readonly finished: string | null
  readonly epoch: number
  readonly first: number
  readonly next: number
  readonly run: string
  readonly stop: string | null
  readonly idempotencyKey: string | null
  readonly fingerprint: string | null
  /** This commit creates the run, and so touches its session. */
  readonly isNew: boolean
}

/** One transaction. An empty one is a chance to compact. */
export interface CommitRequest {
  /** The records of this commit, run after run. */
  readonly data: Uint8Array
  /** Four numbers a run: run number, index of its first record here, records, bytes. */
  readonly directory: Int32Array
  readonly rows: readonly RunRow[]
  /** Runs whose log ended here: what is left of them is compacted soon. */
  readonly ended: readonly number[]
  /** Runs whose records before an index are no longer wanted. */
  readonly trimmed: readonly (readonly [run: number, before: number])[]
  readonly removed: readonly number[]
  readonly documents: readonly DocumentCommand[]
  /** Compact whatever is ready (`ready`), or everything (`all`), not only a share that fits this commit. */
  readonly compact: 'share' | 'ready' | 'all'
}

export type CommitReply =
  | {
      readonly kind: 'committed'
      /** Two numbers a run: run number, index before which its records are in segments. */
      readonly sealed: Int32Array
      /** More could be compacted now. */
      readonly more: boolean
      /** One for each command, in the same order. */
      readonly documents: readonly DocumentAnswer[]
    }
  | { readonly kind: 'opened' }
  | { readonly kind: 'failed'; readonly message: string }
