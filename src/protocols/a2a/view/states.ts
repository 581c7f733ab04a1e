/** The states of a task: one table that says what each does to a stream and what 0.3 calls it. */
import type { Question } from '../../../core/model/event.ts'
import type { Run, RunStatus } from '../../../core/model/run.ts'

interface StateRule {
  /** Nothing follows it, and it never changes. */
  readonly terminal: boolean
  /** The task waits for somebody. */
  readonly interrupted: boolean
  /**
   * A stream closes when the task comes to it. Whoever waits for credentials that come from elsewhere keeps its stream, since the
   * task then goes on without a message.
   */
  readonly endsStream: boolean
  readonly legacy: string
}

const working = { terminal: false, interrupted: false, endsStream: false } as const
const terminal = { terminal: true, interrupted: false, endsStream: true } as const

export const taskStates = {
  TASK_STATE_SUBMITTED: { ...working, legacy: 'submitted' },
  TASK_STATE_WORKING: { ...working, legacy: 'working' },
  TASK_STATE_COMPLETED: { ...terminal, legacy: 'completed' },
  TASK_STATE_FAILED: { ...terminal, legacy: 'failed' },
  TASK_STATE_CANCELED: { ...terminal, legacy: 'canceled' },
  TASK_STATE_REJECTED: { ...terminal, legacy: 'rejected' },
  TASK_STATE_INPUT_REQUIRED: { terminal: false, interrupted: true, endsStream: true, legacy: 'input-required' },
  TASK_STATE_AUTH_REQUIRED: { terminal: false, interrupted: true, endsStream: false, legacy: 'auth-required' },
} as const satisfies Record<string, StateRule>

export type TaskState = keyof typeof taskStates

/** Nothing more happens unless somebody acts: what a send that waits waits for. */
export function isSettled(state: TaskState): boolean {
  return taskStates[state].terminal || taskStates[state].interrupted
}

const byStatus: Readonly<Record<Exclude<RunStatus, 'paused'>, TaskState>> = {
  queued: 'TASK_STATE_SUBMITTED',
  running: 'TASK_STATE_WORKING',
  completed: 'TASK_STATE_COMPLETED',
  failed: 'TASK_STATE_FAILED',
  cancelled: 'TASK_STATE_CANCELED',
  rejected: 'TASK_STATE_REJECTED',
}

export function stateOf({ status, waiting = [] }: Pick<Run, 'status' | 'waiting'>): TaskState {
  return status === 'paused' ? waitingState(waiting) : byStatus[status]
}

/** What an agent can say to this wire in the `details` of a question, under `a2a`. */
interface QuestionHints {
  /** It waits for credentials. */
  readonly state?: 'auth-required'
  /** It is answered with the whole message and not with what the message says. */
  readonly answer?: 'message'
}

export function hintsOf({ details }: Question): QuestionHints {
  const hints = (details as { a2a?: unknown } | null | undefined)?.a2a
  return typeof hints === 'object' && hints !== null ? hints : {}
}

/** Input comes first: whoever can give that need not wait for a credential. */
export function waitingState(questions: readonly Question[]): TaskState {
  const allAuth = questions.length > 0 && questions.every((question) => hintsOf(question).state === 'auth-required')
  return allAuth ? 'TASK_STATE_AUTH_REQUIRED' : 'TASK_STATE_INPUT_REQUIRED'
}
