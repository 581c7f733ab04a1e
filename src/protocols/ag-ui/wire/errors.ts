/** Errors before a stream starts. Clients show the text of the response; they handle `RUN_ERROR` only within a stream. */
import type { HoldfastError } from '../../../core/model/errors.ts'
import type { ErrorResponse } from '../../../http/routing/route.ts'

export function toErrorResponse({ message, status, code }: HoldfastError, requestId: string): ErrorResponse {
  return {
    status,
    contentType: 'application/json; charset=utf-8',
    headers: { 'x-request-id': requestId, 'holdfast-error': code },
    body: JSON.stringify({ type: 'RUN_ERROR', message, code }),
  }
}
