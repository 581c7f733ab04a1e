/** The wait between tries, and how many there are: grows with each failure in a row, and starts anew with progress. */
import { ApiError, type ClientError } from './errors.ts'

/** Told at once that a connection failed and is tried again, and told `undefined` when it is well again. */
export type OnProblem = (problem: ClientError | undefined) => void

/**
 * However often it fails: somebody may be looking at the page. A longer delay makes a server that is back, or a network that drops every
 * other answer, cost a viewer minutes.
 */
const DELAY_MS_MAX = 10_000
/** Whatever a server asks for. */
const RETRY_AFTER_MS_MAX = 300_000

export class Backoff {
  /** The first delay. */
  #baseMs: number
  readonly #retries: number
  readonly #tell: OnProblem
  #failures = 0
  #hasTold = false

  constructor(retries: number, baseMs: number, tell: OnProblem = () => {}) {
    this.#retries = retries
    this.#baseMs = baseMs
    this.#tell = tell
  }

  /** Takes the first delay that a server asks for; what is not a delay is ignored. */
  suggest(milliseconds: unknown): void {
    if (typeof milliseconds === 'number' && milliseconds >= 0) this.#baseMs = milliseconds
  }

  /** The whole budget is there again. */
  progress(): void {
    this.#failures = 0
  }

  /** The other side was heard. It may have said nothing new, so the budget is as it was. */
  alive(): void {
    if (!this.#hasTold) return
    this.#hasTold = false
    this.#tell(undefined)
  }

  /** Waits for the next try; throws the failure when it was one too many. */
  async pause(failure: ClientError, signal: AbortSignal | undefined): Promise<void> {
    const delayMs = this.delay(failure)
    const askedMs = askedBy(failure)
    await sleepUntilOnline(delayMs, askedMs + Math.min(this.#baseMs, delayMs - askedMs), signal)
  }

  /** Milliseconds before the next try; throws the failure when it was one too many. */
  delay(failure: ClientError): number {
    if (++this.#failures > this.#retries) throw failure
    const grown = Math.min(DELAY_MS_MAX, this.#baseMs * 2 ** (this.#failures - 1))
    // Jitter on top of what the server asks for: those that it sent away together shall not come back together.
    const delayMs = askedBy(failure) + grown * (0.5 + Math.random() / 2)
    failure.retrying = true
    failure.retryInMs = delayMs
    this.#hasTold = true
    this.#tell(failure)
    return delayMs
  }
}

function askedBy(failure: ClientError): number {
  return failure instanceof ApiError ? Math.min(failure.retryAfterMs ?? 0, RETRY_AFTER_MS_MAX) : 0
}

/** Ends early, but not before `leastMs`, when the browser is online again or its page is looked at again. */
async function sleepUntilOnline(ms: number, leastMs: number, signal: AbortSignal | undefined): Promise<void> {
  const woken = new AbortController()
  const wake = (): void => {
    if (globalThis.document?.visibilityState !== 'hidden') woken.abort()
  }
  globalThis.addEventListener?.('online', wake)
  globalThis.document?.addEventListener('visibilitychange', wake)
  try {
    await sleep(leastMs, signal)
    const either = signal === undefined ? woken.signal : AbortSignal.any([signal, woken.signal])
    if (!woken.signal.aborted) await sleep(ms - leastMs, either)
  } catch (cause) {
    if (signal?.aborted === true) throw cause
  } finally {
    globalThis.removeEventListener?.('online', wake)
    globalThis.document?.removeEventListener('visibilitychange', wake)
  }
}

export function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const done = (): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', aborted)
    }
    const aborted = (): void => {
      done()
      reject(signal!.reason as Error)
    }
    const timer = setTimeout(() => {
      done()
      resolve()
    }, ms)
    signal?.addEventListener('abort', aborted)
  })
}
