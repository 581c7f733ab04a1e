/** Errors before a stream starts. The AI SDK shows the body of the response to the user, so it is the message alone. */
import type { HoldfastError } from '../../../core/model/errors.ts'
import type { ErrorResponse } from '../../../http/routing/route.ts'

export function toErrorText({ message, status, code }: HoldfastError, requestId: string): ErrorResponse {
  return {
    status,
    contentType: 'text/plain; charset=utf-8',
    headers: { 'x-request-id': requestId, 'holdfast-error': code },
    body: message,
  }
}
