/** Maps A2A client errors to run failures. */
import { A2aError } from '../../a2a/errors.ts'
import { ApiError, ClientError } from '../../client/errors.ts'
import { WorkFailure } from '../../core/ports/component.ts'

export function asFailure(thrown: unknown): unknown {
  if (!(thrown instanceof ClientError)) return thrown
  const { message, code, retryable } = thrown
  if (thrown instanceof A2aError) {
    const details = { reason: code, wireCode: thrown.wireCode }
    const lost = code === 'task_not_found'
    return new WorkFailure({
      code: lost ? 'upstream_lost_run' : 'agent_failed',
      message: `the remote agent: ${message}`,
      details,
    })
  }
  if (retryable) return new WorkFailure({ code: 'upstream_unreachable', message, retryable })
  if (thrown instanceof ApiError)
    return new WorkFailure({ code: 'upstream_http_error', message, details: { status: thrown.status } })
  return new WorkFailure({ code: code === 'unsupported' ? 'unsupported' : 'upstream_protocol_error', message })
}
