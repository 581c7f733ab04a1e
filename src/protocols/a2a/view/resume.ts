/** Resumes a subscription at a position: exactly the later events, or a gap notice (docs/a2a-resume-extension.md). */
import { HoldfastError } from '../../../core/model/errors.ts'
import type { Principal } from '../../../core/model/principal.ts'
import type { Projection } from '../../../core/ports/projection.ts'
import type { Service } from '../../../core/service.ts'
import type { StoredRun } from '../../../core/ports/store.ts'
import { foldRun } from '../../../http/view.ts'
import { checksumOf } from '../../../sse/checksum.ts'
import { type StreamStart, type Origin, type TaskFold, taskProjection } from './projection.ts'

export interface ResumePoint {
  readonly beginning: StreamStart
  readonly gap: boolean
}

/** `41`, or `41~cbf43926` with the checksum that came with event 41. */
const POSITION = /^(\d{1,15})(?:~([0-9a-f]{8}))?$/

export async function resumeFrom(
  service: Service,
  principal: Principal,
  { run, first, next }: StoredRun,
  after: string,
): Promise<ResumePoint> {
  const [, digits, checksum] = POSITION.exec(after) ?? []
  if (digits === undefined)
    throw new HoldfastError('cursor_invalid', `${JSON.stringify(after.slice(0, 100))} is not a valid event position`)
  if (first > 0) return { beginning: { kind: 'index', index: next - 1 }, gap: true }
  const sequence = Number(digits)
  const { task, origin } = await foldRun(service, principal, run.id, originAt(sequence), { isLookup: true })
  if (checksum !== undefined && checksumOfOrigin(origin) !== checksum)
    throw new HoldfastError(
      'log_changed',
      `task ${run.id}: event ${sequence} differs from the one at this position; the log was restored or lost events. Get the task again`,
    )
  if (sequence >= task.sequence)
    throw new HoldfastError(
      'cursor_invalid',
      `task ${run.id} has events 0 to ${task.sequence - 1}; event ${sequence} does not exist`,
    )
  return { beginning: { kind: 'sequence', sequence }, gap: false }
}

/** Checksum in a position, since an index alone could point into a restored log. */
export function checksumOfOrigin(origin: Origin | undefined): string | undefined {
  if (origin === undefined) return undefined
  const { index, time, type } = origin
  return checksumOf(new TextEncoder().encode(`${index} ${time} ${type}`))
}

interface FoundFrame {
  readonly task: TaskFold
  /** Origin of the requested event. */
  readonly origin: Origin | undefined
}

function originAt(wanted: number): Projection<FoundFrame, never> {
  return {
    initial: (run) => ({ task: taskProjection.initial(run), origin: undefined }),
    apply({ task: before, origin }, event) {
      const { state: task } = taskProjection.apply(before, event)
      const isHere = before.sequence <= wanted && wanted < task.sequence
      return { state: { task, origin: isHere ? task.origin : origin }, frames: [] }
    },
  }
}
