/** Errors in OpenAI's format, before and within streams. */
import { type ErrorCode, errorTable, HoldfastError } from '../../../core/model/errors.ts'
import type { Failure, LoggedEvent, Question } from '../../../core/model/event.ts'
import type { ErrorResponse } from '../../../http/routing/route.ts'

export interface ErrorObject {
  readonly message: string
  readonly type: string
  readonly param: string | null
  readonly code: string | null
}

/** The error of an unsuccessful run, for streams and complete responses. */
export interface EndError {
  readonly status: number
  readonly error: ErrorObject
}

interface ErrorText {
  readonly type: string
  /** OpenAI's own code, if it has one. */
  readonly code?: string
}

const wrong: ErrorText = { type: 'invalid_request_error' }
const ours: ErrorText = { type: 'server_error' }

const wordings: Readonly<Record<ErrorCode, ErrorText>> = {
  invalid_request: wrong,
  cursor_invalid: wrong,
  unauthenticated: { type: 'invalid_request_error', code: 'invalid_api_key' },
  forbidden: { type: 'permission_error' },
  not_found: wrong,
  method_not_allowed: wrong,
  conflict: wrong,
  session_busy: { type: 'conflict_error' },
  idempotency_conflict: wrong,
  log_changed: wrong,
  cursor_expired: wrong,
  too_large: { type: 'invalid_request_error', code: 'request_too_large' },
  unsupported: { type: 'invalid_request_error', code: 'unsupported_parameter' },
  quota_exceeded: { type: 'insufficient_quota', code: 'insufficient_quota' },
  rate_limited: { type: 'rate_limit_error', code: 'rate_limit_exceeded' },
  unavailable: ours,
  log_damaged: ours,
  internal: ours,
  agent_failed: ours,
  unserializable: ours,
  output_too_large: ours,
  invalid_input: ours,
  invalid_output: ours,
  invalid_answer: ours,
  protocol_violation: ours,
  deadline_exceeded: ours,
  idle_timeout: ours,
  interrupted: ours,
  uncertain_tool: ours,
  diverged: ours,
  fenced: ours,
  closed: ours,
}

/** Optional fields of an error. */
export interface ErrorDetails {
  readonly param?: string
  /** Overrides the code of the table. */
  readonly code?: string
}

export function refusal(message: string, about: ErrorDetails = {}): HoldfastError {
  return new HoldfastError('invalid_request', message, { details: { openai: about } })
}

export function unsupported(message: string, param: string): HoldfastError {
  return new HoldfastError('unsupported', message, { details: { openai: { param } } })
}

export function notFound(message: string, about: ErrorDetails): HoldfastError {
  return new HoldfastError('not_found', message, { details: { openai: about } })
}

export function toErrorObject(error: HoldfastError): ErrorObject {
  const about = (error.details?.['openai'] ?? {}) as ErrorDetails
  const { type, code = error.code } = wordings[error.code]
  return { message: error.message, type, param: about.param ?? null, code: about.code ?? code }
}

/** The SDKs retry 409 and 5xx unless a header tells them not to. */
export function toErrorResponse(error: HoldfastError, requestId: string): ErrorResponse {
  return errorResponse({ status: error.status, error: toErrorObject(error) }, error.retryable, {
    'x-request-id': requestId,
  })
}

/** A failed run. The same request would start another one, so an SDK must not retry it automatically. */
export function toEndErrorResponse(ended: EndError, headers: Readonly<Record<string, string>>): ErrorResponse {
  return errorResponse(ended, false, headers)
}

function errorResponse(
  { status, error }: EndError,
  retryable: boolean,
  headers: Readonly<Record<string, string>>,
): ErrorResponse {
  return {
    status,
    headers: { ...headers, ...(!retryable && { 'x-should-retry': 'false' }) },
    contentType: 'application/json; charset=utf-8',
    body: JSON.stringify({ error }),
  }
}

/** By the run's terminal event; undefined for success. */
export function endErrorOf(event: LoggedEvent): EndError | undefined {
  switch (event.type) {
    case 'run.failed':
      return failureError(event.data.error)
    case 'run.cancelled':
      // 499, which no client retries, unlike 409.
      return endError(499, 'cancelled', 'cancelled', `the run was cancelled${because(event.data.reason)}`)
    case 'run.rejected':
      return endError(422, 'invalid_request_error', 'rejected', `the agent refused${because(event.data.reason)}`)
    default:
      return undefined
  }
}

function failureError({ code, message }: Failure): EndError {
  const known = Object.hasOwn(errorTable, code) ? (code as ErrorCode) : 'agent_failed'
  return endError(errorTable[known].status, wordings[known].type, code, message)
}

/** The run asks a person, which a non-streaming response cannot wait for. */
export function waitingError(run: string, questions: readonly Question[]): EndError {
  const prompts = questions.map(({ prompt }) => prompt).join('; ')
  return endError(
    422,
    'invalid_request_error',
    'input_required',
    `run ${run} waits for an answer to: ${prompts}`.slice(0, MESSAGE_CHARS_MAX),
  )
}

/** The agent retracted sent text, and its new text differs. */
export function retractedError(response: string): ErrorObject {
  return {
    message: `the agent retracted its output; the run continues: retrieve the result as response ${response}`,
    type: 'server_error',
    param: null,
    code: 'output_withdrawn',
  }
}

function endError(status: number, type: string, code: string, message: string): EndError {
  return { status, error: { message, type, param: null, code } }
}

function because(reason: string | undefined): string {
  return reason === undefined ? '' : `: ${reason}`
}

const MESSAGE_CHARS_MAX = 2000
