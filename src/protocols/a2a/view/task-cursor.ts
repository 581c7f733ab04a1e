/** A subscriber's position in the shared view of a task: where its stream starts, and which frames it gets. */
import type { Checkpoint, SharedView } from '../../../core/delivery/shared-view.ts'
import type { ViewStep } from '../../../core/delivery/view-step.ts'
import type { ViewKind } from '../../../core/delivery/view-cache.ts'
import type { ReferencedState } from '../../../core/delivery/view-memory.ts'
import { ViewPosition } from '../../../core/delivery/view-position.ts'
import { lastOf, recordsOf, type Slice, sliceAfter, sliceBefore } from '../../../core/model/slice.ts'
import type { Service } from '../../../core/service.ts'
import type { StoredRun } from '../../../core/ports/store.ts'
import type { SelectedFrames } from '../../../http/response/view.ts'
import { type TaskFold, type TaskFrame, taskProjection } from './projection.ts'
import { snapshotFrame, type StreamStart } from './stream-start.ts'

export type TaskViewer = SharedView<TaskFold, TaskFrame>

export const taskKind: ViewKind<TaskFold, TaskFrame> = {
  name: 'a2a',
  projection: taskProjection,
  position: ({ sequence }) => sequence,
  mayEnd: ({ last }) => last,
}

export interface TaskFrames {
  /** The task at the start of the stream, for this subscriber only. */
  readonly snapshot?: TaskFrame
  readonly taken?: SelectedFrames<TaskFold, TaskFrame>
}

export class TaskCursor {
  readonly view: TaskViewer
  readonly #start: StreamStart
  readonly #position: ViewPosition<TaskFold, TaskFrame>
  #hasStarted: boolean
  #ended = false
  /** The last frame that the snapshot includes. */
  #included = -1

  private constructor(view: TaskViewer, start: StreamStart) {
    this.view = view
    this.#start = start
    this.#hasStarted = start.kind === 'start'
    this.#position = new ViewPosition(view, checkpointFor(view, start))
  }

  static async open(
    service: Service,
    stored: Pick<StoredRun, 'run' | 'first'>,
    start: StreamStart,
  ): Promise<TaskCursor> {
    const view = service.views.open(stored, taskKind)
    if (start.kind !== 'start') await view.verify()
    return new TaskCursor(view, start)
  }

  /** The log index after which the subscription must start or continue. */
  get after(): number {
    return this.#position.at.index
  }

  get referenced(): ReferencedState {
    return this.#position.referenced
  }

  /** Whether the last frame of the stream was delivered. */
  get ended(): boolean {
    return this.#ended
  }

  take(slice: Slice): TaskFrames {
    if (this.#hasStarted) return { taken: this.#framesOf(this.#position.take(slice), 0) }
    if (this.#start.kind === 'sequence') return this.#startAtFrame(slice, this.#start.sequence)
    const start = startIn(slice, this.#start)
    if (start === undefined) {
      this.#position.take(slice)
      return {}
    }
    this.#position.take(sliceBefore(slice, start + 1))
    const snapshot = this.#begin(snapshotFrame(this.#position.at.state))
    if (start === lastOf(slice)) return { snapshot }
    return { snapshot, taken: this.#framesOf(this.#position.take(sliceAfter(slice, start)), 0) }
  }

  #startAtFrame(slice: Slice, sequence: number): TaskFrames {
    const step = this.#position.take(slice)
    const found = step.frames.findIndex((frame) => frame.sequence === sequence)
    if (found < 0) return {}
    const snapshot = this.#begin(snapshotFrame(step.frames[found]!.fold))
    return { snapshot, taken: this.#framesOf(step, found + 1) }
  }

  #begin(snapshot: TaskFrame): TaskFrame {
    this.#hasStarted = true
    this.#included = snapshot.sequence
    this.#ended = snapshot.last
    return snapshot
  }

  #includes({ sequence, last }: TaskFrame): boolean {
    return sequence <= this.#included && !last
  }

  #framesOf(step: ViewStep<TaskFold, TaskFrame>, from: number): SelectedFrames<TaskFold, TaskFrame> {
    // Frames that were buffered when the snapshot was taken.
    let begin = from
    while (step.frames[begin] !== undefined && this.#includes(step.frames[begin]!)) begin++
    if (this.#ended) return { step, begin, end: begin }
    const last = step.ends.find((index) => index >= begin)
    this.#ended = last !== undefined
    return { step, begin, end: last === undefined ? step.frames.length : last + 1 }
  }
}

/** A checkpoint near and before the start of a stream. */
function checkpointFor(view: TaskViewer, start: StreamStart): Checkpoint<TaskFold> {
  switch (start.kind) {
    case 'start':
      return view.start
    case 'index':
      return view.nearest({ event: start.index })
    case 'answer':
      return view.nearest({ event: start.from })
    case 'sequence':
      return view.nearest({ event: Infinity, frame: start.sequence })
  }
}

/** Index of the event after which a stream starts, if it is in a slice. */
function startIn(slice: Slice, start: StreamStart): number | undefined {
  if (start.kind === 'index') {
    const { index } = start
    return slice.first <= index && index <= lastOf(slice) ? index : undefined
  }
  if (start.kind !== 'answer') return undefined
  const { question, from } = start
  const answered = recordsOf(slice).find(
    ({ event }) => event.type === 'run.resumed' && event.index >= from && Object.hasOwn(event.data.answers, question),
  )
  return answered?.event.index
}
