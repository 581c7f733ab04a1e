/** Maps agents' errors to codes, from the JSON-RPC code, the reason in an ErrorInfo, or the status. */
import { ClientError } from '../client/errors.ts'

/** The errors that A2A defines, and those that every binding adds. */
export type A2aErrorCode =
  | 'task_not_found'
  | 'task_not_cancelable'
  | 'push_not_supported'
  | 'unsupported_operation'
  | 'content_type_not_supported'
  | 'invalid_agent_response'
  | 'extended_card_not_configured'
  | 'extension_required'
  | 'version_not_supported'
  | 'method_not_found'
  | 'invalid_request'
  | 'unauthenticated'
  | 'forbidden'
  | 'agent_error'

/** What an `A2aError` is made of. */
export interface A2aErrorOptions {
  readonly code: A2aErrorCode
  /** The binding's own code: JSON-RPC code, HTTP status or gRPC status. */
  readonly wireCode: number
  readonly details?: unknown
}

/** The agent responded with an error. */
export class A2aError extends ClientError {
  override readonly name = 'A2aError'
  override readonly code: A2aErrorCode
  readonly wireCode: number

  constructor(message: string, { code, wireCode, details }: A2aErrorOptions) {
    super(message, { code, retryable: false, details })
    this.code = code
    this.wireCode = wireCode
  }
}

/** The other side violates the A2A specification. */
export class ProtocolError extends ClientError {
  override readonly name = 'ProtocolError'

  constructor(message: string, options: { readonly cause?: unknown } = {}) {
    super(message, { code: 'protocol_violation', retryable: false, ...options })
  }
}

const byReason: ReadonlyMap<string, A2aErrorCode> = new Map([
  ['TASK_NOT_FOUND', 'task_not_found'],
  ['TASK_NOT_CANCELABLE', 'task_not_cancelable'],
  ['PUSH_NOTIFICATION_NOT_SUPPORTED', 'push_not_supported'],
  ['UNSUPPORTED_OPERATION', 'unsupported_operation'],
  ['CONTENT_TYPE_NOT_SUPPORTED', 'content_type_not_supported'],
  ['INVALID_AGENT_RESPONSE', 'invalid_agent_response'],
  ['EXTENDED_AGENT_CARD_NOT_CONFIGURED', 'extended_card_not_configured'],
  ['EXTENSION_SUPPORT_REQUIRED', 'extension_required'],
  ['VERSION_NOT_SUPPORTED', 'version_not_supported'],
])

/** The code for an A2A reason in the error details. */
export function codeByReason(details: unknown): A2aErrorCode | undefined {
  if (!Array.isArray(details)) return undefined
  for (const detail of details as ({ readonly reason?: unknown } | null)[]) {
    const { reason } = detail ?? {}
    if (typeof reason === 'string' && byReason.has(reason)) return byReason.get(reason)
  }
  return undefined
}

const byRpcCode: ReadonlyMap<string, A2aErrorCode> = new Map([
  ['-32001', 'task_not_found'],
  ['-32002', 'task_not_cancelable'],
  ['-32003', 'push_not_supported'],
  ['-32004', 'unsupported_operation'],
  ['-32005', 'content_type_not_supported'],
  ['-32006', 'invalid_agent_response'],
  ['-32007', 'extended_card_not_configured'],
  ['-32008', 'extension_required'],
  ['-32009', 'version_not_supported'],
  ['-32700', 'invalid_request'],
  ['-32600', 'invalid_request'],
  ['-32601', 'method_not_found'],
  ['-32602', 'invalid_request'],
])

export function codeByRpcCode(code: number): A2aErrorCode {
  return byRpcCode.get(String(code)) ?? 'agent_error'
}

const byStatus: ReadonlyMap<string, A2aErrorCode> = new Map([
  ['400', 'invalid_request'],
  ['401', 'unauthenticated'],
  ['403', 'forbidden'],
  ['404', 'task_not_found'],
  ['405', 'method_not_found'],
  ['409', 'task_not_cancelable'],
  ['415', 'content_type_not_supported'],
])

export function codeByStatus(status: number): A2aErrorCode {
  return byStatus.get(String(status)) ?? 'agent_error'
}
