/** Maps A2A client errors to run failures. */
import { A2aError } from '../../a2a/errors.ts'
import { ApiError, ClientError } from '../../client/errors.ts'
import { WorkFailure } from '../../core/ports/component.ts'

export function asFailure(thrown: unknown): unknown {
  if (!(thrown instanceof ClientError)) return thrown
  const { message, code, retryable } = thrown
  if (thrown instanceof A2aError) {
    const details = { reason: code, wireCode: thrown.wireCode }
    return new WorkFailure({ code: 'agent_failed', message: `the remote agent: ${message}`, details })
  }
  if (retryable) return new WorkFailure({ code: 'unavailable', message, retryable })
  if (thrown instanceof ApiError)
    return new WorkFailure({ code: 'agent_failed', message, details: { status: thrown.status } })
  return new WorkFailure({ code: code === 'unsupported' ? 'unsupported' : 'protocol_violation', message })
}
