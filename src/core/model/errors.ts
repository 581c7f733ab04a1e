/** Operational errors: one class and a closed table of codes. Each protocol maps the codes to its own form. */
import { acrossCopies } from './across-copies.ts'

export interface ErrorEntry {
  /** HTTP status, if no stream has started yet. */
  readonly status: number
  /** Whether the same request may succeed later. */
  readonly retryable: boolean
  /** Meaning, for the documentation. */
  readonly meaning: string
  /** Used only between a store and the engine; clients never see it. */
  readonly internal?: true
}

export const errorTable = {
  invalid_request: {
    status: 400,
    retryable: false,
    meaning: 'The body or a parameter is invalid; the message names it.',
  },
  cursor_invalid: {
    status: 400,
    retryable: false,
    meaning: 'The cursor is malformed, of another run, or beyond the end of the log.',
  },
  unauthenticated: { status: 401, retryable: false, meaning: 'The credential is missing or invalid.' },
  forbidden: { status: 403, retryable: false, meaning: 'The credential does not allow this.' },
  not_found: { status: 404, retryable: false, meaning: 'No such component or run, or it belongs to someone else.' },
  method_not_allowed: {
    status: 405,
    retryable: false,
    meaning: 'The path does not support this method; the Allow header lists those it does.',
  },
  conflict: { status: 409, retryable: false, meaning: 'The run is not in the required state.' },
  session_busy: {
    status: 409,
    retryable: true,
    meaning: 'The session has an unfinished run and its policy is to reject another.',
  },
  log_changed: {
    status: 409,
    retryable: false,
    meaning: 'The cursor names an event that the log does not hold: it was restored, or a failover lost events.',
  },
  idempotency_conflict: { status: 409, retryable: false, meaning: 'The idempotency key was used with another body.' },
  cursor_expired: {
    status: 410,
    retryable: false,
    meaning: 'Events after the cursor were trimmed; details.earliest is the first one kept.',
  },
  too_large: { status: 413, retryable: false, meaning: 'A body, header or value is over its limit.' },
  unsupported: { status: 422, retryable: false, meaning: 'This component, store or protocol version cannot do that.' },
  quota_exceeded: {
    status: 507,
    retryable: false,
    meaning: 'The principal has reached its storage quota; delete runs or sessions.',
  },
  rate_limited: { status: 429, retryable: true, meaning: 'Too many requests; retry after the given time.' },
  unavailable: { status: 503, retryable: true, meaning: 'The store cannot be reached or the server is shutting down.' },
  log_damaged: {
    status: 500,
    retryable: false,
    meaning: 'Stored events of the run are damaged or lost; details.first and details.last say which.',
  },
  internal: {
    status: 500,
    retryable: true,
    meaning: 'A bug in the server; its log has the details under the error id.',
  },
  // Failures of runs. They appear in run.failed, and as a status in protocols that report failed runs by status.
  agent_failed: { status: 502, retryable: false, meaning: 'The agent threw, or emitted run.failed.' },
  unserializable: {
    status: 502,
    retryable: false,
    meaning: 'The agent emitted a value that cannot be serialized; details name the event and the path.',
  },
  output_too_large: {
    status: 502,
    retryable: false,
    meaning:
      'The agent emitted a value that exceeds the size limit of an event; details name the event, the path and the limit.',
  },
  invalid_input: {
    status: 502,
    retryable: false,
    meaning:
      'A stored input, or one that another component passed, does not match the input schema; details.issues name the paths.',
  },
  invalid_output: {
    status: 502,
    retryable: false,
    meaning: 'The output of the agent does not match its output schema; details.issues name the paths.',
  },
  invalid_answer: {
    status: 502,
    retryable: false,
    meaning: 'Too many answers to one question did not match its schema; details.issues name the paths.',
  },
  protocol_violation: {
    status: 502,
    retryable: false,
    meaning:
      'The agent broke a rule of the component interface: it emitted something that is not an event, exceeded a work limit, or ran two steps with the same name and key at once. The message says which.',
  },
  deadline_exceeded: { status: 504, retryable: true, meaning: 'The run took longer than its deadline.' },
  idle_timeout: {
    status: 504,
    retryable: true,
    meaning: 'The agent emitted nothing for longer than its idle timeout.',
  },
  interrupted: {
    status: 503,
    retryable: true,
    meaning: 'The process that executed the run died or gave it up, and the run could not be recovered.',
  },
  uncertain_tool: {
    status: 502,
    retryable: false,
    meaning: 'A tool call was interrupted, may have had its effect, and is not declared idempotent.',
  },
  diverged: {
    status: 502,
    retryable: false,
    meaning: 'The code of the component no longer matches the log of the run; details say where.',
  },
  // Refusals of a store. Callers of the service never see them.
  fenced: { status: 500, retryable: false, meaning: 'The writer lost its lease to another worker.', internal: true },
  closed: { status: 500, retryable: false, meaning: 'The log already has its terminal event.', internal: true },
} as const satisfies Record<string, ErrorEntry>

export type ErrorCode = keyof typeof errorTable

/** Options of `HoldfastError`. */
export interface HoldfastErrorOptions {
  readonly cause?: unknown
  /** For the operator: in the server log and on the command line, never sent to a client. */
  readonly internalMessage?: string
  /** Machine-readable facts, sent to the caller. */
  readonly details?: Readonly<Record<string, unknown>>
  /** For `rate_limited` and `unavailable`. */
  readonly retryAfterMs?: number
}

/** An operational error with a code from a closed table. Each protocol maps the code to its own form. */
export class HoldfastError extends Error {
  static {
    acrossCopies(this, 'HoldfastError')
  }

  override readonly name = 'HoldfastError'
  readonly code: ErrorCode
  readonly internalMessage: string | undefined
  readonly details: Readonly<Record<string, unknown>> | undefined
  readonly retryAfterMs: number | undefined

  constructor(code: ErrorCode, message: string, options: HoldfastErrorOptions = {}) {
    super(message.slice(0, MESSAGE_CHARS_MAX), options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.internalMessage = options.internalMessage
    this.details = options.details
    this.retryAfterMs = options.retryAfterMs
  }

  get status(): number {
    return errorTable[this.code].status
  }

  get retryable(): boolean {
    return errorTable[this.code].retryable
  }
}

/** Whether a thrown value is a `HoldfastError`, optionally one with this code. */
export function isHoldfastError(value: unknown, code?: ErrorCode): value is HoldfastError {
  return value instanceof HoldfastError && (code === undefined || value.code === code)
}

/** Message of a thrown value for the server log. For clients use `messageOf`. */
export function detailOf(thrown: unknown): string {
  return (isHoldfastError(thrown) ? thrown.internalMessage : undefined) ?? messageOf(thrown)
}

/** `not_found`. The id may come from a client, so the message has a part of it only. */
export function runNotFound(id: string): HoldfastError {
  return new HoldfastError('not_found', `run ${id.slice(0, 100)} not found`)
}

/**
 * `unavailable` for a store error. The store's own message may contain addresses, file names and SQL, so it is logged and not sent
 * to clients.
 */
export function storeUnavailable(
  internalMessage: string,
  options: Omit<HoldfastErrorOptions, 'internalMessage'> = {},
): HoldfastError {
  return new HoldfastError('unavailable', STORE_UNAVAILABLE, { ...options, internalMessage })
}

export const STORE_UNAVAILABLE = 'the store is unavailable'

/** Message of a thrown value. */
export function messageOf(thrown: unknown): string {
  try {
    return String(thrown instanceof Error ? thrown.message || thrown.name : thrown).slice(0, MESSAGE_CHARS_MAX)
  } catch {
    return 'a value that cannot be shown'
  }
}

/** Bounds messages: they may quote everything that a client sent, and must fit into an event. */
const MESSAGE_CHARS_MAX = 10_000

/** Returns the thrown value, or a substitute error if inspecting it throws: a revoked proxy, a throwing getter. */
export function readable(thrown: unknown): unknown {
  try {
    if (!(thrown instanceof Error)) return thrown
    const { name: _name, message: _message, stack: _stack } = thrown
    return thrown
  } catch {
    return new Error(messageOf(thrown))
  }
}

/** Asserts an invariant. A failure is a bug in Holdfast. */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new Error(`assertion failed: ${message}`)
}
