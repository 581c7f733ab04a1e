/** Resumes a subscription at a position: exactly the later events, or a gap notice (docs/a2a-resume-extension.md). */
import { HoldfastError } from '../../../core/model/errors.ts'
import type { Service } from '../../../core/service.ts'
import type { StoredRun } from '../../../core/ports/store.ts'
import { checksumOf } from '../../../sse/checksum.ts'
import type { Origin } from './projection.ts'
import type { StreamStart } from './stream-start.ts'
import { taskKind, type TaskViewer } from './task-cursor.ts'

export interface ResumePoint {
  readonly start: StreamStart
  readonly gap: boolean
  /** The client still has the task as it was at the position. */
  readonly isKept: boolean
}

/**
 * `41`, or `41~cbf43926` with the checksum that came with event 41; `41;kept` from a client that still has the task of that
 * position.
 */
const POSITION = /^(\d{1,15})(?:~([0-9a-f]{8}))?(;kept)?$/

export async function resumeFrom(service: Service, stored: StoredRun, after: string): Promise<ResumePoint> {
  const { run, first, next } = stored
  const [, digits, checksum, kept] = POSITION.exec(after) ?? []
  if (digits === undefined)
    throw new HoldfastError('cursor_invalid', `${JSON.stringify(after.slice(0, 100))} is not a valid event position`)
  if (first > 0) return { start: { kind: 'index', index: next - 1 }, gap: true, isKept: false }
  const sequence = Number(digits)
  const view = service.views.open(stored, taskKind)
  const { state: task } = await view.current(next)
  if (checksum !== undefined && checksumOfOrigin(await originOf(view, sequence)) !== checksum)
    throw new HoldfastError(
      'log_changed',
      `task ${run.id}: event ${sequence} differs from the one at this position; the log was restored or lost events. Get the task again`,
    )
  if (sequence >= task.sequence)
    throw new HoldfastError(
      'cursor_invalid',
      `task ${run.id} has events 0 to ${task.sequence - 1}; event ${sequence} does not exist`,
    )
  return { start: { kind: 'sequence', sequence }, gap: false, isKept: kept !== undefined }
}

/** Checksum in a position, since an index alone could point into a restored log. */
export function checksumOfOrigin(origin: Origin | undefined): string | undefined {
  if (origin === undefined) return undefined
  const { index, time, type } = origin
  return checksumOf(new TextEncoder().encode(`${index} ${time} ${type}`))
}

/** The log event of an A2A event; undefined if there is none. */
async function originOf(view: TaskViewer, sequence: number): Promise<Origin | undefined> {
  for await (const { frames, after } of view.steps(view.nearest({ event: Infinity, frame: sequence }))) {
    const found = [...frames, ...(after.state.buffered ?? [])].find((frame) => frame.sequence === sequence)
    if (found !== undefined) return found.origin
  }
  return undefined
}
