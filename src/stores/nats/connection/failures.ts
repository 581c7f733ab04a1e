/** Classifies failed JetStream requests: not done, unknown outcome, or refused. */
import { HoldfastError, detailOf, storeUnavailable } from '../../../core/model/errors.ts'

const NO_MESSAGE = 10_037
const NO_STREAM = 10_059

/** Error response of the JetStream API. */
export class JetStreamError extends Error {
  readonly status: number
  /** JetStream's `err_code`; see the error table of nats-server. */
  readonly code: number

  constructor({ code, err_code = 0, description }: { code: number; err_code?: number; description?: string }) {
    super(description ?? `error ${code}`)
    this.status = code
    this.code = err_code
  }

  /** Whether the error says that there is no such message. */
  get isNoMessage(): boolean {
    return this.code === NO_MESSAGE
  }

  /** Whether the error says that there is no such stream, or that this server does not know it yet. */
  get isNoStream(): boolean {
    return this.code === NO_STREAM
  }
}

/** The request was never sent, so it had no effect. */
export class NotSentError extends Error {}

/** No server responds for the stream, for example during startup or a leader election. */
export class NoResponders extends Error {}

/**
 * `undone`: not accepted, a retry may succeed. `unsure`: no usable reply, so it may have been done. `refused`: not done, and a
 * retry would fail too.
 */
export type FailureKind = 'undone' | 'unsure' | 'refused'

/** Wrong last sequence, which newer servers report under a second code; or the right message is still in flight. */
export const DUPLICATE = 10_158
const STALE = [10_071, 10_164, DUPLICATE]
/** The server is starting, electing a leader, or temporarily out of a resource. */
const UNFIT_STATUS = [500, 503]

export function isStale(cause: unknown): boolean {
  return cause instanceof JetStreamError && STALE.includes(cause.code)
}

export function failureKind(cause: unknown): FailureKind {
  if (cause instanceof HoldfastError) return 'refused'
  if (cause instanceof NotSentError || cause instanceof NoResponders) return 'undone'
  if (cause instanceof JetStreamError && cause.isNoStream) return 'undone'
  return cause instanceof JetStreamError && !UNFIT_STATUS.includes(cause.status) ? 'refused' : 'unsure'
}

/** Limits of the account or the server: memory, storage, or both. */
const RESOURCES_EXCEEDED = [10_002, 10_023, 10_028, 10_047]
/** The server could not store the message; only the text says that a stream limit is the reason. */
const STORE_FAILED = 10_077

/** A limit is reached. The server is healthy. */
export function isFull(cause: unknown): boolean {
  if (!(cause instanceof JetStreamError)) return false
  if (RESOURCES_EXCEEDED.includes(cause.code)) return true
  return cause.code === STORE_FAILED && /^maximum .* exceeded/.test(cause.message)
}

/** The error that callers of the store get for a failure that is not retried. */
export function storeError(cause: unknown): HoldfastError {
  if (cause instanceof HoldfastError) return cause
  const detail = `NATS failed: ${detailOf(cause)}`
  const options = { cause, retryAfterMs: 1000 }
  if (!isFull(cause)) return storeUnavailable(detail, options)
  return new HoldfastError('unavailable', 'the store is full: a limit of JetStream is reached', {
    ...options,
    internalMessage: `${detail}; raise max_file_store (or max_memory_store) of the servers, or shorten retention`,
  })
}
