/** What the store and its committing thread say to each other. */
import type { LogDamage } from '../../core/ports/store.ts'
import type { LostCommits } from './commit-record.ts'
import type { DocumentAnswer, DocumentCommand } from './document-writes.ts'
import type { FileIdentity } from './file-identity.ts'

/** What a committing thread is started with. */
export interface ThreadOptions {
  /** The file's real path. */
  readonly path: string
  /** The store's instance token. */
  readonly token: string
  /** The file as this store opened it before; it must still be that one, and this store's. Undefined the first time. */
  readonly reopen: FileIdentity | undefined
  /** Size of the journal from which a reader that holds it up is told. */
  readonly journalBytesMax: number
  /** How long opening waits for readers of other programs. */
  readonly readerWaitMs: number
}

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

/** A run that turned out to be damaged. */
export interface QuarantinedRun {
  readonly number: number
  readonly id: string
  readonly damage: LogDamage
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
  /** Runs whose records before an index are no longer wanted; their rows come in the same request. */
  readonly trimmed: readonly (readonly [run: number, before: number])[]
  readonly quarantined: readonly QuarantinedRun[]
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
      /** More could be compacted, or given back to the disk, now. */
      readonly more: boolean
      /** One for each command, in the same order. */
      readonly documents: readonly DocumentAnswer[]
      /** Runs that this commit found damaged. */
      readonly quarantined: readonly QuarantinedRun[]
    }
  | {
      readonly kind: 'opened'
      readonly warnings: readonly string[]
      readonly identity: FileIdentity
      /** Commits that were acknowledged, and that the file no longer has. */
      readonly lost?: LostCommits
    }
  /** The file is in its place; `pinnedBytes` is the size of a journal that another program's reader holds up, or 0. */
  | { readonly kind: 'checked'; readonly pinnedBytes: number }
  /** Opening takes longer, and why. */
  | { readonly kind: 'waiting'; readonly message: string }
  | CommitFailure

export interface CommitFailure {
  readonly kind: 'failed'
  readonly message: string
  /** `fenced`: another process has the file, and it must not be opened again. `busy`: another program reads it for now. */
  readonly because: 'fault' | 'fenced' | 'busy'
}
