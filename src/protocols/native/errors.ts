/** Errors before a stream has begun: problem JSON (RFC 9457). */
import type { ErrorCode, HoldfastError } from '../../core/model/errors.ts'
import { serialize } from '../../core/model/serialize.ts'
import type { ErrorResponse } from '../../http/route.ts'

const titles: Readonly<Record<ErrorCode, string>> = {
  invalid_request: 'The request is wrong',
  cursor_invalid: 'The cursor is not one of this log',
  unauthenticated: 'Who are you?',
  forbidden: 'Not allowed',
  not_found: 'Not found',
  method_not_allowed: 'Not with this method',
  conflict: 'Not in this state',
  session_busy: 'The session is busy',
  idempotency_conflict: 'The idempotency key is taken',
  log_changed: 'The log is another one',
  cursor_expired: 'The events were trimmed',
  too_large: 'Too large',
  unsupported: 'Not supported',
  quota_exceeded: 'Too much is kept',
  rate_limited: 'Too many at once',
  unavailable: 'Not available now',
  log_damaged: 'Events of the run are damaged',
  internal: 'Internal error',
  agent_failed: 'The agent failed',
  unserializable: 'The agent emitted what cannot be serialized',
  protocol_violation: 'The agent emitted what is no event',
  deadline_exceeded: 'The deadline has passed',
  idle_timeout: 'The agent fell silent',
  interrupted: 'The run was interrupted',
  uncertain_tool: 'A tool call is uncertain',
  diverged: 'The code no longer fits the log',
  fenced: 'Internal error',
  closed: 'Internal error',
}

export function toProblem(error: HoldfastError, requestId: string): ErrorResponse {
  const { code, status, retryable, details } = error
  const body = {
    type: `urn:holdfast:error:${code}`,
    title: titles[code],
    status,
    detail: error.message,
    code,
    retryable,
    requestId,
    ...(details !== undefined && { details }),
  }
  return { status, contentType: 'application/problem+json', body: toJson(body) }
}

/** Details can come from a component, and hold anything. */
function toJson(body: object): string {
  return serialize(body, 'problem', { depthMax: 50, bytesMax: 1024 * 1024 })
}
