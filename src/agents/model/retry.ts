/** Retry policy for model requests. */
import { WorkError } from '../../core/ports/component.ts'
import { messageOf } from '../../core/model/errors.ts'

export interface RetryPolicy {
  /** Maximum retries. */
  readonly retries: number
  /** Delay before the first retry; doubles each time. */
  readonly delayMs: number
}

export const RETRIES = 2
export const RETRY_DELAY_MS = 500

/** Longest backoff. */
const BACKOFF_MAX_MS = 30_000

/** A longer `retry-after` is not waited for. */
const RETRY_AFTER_MAX_MS = 5 * 60_000

interface FailureDetails {
  readonly type: string
  readonly status?: number
  readonly retryAfterMs?: number
}

/**
 * Converts an error to a recordable failure, so that a recovered run decides by the same facts. An interrupted stream may be
 * retried, unless the provider says otherwise.
 */
export function requestFailure(thrown: unknown, hasStarted: boolean, now = Date.now()): WorkError {
  if (thrown instanceof WorkError) return thrown
  const error = (typeof thrown === 'object' && thrown !== null ? thrown : {}) as ProviderError
  const status = typeof error.statusCode === 'number' ? error.statusCode : undefined
  const retryAfterMs = retryAfter(error.responseHeaders ?? error.cause?.responseHeaders, now)
  const details: FailureDetails = {
    type: thrown instanceof Error ? thrown.name : typeof thrown,
    ...(status !== undefined && { status }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  }
  const retryable = isRetryable(error, status, hasStarted)
  return new WorkError({ code: 'agent_failed', message: describe(thrown), retryable, details })
}

/** Milliseconds until the next attempt; undefined: no retry. */
export function retryDelay(
  thrown: unknown,
  failures: number,
  { retries, delayMs }: RetryPolicy,
  random = Math.random,
): number | undefined {
  if (!(thrown instanceof WorkError) || thrown.failure.retryable !== true || failures > retries) return undefined
  const { retryAfterMs = 0 } = (thrown.failure.details ?? {}) as Partial<FailureDetails>
  if (retryAfterMs > RETRY_AFTER_MAX_MS) return undefined
  const backoff = Math.min(delayMs * 2 ** (failures - 1), BACKOFF_MAX_MS)
  // Jitter: requests that failed together should not be retried together.
  return Math.max(retryAfterMs, backoff * (0.5 + random() / 2))
}

/** Fields that SDK and network errors share. */
interface ProviderError {
  readonly isRetryable?: unknown
  readonly statusCode?: unknown
  readonly code?: unknown
  readonly responseHeaders?: Readonly<Record<string, string>>
  readonly cause?: { readonly code?: unknown; readonly responseHeaders?: Readonly<Record<string, string>> }
}

function isRetryable(error: ProviderError, status: number | undefined, hasStarted: boolean): boolean {
  if (typeof error.isRetryable === 'boolean') return error.isRetryable
  if (status !== undefined) return status === 408 || status === 409 || status === 429 || status >= 500
  return hasStarted || isNetworkCode(error.code) || isNetworkCode(error.cause?.code)
}

function isNetworkCode(code: unknown): boolean {
  return typeof code === 'string' && /^(?:ECONN|ENET|EHOST|EPIPE|ETIMEDOUT|EAI_AGAIN|UND_ERR_)/.test(code)
}

function retryAfter(headers: Readonly<Record<string, string>> | undefined, now: number): number | undefined {
  const precise = headers?.['retry-after-ms']
  if (precise !== undefined && precise !== '' && Number.isFinite(Number(precise))) return Math.max(0, Number(precise))
  const header = headers?.['retry-after']
  if (header === undefined || header === '') return undefined
  const wait = Number.isFinite(Number(header)) ? Number(header) * 1000 : Date.parse(header) - now
  return Number.isNaN(wait) ? undefined : Math.max(0, wait)
}

function describe(thrown: unknown): string {
  if (typeof thrown !== 'object' || thrown === null || thrown instanceof Error) return messageOf(thrown)
  const { message } = thrown as { message?: unknown }
  return typeof message === 'string' ? message : `the model failed: ${JSON.stringify(thrown).slice(0, 500)}`
}
