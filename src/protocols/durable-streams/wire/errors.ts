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

/** The protocol does not define error bodies. Every code keeps its status. */
export function toErrorResponse(error: HoldfastError, requestId: string): ErrorResponse {
  const { code, message, details, status } = error
  const headers = (details?.['durableStreams'] ?? {}) as Readonly<Record<string, string>>
  return {
    status,
    contentType: 'application/json; charset=utf-8',
    headers: { 'x-request-id': requestId, 'holdfast-error': code, ...headers },
    body: JSON.stringify({ error: { code, message } }),
  }
}
