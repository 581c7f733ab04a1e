/** Maps database rows to the types of the store port. */
import type { Run } from '../../core/model/run.ts'
import type { LeasedRun, StopRequest, StoredRun } from '../../core/ports/store.ts'

/** Columns of the view `stored` and of the functions' results. */
export interface StoredRow {
  readonly run: string
  readonly first: number
  readonly next: number
  readonly epoch: number
  readonly lease_owner: string | null
  /** bigint, which `pg` returns as text. */
  readonly held_until: string | null
  readonly stop: string | null
}

export const STORED_COLUMNS = 'run, first, next, epoch, lease_owner, held_until, stop'

export interface HeldRow {
  readonly id: string
  readonly epoch: number
  readonly next: number
  readonly stop: string | null
}

export function leasedRun({ stop, ...held }: HeldRow): LeasedRun {
  return { ...held, ...(stop !== null && { stop: stopOf(stop) }) }
}

function stopOf(text: string): StopRequest {
  return JSON.parse(text) as StopRequest
}

export function storedRun({
  run,
  first,
  next,
  epoch,
  lease_owner: worker,
  held_until: until,
  stop,
}: StoredRow): StoredRun {
  return {
    run: JSON.parse(run) as Run,
    first,
    next,
    epoch,
    ...(worker !== null && { lease: { worker, until: Number(until) } }),
    ...(stop !== null && { stop: stopOf(stop) }),
  }
}
