/** What a failed question to JetStream says about what came of it. */
import { HoldfastError, detailOf, storeUnavailable } from '../../core/model/errors.ts'

const NO_MESSAGE = 10_037
const NO_STREAM = 10_059

/** What the server answered instead of what was asked for. */
export class ApiError extends Error {
  readonly status: number
  /** JetStream's own number for it; see the table of errors of nats-server. */
  readonly code: number

  constructor({ code, err_code = 0, description }: { code: number; err_code?: number; description?: string }) {
    super(description ?? `error ${code}`)
    this.status = code
    this.code = err_code
  }

  /** There is no such message. */
  get isNoMessage(): boolean {
    return this.code === NO_MESSAGE
  }

  /** There is no such stream, or this server has not heard of it yet. */
  get isNoStream(): boolean {
    return this.code === NO_STREAM
  }
}

/** A question that was not asked, so nothing can have come of it. */
export class NotSentError extends Error {}

/** No server has the stream, as when it is being started or has no leader yet. */
export class NoResponders extends Error {}

/**
 * `undone`: nobody took it, and later somebody may. `unsure`: no answer came, or one that says nothing; it may have been done.
 * `refused`: it was not done and will not be.
 */
export type FailureKind = 'undone' | 'unsure' | 'refused'

/** Wrong last sequence, for which later servers have a second number; or the one that is right is on its way. */
export const DUPLICATE = 10_158
const STALE = [10_071, 10_164, DUPLICATE]
/** The server is starting, electing, or out of something for a while. */
const UNFIT_STATUS = [500, 503]

export function isStale(cause: unknown): boolean {
  return cause instanceof ApiError && STALE.includes(cause.code)
}

export function failureKind(cause: unknown): FailureKind {
  if (cause instanceof HoldfastError) return 'refused'
  if (cause instanceof NotSentError || cause instanceof NoResponders) return 'undone'
  if (cause instanceof ApiError && cause.isNoStream) return 'undone'
  return cause instanceof ApiError && !UNFIT_STATUS.includes(cause.status) ? 'refused' : 'unsure'
}

/** Limits of the account or of the server: memory, storage, or all of it. */
const RESOURCES_EXCEEDED = [10_002, 10_023, 10_028, 10_047]
/** The server could not store the message; only its text says that a limit of the stream is the reason. */
const STORE_FAILED = 10_077

/** A limit is reached. The server is sound: it says so. */
export function isFull(cause: unknown): boolean {
  if (!(cause instanceof ApiError)) return false
  if (RESOURCES_EXCEEDED.includes(cause.code)) return true
  return cause.code === STORE_FAILED && /^maximum .* exceeded/.test(cause.message)
}

/** What callers of the store are told of a failure that is not to be tried again. */
export function storeError(cause: unknown): HoldfastError {
  if (cause instanceof HoldfastError) return cause
  const detail = `NATS does not do it: ${detailOf(cause)}`
  const options = { cause, retryAfterMs: 1000 }
  if (!isFull(cause)) return storeUnavailable(detail, options)
  return new HoldfastError('unavailable', 'the store is full: a limit of JetStream is reached', { ...options, detail })
}
