/** Errors before a stream starts: problem JSON (RFC 9457). */
import type { ErrorCode, HoldfastError } from '../../../core/model/errors.ts'
import { serialize } from '../../../core/model/serialize.ts'
import type { ErrorResponse } from '../../../http/routing/route.ts'

const titles: Readonly<Record<ErrorCode, string>> = {
  invalid_request: 'Invalid request',
  cursor_invalid: 'Invalid cursor',
  unauthenticated: 'Authentication required',
  forbidden: 'Not allowed',
  not_found: 'Not found',
  method_not_allowed: 'Method not allowed',
  conflict: 'Conflict with the current state',
  session_busy: 'The session is busy',
  idempotency_conflict: 'The idempotency key was used for another request',
  log_changed: 'The log has changed',
  cursor_expired: 'The events were trimmed',
  too_large: 'Too large',
  unsupported: 'Not supported',
  quota_exceeded: 'Storage quota exceeded',
  rate_limited: 'Rate limit exceeded',
  unavailable: 'Temporarily unavailable',
  log_damaged: 'Events of the run are corrupt',
  internal: 'Internal error',
  agent_failed: 'The agent failed',
  unserializable: 'The agent emitted a value that cannot be serialized',
  output_too_large: 'The agent emitted a value that is too large',
  invalid_input: 'The stored input does not match the input schema',
  invalid_output: 'The output does not match the output schema',
  invalid_answer: 'Too many answers did not match the schema of their question',
  protocol_violation: 'The agent emitted an invalid event',
  deadline_exceeded: 'The deadline has passed',
  idle_timeout: 'The agent was idle for too long',
  interrupted: 'The run was interrupted',
  uncertain_tool: 'A tool call is uncertain',
  diverged: 'The code no longer matches the log',
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

/** Details may come from a component and may not be serializable. */
function toJson(body: object): string {
  return serialize(body, 'problem', { maxDepth: 50, maxBytes: 1024 * 1024 })
}
