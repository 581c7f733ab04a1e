/**
 * Relays updates of an A2A upstream: all their fields, with this server's ids. The end of a task, and a pause, are sent with
 * Holdfast's own event and the fields of the upstream's (RUN-3).
 */
import type * as A2a from '../../../a2a/types.ts'
import { eventTable, type LoggedEvent, type LoggedEventOf } from '../../../core/model/event.ts'
import type { Run } from '../../../core/model/run.ts'
import { actorKey } from '../../../core/structure/actors.ts'
import { retractedFrom } from '../../../core/structure/retraction.ts'
import type { Message, StatusUpdate, StreamResponse, Task, TaskStatus } from '../wire/wire.ts'
import { type TaskState, taskStates } from './states.ts'

export interface TaskRelay {
  /** The last event of the upstream is in the log, and the following events are derived from it. */
  readonly isVerbatim: boolean
  /** The upstream's task without ids, status and artifacts. */
  readonly head: Pick<Task, 'history' | 'metadata'> | undefined
  /** The upstream's status, if it is also the status here. */
  readonly status: TaskStatus | undefined
  /** The upstream's event that ended or paused the task. */
  readonly end: StatusUpdate | undefined
  /** The message with which the upstream responded instead of a task. */
  readonly answer: Message | undefined
}

const BEGINNING: TaskRelay = {
  isVerbatim: false,
  head: undefined,
  status: undefined,
  end: undefined,
  answer: undefined,
}

/** After a retry, derived events are shown until the upstream sends its first event. */
export function relayAfter(relay: TaskRelay | undefined, event: LoggedEvent): TaskRelay | undefined {
  switch (event.type) {
    case 'run.created':
      return event.data.upstream === 'a2a' ? BEGINNING : undefined
    case 'run.started':
      return relay && event.data.attempt > 1 ? { ...relay, isVerbatim: false } : relay
    case 'run.resumed':
      return relay && { ...relay, end: undefined }
    case 'attempt.discarded': {
      if (relay === undefined || retractedFrom(event, actorKey(undefined)) === Infinity) return relay
      return { ...relay, isVerbatim: false, end: undefined, answer: undefined }
    }
    default:
      return relay
  }
}

/** Whether the upstream's own update already shows an event. */
export function isShown(relay: TaskRelay | undefined, { type, actor }: LoggedEvent): boolean {
  if (relay?.isVerbatim !== true || relay.answer !== undefined || actor !== undefined) return false
  return eventTable[type].effect === 'content' && type !== 'upstream.received'
}

/** The upstream's update with this server's ids. Undefined if only the derived events are logged. */
export function updateIn({ data }: LoggedEventOf<'upstream.received'>, run: Run): StreamResponse | undefined {
  const update = { [data.name]: data.data } as Partial<Record<string, unknown>>
  if (typeof data.data !== 'object' || data.data === null) return undefined
  const ids = { taskId: run.id, contextId: run.session }
  if ('task' in update) return { task: ownTask(update['task'] as A2a.Task, run) }
  if ('message' in update) return { message: ownMessage(update['message'] as Message, run) }
  if ('artifactUpdate' in update)
    return { artifactUpdate: { ...(update['artifactUpdate'] as A2a.ArtifactUpdate), ...ids } }
  if (!('statusUpdate' in update)) return undefined
  const { status, ...rest } = update['statusUpdate'] as A2a.StatusUpdate
  return { statusUpdate: { ...rest, ...ids, status: ownStatus(status, run) } }
}

function ownTask({ history, status, ...rest }: A2a.Task, run: Run): Task {
  return {
    ...rest,
    id: run.id,
    contextId: run.session,
    status: ownStatus(status, run),
    ...(history !== undefined && { history: history.map((message) => ownMessage(message, run)) }),
  }
}

function ownMessage(message: Message, run: Run): Message {
  const { taskId, contextId } = message
  return {
    ...message,
    ...(taskId !== undefined && { taskId: run.id }),
    ...(contextId !== undefined && { contextId: run.session }),
  }
}

function ownStatus({ state, message, timestamp, ...rest }: A2a.TaskStatus, run: Run): TaskStatus {
  return {
    ...rest,
    state: isKnown(state) ? state : 'TASK_STATE_WORKING',
    ...(message !== undefined && { message: ownMessage(message, run) }),
    ...(timestamp !== undefined && { timestamp: inZone(timestamp) }),
  }
}

function isKnown(state: A2a.TaskState): state is TaskState {
  return Object.hasOwn(taskStates, state)
}

/** Adds a time zone: official clients reject a time without one, which some servers send. */
function inZone(timestamp: string): string {
  return /T[\d:.]+$/.test(timestamp) ? `${timestamp}Z` : timestamp
}
