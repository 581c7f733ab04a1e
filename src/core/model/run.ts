/** A run's state: a pure fold of its lifecycle events. */
import { statusAfter, terminalStatusOf } from '../structure/run-status.ts'
import { assert } from './errors.ts'
import {
  type Branch,
  type EventData,
  eventTable,
  type EventType,
  type Failure,
  type LoggedEvent,
  type Question,
  type Suspect,
} from './event.ts'

export type RunStatus = 'queued' | 'running' | 'paused' | 'completed' | 'failed' | 'cancelled' | 'rejected'

/** The state of a run. Stores keep it beside the log, so that listing reads no logs. */
export interface Run {
  readonly id: string
  readonly component: string
  /** Version of the component that executed it last, or that accepted it. */
  readonly version?: string
  readonly session: string
  /** Key of the principal that started it (SEC-1). */
  readonly owner: string
  readonly status: RunStatus
  readonly createdAt: string
  readonly updatedAt: string
  readonly startedAt?: string
  readonly finishedAt?: string
  /** Number of starts. */
  readonly attempt: number
  /** Number of attempts that ended because their worker died or its store was unavailable for too long. */
  readonly interruptions?: number
  /** Absent unless the current attempt followed an interruption. */
  readonly suspect?: Suspect
  /** Its worker released it for another one to resume. */
  readonly released?: true
  readonly metadata?: Readonly<Record<string, unknown>>
  /** Protocol of the start request. */
  readonly protocol?: string
  readonly branch?: Branch
  /** Runs of one lane execute one at a time, oldest first. */
  readonly lane?: string
  /** Open questions of a paused run. */
  readonly waiting?: readonly Question[]
  /** When a paused run can be claimed again because its first question expires, in milliseconds since 1970. */
  readonly wakeAt?: number
  readonly error?: Failure
  /** Reason of a rejection or cancellation, if given. */
  readonly reason?: string
}

type Lifecycle = Exclude<EventType, 'run.created'> & `${'run' | 'stop' | 'attempt'}.${string}`

/** State machine: the lifecycle events that may follow each status. Any other one is a bug in Holdfast. */
const followers: Readonly<Record<RunStatus, readonly Lifecycle[]>> = {
  queued: ['run.started', 'stop.requested', 'run.failed', 'run.cancelled', 'run.rejected'],
  running: [
    'run.started',
    'run.paused',
    'run.released',
    'stop.requested',
    'attempt.discarded',
    'run.completed',
    'run.failed',
    'run.cancelled',
    'run.rejected',
  ],
  paused: [
    'run.paused', // another question, while the first one is open
    'run.resumed',
    'stop.requested',
    'attempt.discarded', // another branch failed, while this one waits
    'run.failed',
    'run.cancelled',
  ],
  completed: [],
  failed: [],
  cancelled: [],
  rejected: [],
}

export const terminalStatuses: readonly RunStatus[] = Object.values(terminalStatusOf)

export const unfinishedStatuses: readonly RunStatus[] = ['queued', 'running', 'paused']

/** Whether a run with this status has ended. */
export function isFinished(status: RunStatus): boolean {
  return terminalStatuses.includes(status)
}

/** The run after an event. Content events return the same object. */
export function reduce(run: Run, event: LoggedEvent): Run {
  const effect = eventTable[event.type].effect
  if (effect === 'content') return run
  const isAllowed = followers[run.status].includes(event.type as Lifecycle)
  assert(isAllowed, `run ${run.id}: ${event.type} cannot follow ${run.status}`)
  const next: Run = { ...run, status: statusAfter(run.status, event.type), updatedAt: event.time }
  switch (event.type) {
    case 'run.started':
      return restart(next, run, event)
    case 'run.released':
      return release(next, event.data.reason)
    case 'run.paused':
      return pause(next, event.data.questions)
    case 'run.resumed':
      return { ...unpause(next), ...versionIn(event.data) }
    default:
      return effect === 'terminal' ? finish(unpause(next), event) : next
  }
}

/** A run that its node gave up during a store outage counts as interrupted. */
function release(run: Run, reason: EventData['run.released']['reason']): Run {
  const { interruptions = 0 } = run
  return { ...run, released: true, ...(reason === 'store_unavailable' && { interruptions: interruptions + 1 }) }
}

function restart(next: Run, run: Run, event: Extract<LoggedEvent, { type: 'run.started' }>): Run {
  const { released, interruptions = 0, suspect: _suspect, version: _version, ...rest } = next
  const { attempt, suspect } = event.data
  const interrupted = run.status === 'running' && released === undefined ? interruptions + 1 : interruptions
  return {
    ...rest,
    attempt,
    ...versionIn(event.data),
    startedAt: run.startedAt ?? event.time,
    ...(interrupted > 0 && { interruptions: interrupted }),
    ...(suspect !== undefined && { suspect }),
  }
}

function versionIn({ version }: { readonly version?: string }): { readonly version?: string } {
  return version === undefined ? {} : { version }
}

function pause(run: Run, waiting: readonly Question[]): Run {
  const deadlines = waiting.flatMap(({ deadline }) => (deadline === undefined ? [] : [Date.parse(deadline)]))
  return { ...unpause(run), waiting, ...(deadlines.length > 0 && { wakeAt: Math.min(...deadlines) }) }
}

function unpause(run: Run): Run {
  const { waiting: _waiting, wakeAt: _wakeAt, ...rest } = run
  return rest
}

function finish(run: Run, event: LoggedEvent): Run {
  const finished: Run = { ...run, finishedAt: event.time }
  switch (event.type) {
    case 'run.failed':
      return { ...finished, error: event.data.error }
    case 'run.rejected':
    case 'run.cancelled':
      return event.data.reason === undefined ? finished : { ...finished, reason: event.data.reason }
    default:
      return finished
  }
}
