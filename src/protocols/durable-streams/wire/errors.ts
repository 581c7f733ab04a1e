/** Errors of Durable Streams: an HTTP status with the protocol's headers, and an explanation as body. */
import { type ErrorCode, HoldfastError } from '../../../core/model/errors.ts'
import type { ErrorResponse } from '../../../http/routing/route.ts'

/** An error with the headers that clients of this protocol evaluate. */
export function streamError(
  code: ErrorCode,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): HoldfastError {
  return new HoldfastError(code, message, { details: { durableStreams: headers } })
}

const SUBSCRIPTION_CODES = {
  INVALID_REQUEST: 'invalid_request',
  WEBHOOK_URL_REJECTED: 'invalid_request',
  TOKEN_INVALID: 'unauthenticated',
  SUBSCRIPTION_NOT_FOUND: 'not_found',
  SUBSCRIPTION_ALREADY_EXISTS: 'conflict',
  FENCED: 'conflict',
  ALREADY_CLAIMED: 'conflict',
  NO_PENDING_WORK: 'conflict',
  INVALID_OFFSET: 'conflict',
} as const satisfies Record<string, ErrorCode>

/** An error of the subscription routes, which have codes of their own. */
export function subscriptionError(
  code: keyof typeof SUBSCRIPTION_CODES,
  message: string,
  fields: Readonly<Record<string, unknown>> = {},
): HoldfastError {
  return new HoldfastError(SUBSCRIPTION_CODES[code], message, { details: { subscription: { code, ...fields } } })
}

/** The protocol defines error bodies for subscriptions only. Every code keeps its status. */
export function toErrorResponse(error: HoldfastError, requestId: string): ErrorResponse {
  const { code, message, details, status } = error
  const headers = (details?.['durableStreams'] ?? {}) as Readonly<Record<string, string>>
  return {
    status,
    contentType: 'application/json; charset=utf-8',
    headers: { 'x-request-id': requestId, 'holdfast-error': code, ...headers },
    body: JSON.stringify({ error: { code, message, ...(details?.['subscription'] as object | undefined) } }),
  }
}
