/** Errors outside of all protocols: problem JSON (RFC 9457). */
import type { HoldfastError } from '../../core/model/errors.ts'
import type { ErrorResponse } from '../routing/route.ts'

export function toProblemResponse(error: HoldfastError, requestId: string): ErrorResponse {
  const { code, status, retryable } = error
  const body = {
    type: `urn:holdfast:error:${code}`,
    title: code,
    status,
    detail: error.message,
    code,
    retryable,
    requestId,
  }
  return { status, contentType: 'application/problem+json', body: JSON.stringify(body) }
}
