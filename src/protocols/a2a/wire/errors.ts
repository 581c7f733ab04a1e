/** A2A errors: one description, which each binding renders in its own format. */
import { type ErrorCode, HoldfastError } from '../../../core/model/errors.ts'
import { retrySeconds } from '../../../http/response/respond.ts'
import type { ErrorResponse } from '../../../http/routing/route.ts'

/** Version of the specification: 1.0.1 corrected some statuses of 1.0.0, which the official test suite still expects. */
export type A2aErrorTable = '1.0.1' | '1.0.0'

interface ErrorText {
  /** JSON-RPC. */
  readonly code: number
  /** HTTP. */
  readonly status: number
  readonly grpc: GrpcStatus
  readonly before?: { readonly status?: number; readonly grpc?: GrpcStatus }
}

export type GrpcStatus =
  | 'INVALID_ARGUMENT'
  | 'NOT_FOUND'
  | 'ALREADY_EXISTS'
  | 'PERMISSION_DENIED'
  | 'UNAUTHENTICATED'
  | 'RESOURCE_EXHAUSTED'
  | 'FAILED_PRECONDITION'
  | 'ABORTED'
  | 'OUT_OF_RANGE'
  | 'UNIMPLEMENTED'
  | 'INTERNAL'
  | 'UNAVAILABLE'

const precondition = { status: 400, grpc: 'FAILED_PRECONDITION' } as const

/** Errors defined by A2A, by their ErrorInfo reason. */
export const reasons = {
  TASK_NOT_FOUND: { code: -32001, status: 404, grpc: 'NOT_FOUND' },
  TASK_NOT_CANCELABLE: { code: -32002, ...precondition, before: { status: 409 } },
  PUSH_NOTIFICATION_NOT_SUPPORTED: { code: -32003, ...precondition, before: { grpc: 'UNIMPLEMENTED' } },
  UNSUPPORTED_OPERATION: { code: -32004, ...precondition, before: { grpc: 'UNIMPLEMENTED' } },
  CONTENT_TYPE_NOT_SUPPORTED: { code: -32005, status: 400, grpc: 'INVALID_ARGUMENT', before: { status: 415 } },
  INVALID_AGENT_RESPONSE: { code: -32006, status: 500, grpc: 'INTERNAL', before: { status: 502 } },
  EXTENDED_AGENT_CARD_NOT_CONFIGURED: { code: -32007, ...precondition },
  EXTENSION_SUPPORT_REQUIRED: { code: -32008, ...precondition },
  VERSION_NOT_SUPPORTED: { code: -32009, ...precondition, before: { grpc: 'UNIMPLEMENTED' } },
} as const satisfies Record<string, ErrorText>

export type Reason = keyof typeof reasons

/** Error codes that only JSON-RPC has. */
export const PARSE_ERROR = -32_700
export const INVALID_REQUEST = -32_600
export const METHOD_NOT_FOUND = -32_601
const INVALID_PARAMS = -32_602
const INTERNAL_ERROR = -32_603

const wrong = { code: INVALID_PARAMS, status: 400, grpc: 'INVALID_ARGUMENT' } as const
const ours = { code: INTERNAL_ERROR, status: 500, grpc: 'INTERNAL' } as const
const later = { code: INTERNAL_ERROR, status: 503, grpc: 'UNAVAILABLE' } as const

const wordings: Readonly<Record<ErrorCode, ErrorText>> = {
  invalid_request: wrong,
  cursor_invalid: { ...wrong, grpc: 'OUT_OF_RANGE' },
  unauthenticated: { code: -32_000, status: 401, grpc: 'UNAUTHENTICATED' },
  forbidden: { code: -32_000, status: 403, grpc: 'PERMISSION_DENIED' },
  not_found: { code: METHOD_NOT_FOUND, status: 404, grpc: 'NOT_FOUND' },
  method_not_allowed: { code: METHOD_NOT_FOUND, status: 405, grpc: 'UNIMPLEMENTED' },
  conflict: reasons.UNSUPPORTED_OPERATION,
  session_busy: { code: -32_000, status: 409, grpc: 'ABORTED' },
  idempotency_conflict: { code: INVALID_PARAMS, status: 409, grpc: 'ALREADY_EXISTS' },
  log_changed: { ...wrong, status: 409, grpc: 'OUT_OF_RANGE' },
  cursor_expired: { ...wrong, status: 410, grpc: 'OUT_OF_RANGE' },
  too_large: { ...wrong, status: 413 },
  unsupported: wrong,
  quota_exceeded: { code: -32_000, status: 507, grpc: 'RESOURCE_EXHAUSTED' },
  rate_limited: { code: -32_000, status: 429, grpc: 'RESOURCE_EXHAUSTED' },
  unavailable: later,
  log_damaged: ours,
  internal: ours,
  agent_failed: ours,
  unserializable: ours,
  output_too_large: ours,
  invalid_input: ours,
  invalid_output: ours,
  invalid_answer: ours,
  protocol_violation: ours,
  deadline_exceeded: ours,
  idle_timeout: ours,
  interrupted: later,
  uncertain_tool: ours,
  diverged: ours,
  fenced: ours,
  closed: ours,
}

/** Maps Holdfast's codes to A2A reasons. */
const reasonByCode: Partial<Record<ErrorCode, Reason>> = { conflict: 'UNSUPPORTED_OPERATION' }

const codeByReason: Readonly<Record<Reason, ErrorCode>> = {
  TASK_NOT_FOUND: 'not_found',
  TASK_NOT_CANCELABLE: 'conflict',
  PUSH_NOTIFICATION_NOT_SUPPORTED: 'unsupported',
  UNSUPPORTED_OPERATION: 'conflict',
  CONTENT_TYPE_NOT_SUPPORTED: 'invalid_request',
  INVALID_AGENT_RESPONSE: 'agent_failed',
  EXTENDED_AGENT_CARD_NOT_CONFIGURED: 'unsupported',
  EXTENSION_SUPPORT_REQUIRED: 'invalid_request',
  VERSION_NOT_SUPPORTED: 'unsupported',
}

interface About {
  readonly reason?: Reason
  readonly metadata?: Readonly<Record<string, string>>
  readonly fields?: readonly FieldViolation[]
  /** Overrides the JSON-RPC code of the table. */
  readonly code?: number
}

export interface FieldViolation {
  readonly field: string
  readonly description: string
}

export function a2aError(
  reason: Reason,
  message: string,
  metadata: Readonly<Record<string, string>> = {},
): HoldfastError {
  const about: About = { reason, metadata }
  return new HoldfastError(codeByReason[reason], message, { details: { a2a: about } })
}

export function invalidParams(message: string, fields: readonly FieldViolation[] = []): HoldfastError {
  const about: About = { fields }
  return new HoldfastError('invalid_request', message, { details: { a2a: about } })
}

/** A JSON-RPC-specific error. */
export function rpcError(code: number, message: string): HoldfastError {
  const about: About = { code }
  return new HoldfastError('invalid_request', message, { details: { a2a: about } })
}

export interface ErrorDescription {
  readonly code: number
  readonly status: number
  readonly grpc: GrpcStatus
  readonly message: string
  /** Undefined for errors that A2A does not define. */
  readonly reason?: Reason | undefined
  /** `google.rpc` messages, each with its `@type`. */
  readonly details: readonly object[]
}

const DOMAIN = 'a2a-protocol.org'

export function describeError(error: HoldfastError, table: A2aErrorTable): ErrorDescription {
  const about = (error.details?.['a2a'] ?? {}) as About
  const reason = about.reason ?? reasonByCode[error.code]
  const wording: ErrorText = reason === undefined ? wordings[error.code] : reasons[reason]
  const old = table === '1.0.0' ? wording.before : undefined
  return {
    code: about.code ?? wording.code,
    status: old?.status ?? wording.status,
    grpc: old?.grpc ?? wording.grpc,
    message: error.message,
    reason,
    details: [
      ...(reason === undefined ? [] : [errorInfo(reason, about.metadata)]),
      ...(about.fields === undefined || about.fields.length === 0 ? [] : [badRequest(about.fields)]),
    ],
  }
}

function errorInfo(reason: Reason, metadata: Readonly<Record<string, string>> | undefined): object {
  const facts = metadata === undefined || Object.keys(metadata).length === 0 ? {} : { metadata }
  return { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason, domain: DOMAIN, ...facts }
}

function badRequest(fieldViolations: readonly FieldViolation[]): object {
  return { '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations }
}

/** Retry delay as `google.rpc.RetryInfo`; gRPC uses a trailer. */
function retryInfo({ retryAfterMs }: HoldfastError): readonly object[] {
  if (retryAfterMs === undefined) return []
  return [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: `${retrySeconds(retryAfterMs)}s` }]
}

export interface RpcErrorObject {
  readonly code: number
  readonly message: string
  readonly data?: readonly object[]
}

export function toRpcError(error: HoldfastError, table: A2aErrorTable): RpcErrorObject {
  const { code, message, details } = describeError(error, table)
  const data = [...details, ...retryInfo(error)]
  return { code, message, ...(data.length > 0 && { data }) }
}

/** The HTTP+JSON body: `google.rpc.Status` with the HTTP status. */
export function toStatusBody(error: HoldfastError, table: A2aErrorTable): object {
  const { status, grpc, message, details } = describeError(error, table)
  return { error: { code: status, status: grpc, message, details: [...details, ...retryInfo(error)] } }
}

/** 0.3 defines no body for errors of HTTP+JSON. The official Python client reads the class of its exception from `type`. */
export function toLegacyStatus(
  error: HoldfastError,
  table: A2aErrorTable,
): { readonly status: number; readonly body: object } {
  const { status, code, message, reason } = describeError(error, table)
  return { status, body: { code, message, ...(reason !== undefined && { type: className(reason) }) } }
}

/** `TaskNotFoundError` for `TASK_NOT_FOUND`. */
function className(reason: Reason): string {
  return `${reason.toLowerCase().replaceAll(/(?:^|_)([a-z])/g, (_match, letter: string) => letter.toUpperCase())}Error`
}

export function toStatusResponse(
  error: HoldfastError,
  table: A2aErrorTable,
  contentType = 'application/json',
): ErrorResponse {
  const { status } = describeError(error, table)
  return { status, contentType, body: JSON.stringify(toStatusBody(error, table)) }
}
