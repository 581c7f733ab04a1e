/** Messages between the store and its committing thread. */
import type { LogDamage } from '../../../core/ports/store.ts'
import type { LostCommits } from '../file/commit-record.ts'
import type { DocumentAnswer, DocumentCommand } from './document-writes.ts'
import type { FileIdentity } from '../file/file-identity.ts'
import type { ReadingReply, ReadingRequest } from '../reading/reading-messages.ts'

/** Start options of a committing thread. */
export interface ThreadOptions {
  /** The file's real path. */
  readonly path: string
  /** The store's instance token. */
  readonly token: string
  /** Identity of the file that this store opened before and must still own. Undefined the first time. */
  readonly reopen: FileIdentity | undefined
  /** Journal size above which a blocking reader is reported. */
  readonly walWarningBytes: number
  /** How long opening waits for readers of other programs. */
  readonly readerTimeoutMs: number
}

/** A row of `runs`, rewritten whenever a run changes. */
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
  /** This commit creates the run, and so updates its session. */
  readonly isNew: boolean
}

/** A run that was found damaged. */
export interface QuarantinedRun {
  readonly number: number
  readonly id: string
  readonly damage: LogDamage
}

export interface RemovedRun {
  readonly number: number
  /** It is known to be damaged, so its removal may fail. */
  readonly isDamaged: boolean
}

/** One transaction. An empty one only compacts. */
export interface CommitRequest {
  /** The records of this commit, run after run. */
  readonly data: Uint8Array
  /** Four numbers per run: run number, first index, records, bytes. */
  readonly directory: Int32Array
  readonly rows: readonly RunRow[]
  /** Runs whose log ended here: their remaining records are compacted soon. */
  readonly ended: readonly number[]
  /** Runs whose records before an index are dropped; their rows are in the same request. */
  readonly trimmed: readonly (readonly [run: number, before: number])[]
  readonly quarantined: readonly QuarantinedRun[]
  readonly removed: readonly RemovedRun[]
  readonly documents: readonly DocumentCommand[]
  /** Compact everything that is `ready`, or `all`, instead of this commit's share. */
  readonly compact: 'share' | 'ready' | 'all'
}

/** Reads for the reading thread while that loads its code. */
export interface ReadRequests {
  readonly reads: readonly ReadingRequest[]
}

export type CommitReply =
  | {
      readonly kind: 'committed'
      /** Two numbers per run: run number, and the index before which its records are in segments. */
      readonly sealed: Int32Array
      /** More can be compacted, deleted or vacuumed now. */
      readonly more: boolean
      /** Segments of removed runs or trimmed ranges are left to delete. */
      readonly isDeleting: boolean
      /** One per command, in the same order. */
      readonly documents: readonly DocumentAnswer[]
      /** Runs that this commit found damaged. */
      readonly quarantined: readonly QuarantinedRun[]
      /** Numbers of runs that it could not remove, because the database is damaged there. */
      readonly unremovable: readonly number[]
    }
  | {
      readonly kind: 'opened'
      readonly warnings: readonly string[]
      readonly identity: FileIdentity
      /** An earlier process left segments to delete. */
      readonly isDeleting: boolean
      /** Commits that were acknowledged but are missing in the file. */
      readonly lost?: LostCommits
    }
  /**
   * The file is in place. `pinnedBytes`: size of a journal that another program's reader keeps from being checkpointed, or 0.
   */
  | { readonly kind: 'checked'; readonly pinnedBytes: number }
  | { readonly kind: 'read'; readonly reply: ReadingReply }
  /** Opening is delayed, and why. */
  | { readonly kind: 'waiting'; readonly message: string }
  | CommitFailure

export interface CommitFailure {
  readonly kind: 'failed'
  readonly message: string
  /** `fenced`: another process owns the file, and it must not be reopened. `busy`: another program is reading it. */
  readonly because: 'fault' | 'fenced' | 'busy'
}
