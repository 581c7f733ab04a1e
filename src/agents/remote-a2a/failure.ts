/** Maps A2A client errors to run failures. */
import { A2aError } from '../../a2a/errors.ts'
import { ApiError, ClientError } from '../../client/errors.ts'
import { WorkError } from '../../core/ports/component.ts'
import { RemoteError } from '../shared/remote.ts'

/** A failed request without effect, which may be sent again or to another replica. */
export function asRemoteError(thrown: unknown): unknown {
  if (!(thrown instanceof ClientError) || thrown instanceof A2aError || !thrown.retryable) return asFailure(thrown)
  const { status, retryAfterMs } = thrown instanceof ApiError ? thrown : {}
  return new RemoteError(thrown.message, {
    code: status === undefined ? 'upstream_unreachable' : 'upstream_http_error',
    safeToResend: true,
    ...(status !== undefined && { status }),
    retryAfterMs,
  })
}

export function asFailure(thrown: unknown): unknown {
  if (!(thrown instanceof ClientError)) return thrown
  const { message, code, retryable } = thrown
  if (thrown instanceof A2aError) {
    const details = { reason: code, wireCode: thrown.wireCode }
    const lost = code === 'task_not_found'
    return new WorkError({
      code: lost ? 'upstream_lost_run' : 'agent_failed',
      message: `the remote agent: ${message}`,
      details,
    })
  }
  if (retryable) return new WorkError({ code: 'upstream_unreachable', message, retryable })
  if (thrown instanceof ApiError)
    return new WorkError({ code: 'upstream_http_error', message, details: { status: thrown.status } })
  return new WorkError({ code: code === 'unsupported' ? 'unsupported' : 'upstream_protocol_error', message })
}
