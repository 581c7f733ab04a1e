/** Selects the events of a stream by its start. */
import type { LoggedEvent } from '../../../core/model/event.ts'
import type { Projection } from '../../../core/ports/projection.ts'
import type { Task } from '../wire/wire.ts'
import { beginTask, type TaskFold, type TaskFrame, taskProjection } from './projection.ts'
import { taskStates } from './states.ts'
import { taskOf } from './task.ts'

/** Where a stream starts: with a snapshot of the task, followed by all later events. */
export type StreamStart =
  /** From the start. */
  | { readonly kind: 'start' }
  /** After a log event. */
  | { readonly kind: 'index'; readonly index: number }
  /** At the answer to a question, searched from an index on. */
  | { readonly kind: 'answer'; readonly question: string; readonly from: number }
  /** After an A2A event. */
  | { readonly kind: 'sequence'; readonly sequence: number }

interface StreamState {
  readonly task: TaskFold
  readonly hasStarted: boolean
}

export function streamProjection(start: StreamStart): Projection<StreamState, TaskFrame> {
  return {
    initial: (run) => ({ task: beginTask(run), hasStarted: start.kind === 'start' }),
    apply({ task: before, hasStarted }, event) {
      const { state: task, frames } = taskProjection.apply(before, event)
      if (hasStarted) return { state: { task, hasStarted }, frames }
      const first = beginsWith(start, event, frames, task)
      if (first === undefined) return { state: { task, hasStarted }, frames: [] }
      const rest = start.kind === 'sequence' ? frames.filter(({ sequence }) => sequence > first.sequence) : []
      return { state: { task, hasStarted: true }, frames: [first, ...rest] }
    },
  }
}

function beginsWith(
  start: StreamStart,
  event: LoggedEvent,
  frames: readonly TaskFrame[],
  task: TaskFold,
): TaskFrame | undefined {
  switch (start.kind) {
    case 'index':
      return event.index === start.index ? snapshotFrame(task) : undefined
    case 'answer': {
      const isAnswer = event.type === 'run.resumed' && event.index >= start.from
      return isAnswer && Object.hasOwn(event.data.answers, start.question) ? snapshotFrame(task) : undefined
    }
    case 'sequence': {
      const found = frames.find(({ sequence }) => sequence === start.sequence)
      return found && snapshotFrame(found.fold)
    }
    case 'start':
      return undefined
  }
}

/** A snapshot of the task, with the number of the last event it includes. */
export function snapshotFrame(fold: TaskFold): TaskFrame {
  const update = fold.direct === undefined ? lazyTask(fold) : { message: fold.direct }
  const last = fold.direct !== undefined || taskStates[fold.state].terminal
  return { sequence: fold.sequence - 1, update, last, fold, origin: fold.origin }
}

/** Built lazily: streams show the task in a form of their own. */
function lazyTask(fold: TaskFold): { readonly task: Task } {
  return {
    get task() {
      return taskOf(fold)
    },
  }
}
