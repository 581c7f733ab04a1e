/** A run's structure at an index of its log, in the format of the native protocol. */
import type { StoredRun } from '../../../core/ports/store.ts'
import { isFinished } from '../../../core/model/run.ts'
import type { Service } from '../../../core/service.ts'
import { checkedCursorOf } from '../requests/checked-cursor.ts'

export interface EncodedSnapshot {
  /** Index of the last event that it contains. */
  readonly index: number
  /** The cursor after it, with the checksum of that event. */
  readonly id: string
  readonly json: string
  /** No event follows. */
  readonly ended: boolean
}

export async function snapshotOf(service: Service, stored: StoredRun): Promise<EncodedSnapshot> {
  const { run, first, next } = stored
  const { last, json, ended } = await service.views.structure(stored).current(next)
  const index = last?.index ?? first - 1
  const id = last === undefined ? String(index) : checkedCursorOf(last)
  const about = JSON.stringify({ run: run.id, cursor: index, id, ...(first > 0 && { earliest: first }) })
  return {
    index,
    id,
    json: `${about.slice(0, -1)},"structure":${json}}`,
    // All events of a finished run may have been trimmed, its end included.
    ended: ended || (isFinished(run.status) && index === next - 1),
  }
}
