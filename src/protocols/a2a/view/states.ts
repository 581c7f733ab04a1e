/** Task states: their effect on streams, and their names in 0.3. */
import type { Question } from '../../../core/model/event.ts'
import type { Run, RunStatus } from '../../../core/model/run.ts'

interface StateRule {
  /** Final. */
  readonly terminal: boolean
  /** The task waits for input or credentials. */
  readonly interrupted: boolean
  /**
   * The stream ends in this state. Streams stay open while waiting for out-of-band credentials, because the task then continues without
   * a message.
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

/** Whether a blocking send returns: the task is finished or waits for input. */
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

/** Hints of an agent to this protocol, in a question's `details` under `a2a`. */
interface QuestionHints {
  /** The question asks for credentials. */
  readonly state?: 'auth-required'
  /** The answer is the whole message rather than its content. */
  readonly answer?: 'message'
}

export function hintsOf({ details }: Question): QuestionHints {
  const hints = (details as { a2a?: unknown } | null | undefined)?.a2a
  return typeof hints === 'object' && hints !== null ? hints : {}
}

/** Input takes precedence over credentials. */
export function waitingState(questions: readonly Question[]): TaskState {
  const allAuth = questions.length > 0 && questions.every((question) => hintsOf(question).state === 'auth-required')
  return allAuth ? 'TASK_STATE_AUTH_REQUIRED' : 'TASK_STATE_INPUT_REQUIRED'
}
