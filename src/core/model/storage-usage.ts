/** Storage accounting per owner: what retention and quotas measure (`Store.usage`). */
import type { Position } from './page.ts'
import type { StoredRun } from '../ports/store.ts'

/** What one owner stores. */
export interface OwnerUsage {
  readonly owner: string
  readonly runs: number
  /** Bytes of the retained records of its runs. */
  readonly logBytes: number
  /** Sessions included. */
  readonly documents: number
  /** Bytes of the document bodies, as JSON. */
  readonly documentBytes: number
}

/** A finished run and the bytes of its records. */
export interface SizedRun {
  readonly stored: StoredRun
  readonly bytes: number
}

/**
 * Storage accounting of a store. Counts of runs and documents are exact. Byte counts may lag: a store may count a record only after
 * compacting it.
 */
export interface StoredUsage {
  of(owner: string): Promise<OwnerUsage>
  /** `storedBytes` of all owners together. */
  total(): Promise<number>
  /** The owners with the most `storedBytes`, largest first. */
  largest(limit: number): Promise<readonly OwnerUsage[]>
  /** Finished runs of an owner, oldest first by creation time and then id, from a position on. */
  finishedRuns(owner: string, limit: number, after?: Position): Promise<readonly SizedRun[]>
}

/** Bytes charged per run besides its records: row, index entries and idempotency key. */
export const RUN_BYTES = 1024
/** Bytes charged per document besides its body. */
export const DOCUMENT_BYTES = 512

/** The bytes that retention and quotas charge an owner. The store's files are larger: they contain indexes and free space. */
export function storedBytes({ runs, logBytes, documents, documentBytes }: Omit<OwnerUsage, 'owner'>): number {
  return runs * RUN_BYTES + logBytes + documents * DOCUMENT_BYTES + documentBytes
}
