/** Errors in AgentOS format: `{"detail": …}`, with a list of problems for invalid fields. */
import { type ErrorCode, HoldfastError } from '../../../core/model/errors.ts'
import { serialize } from '../../../core/model/serialize.ts'
import type { ErrorResponse } from '../../../http/routing/route.ts'

/** Statuses that differ from the other protocols. */
const statuses: Partial<Record<ErrorCode, number>> = { unsupported: 501 }

interface FieldIssue {
  readonly loc: readonly (string | number)[]
  readonly msg: string
  readonly type: string
}

/** A missing or invalid field, in FastAPI's format. */
export function fieldError(where: 'body' | 'query' | 'path', field: string, type: string, msg: string): HoldfastError {
  const issue: FieldIssue = { loc: [where, field], msg, type }
  return new HoldfastError('invalid_request', `${field}: ${msg}`, { details: { issues: [issue] } })
}

export function toDetail(error: HoldfastError, requestId: string): ErrorResponse {
  const issues = error.details?.['issues']
  const status = issues === undefined ? (statuses[error.code] ?? error.status) : 422
  const body = { detail: issues ?? error.message, error_code: error.code, request_id: requestId }
  return {
    status,
    contentType: 'application/json',
    body: serialize(body, 'error', { maxDepth: 50, maxBytes: 1024 * 1024 }),
  }
}
