/** Maps gRPC statuses to A2A codes. */
import type * as Grpc from '@grpc/grpc-js'
import { ApiError, type ClientError, ConnectionError } from '../../client/errors.ts'
import { A2aError, type A2aErrorCode, codeByReason } from '../errors.ts'
import { NotReceivedError } from '../not-received.ts'
import type { Codecs } from './packages.ts'

const CANCELLED = 1
const DEADLINE_EXCEEDED = 4
const RESOURCE_EXHAUSTED = 8
const FAILED_PRECONDITION = 9
const UNAVAILABLE = 14

const byStatus: ReadonlyMap<string, A2aErrorCode> = new Map([
  ['3', 'invalid_request'],
  ['5', 'task_not_found'],
  ['7', 'forbidden'],
  ['9', 'unsupported_operation'],
  ['12', 'unsupported_operation'],
  ['16', 'unauthenticated'],
])

export function errorOf(cause: Grpc.ServiceError, operation: string, codecs: Codecs): ClientError {
  const { details, metadata } = cause
  const code: number | undefined = cause.code
  if (code === undefined) return new ConnectionError(String(cause), { cause })
  const isNotReceived =
    code === UNAVAILABLE && /ECONNREFUSED|ENOTFOUND|No connection established|Name resolution/.test(details)
  if (isNotReceived) return new NotReceivedError(details, { cause })
  if (code === UNAVAILABLE || code === CANCELLED || code === DEADLINE_EXCEEDED || /RST_STREAM/.test(details))
    return new ConnectionError(details, { cause })
  if (code === RESOURCE_EXHAUSTED)
    return new ApiError(details, { code: 'http_429', status: 429, retryable: true, cause })
  const infos = errorInfos(metadata, codecs)
  const named = codeByReason(infos) ?? byOperation(operation, code) ?? byStatus.get(String(code)) ?? 'agent_error'
  return new A2aError(details, { code: named, wireCode: code, details: infos })
}

/** Without a reason, the operation tells what a failed precondition means. */
function byOperation(operation: string, code: number): A2aErrorCode | undefined {
  return operation === 'CancelTask' && code === FAILED_PRECONDITION ? 'task_not_cancelable' : undefined
}

function errorInfos(metadata: Grpc.Metadata, codecs: Codecs): object[] {
  const [bytes] = metadata.get('grpc-status-details-bin')
  if (!Buffer.isBuffer(bytes)) return []
  try {
    const { details = [] } = codecs['google.rpc.Status']!.deserialize(bytes) as {
      readonly details?: readonly { readonly typeUrl?: string; readonly value?: string }[]
    }
    return details
      .filter(({ typeUrl = '' }) => typeUrl.endsWith('google.rpc.ErrorInfo'))
      .map(({ value = '' }) => codecs['google.rpc.ErrorInfo']!.deserialize(Buffer.from(value, 'base64')))
  } catch {
    // The status alone suffices.
    return []
  }
}
