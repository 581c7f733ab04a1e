/** MCP errors: JSON-RPC error objects with Holdfast's code in `data`. */
import { type ErrorCode, HoldfastError } from '../../../core/model/errors.ts'
import type { ErrorResponse } from '../../../http/routing/route.ts'

export const PARSE_ERROR = -32_700
export const INVALID_REQUEST = -32_600
export const METHOD_NOT_FOUND = -32_601
export const INVALID_PARAMS = -32_602
const INTERNAL_ERROR = -32_603
/** An error without a code of its own in the protocol. */
const REFUSED = -32_000
export const HEADER_MISMATCH = -32_020
export const MISSING_CAPABILITY = -32_021
export const UNSUPPORTED_VERSION = -32_022

const codes: Readonly<Record<ErrorCode, number>> = {
  invalid_request: INVALID_PARAMS,
  cursor_invalid: INVALID_PARAMS,
  unauthenticated: REFUSED,
  forbidden: REFUSED,
  not_found: INVALID_PARAMS,
  method_not_allowed: REFUSED,
  conflict: INVALID_PARAMS,
  session_busy: REFUSED,
  idempotency_conflict: INVALID_PARAMS,
  log_changed: INVALID_PARAMS,
  cursor_expired: INVALID_PARAMS,
  too_large: INVALID_PARAMS,
  unsupported: INVALID_PARAMS,
  quota_exceeded: REFUSED,
  rate_limited: REFUSED,
  unavailable: INTERNAL_ERROR,
  log_damaged: INTERNAL_ERROR,
  internal: INTERNAL_ERROR,
  agent_failed: INTERNAL_ERROR,
  unserializable: INTERNAL_ERROR,
  output_too_large: INTERNAL_ERROR,
  invalid_input: INTERNAL_ERROR,
  invalid_output: INTERNAL_ERROR,
  invalid_answer: INTERNAL_ERROR,
  protocol_violation: INTERNAL_ERROR,
  deadline_exceeded: INTERNAL_ERROR,
  idle_timeout: INTERNAL_ERROR,
  interrupted: INTERNAL_ERROR,
  uncertain_tool: INTERNAL_ERROR,
  diverged: INTERNAL_ERROR,
  fenced: INTERNAL_ERROR,
  closed: INTERNAL_ERROR,
}

interface RpcDetails {
  /** Overrides the code of the table. */
  readonly code: number
  /** HTTP status. Default: 200, as for every request that reached a method. */
  readonly status?: number
  readonly data?: Readonly<Record<string, unknown>>
}

/** An error that only this protocol has. */
export function rpcError(
  code: number,
  message: string,
  about: Omit<RpcDetails, 'code'> & { readonly as?: ErrorCode } = {},
): HoldfastError {
  const { as = 'invalid_request', ...rest } = about
  const mcp: RpcDetails = { code, ...rest }
  return new HoldfastError(as, message, { details: { mcp } })
}

export interface RpcErrorObject {
  readonly code: number
  readonly message: string
  readonly data: Readonly<Record<string, unknown>>
}

export function toRpcError(error: HoldfastError): RpcErrorObject {
  const { code: named, message, retryAfterMs } = error
  const { code = codes[named], data } = detailsIn(error)
  return { code, message, data: { code: named, ...(retryAfterMs !== undefined && { retryAfterMs }), ...data } }
}

/** JSON-RPC reports problems of a request, HTTP those of the credential. */
export function statusOf(error: HoldfastError): number {
  const isAboutCredential = error.code === 'forbidden' || error.code === 'unauthenticated'
  return detailsIn(error).status ?? (isAboutCredential ? error.status : 200)
}

function detailsIn({ details }: HoldfastError): Partial<RpcDetails> {
  return details?.['mcp'] ?? {}
}

/** Errors before the message was read are also reported by HTTP status. */
export function toErrorResponse(error: HoldfastError, requestId: string): ErrorResponse {
  return {
    status: error.status,
    contentType: 'application/json; charset=utf-8',
    headers: { 'x-request-id': requestId, 'holdfast-error': error.code },
    body: JSON.stringify({ jsonrpc: '2.0', id: null, error: toRpcError(error) }),
  }
}
