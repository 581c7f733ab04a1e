/** Exponential backoff with a retry budget, which progress resets. */
import { ApiError, type ClientError } from './errors.ts'

/** Called when a connection failed and will be retried, and with `undefined` when it has recovered. */
export type OnProblem = (problem: ClientError | undefined) => void

/**
 * Capped even after many failures: somebody may be looking at the page. With longer delays, a server that is back, or a network
 * that drops every other response, would cost a viewer minutes.
 */
const DELAY_MS_MAX = 10_000
/** Upper limit for a server's `retry-after`. */
const RETRY_AFTER_MS_MAX = 300_000

export class Backoff {
  /** Delay before the first retry. */
  #baseMs: number
  readonly #retries: number
  readonly #onProblem: OnProblem
  #failures = 0
  #hasTold = false

  constructor(retries: number, baseMs: number, onProblem: OnProblem = () => {}) {
    this.#retries = retries
    this.#baseMs = baseMs
    this.#onProblem = onProblem
  }

  /** Takes the initial delay that a server suggests; ignores invalid values. */
  suggest(milliseconds: unknown): void {
    if (typeof milliseconds === 'number' && milliseconds >= 0) this.#baseMs = milliseconds
  }

  /** Resets the whole budget. */
  progress(): void {
    this.#failures = 0
  }

  /** The server responded, but perhaps without progress, so the budget is unchanged. */
  alive(): void {
    if (!this.#hasTold) return
    this.#hasTold = false
    this.#onProblem(undefined)
  }

  /** Waits before the next attempt; throws the failure if the budget is exhausted. */
  async pause(failure: ClientError, signal: AbortSignal | undefined): Promise<void> {
    const delayMs = this.delay(failure)
    const askedMs = askedBy(failure)
    await sleepUntilOnline(delayMs, askedMs + Math.min(this.#baseMs, delayMs - askedMs), signal)
  }

  /** Milliseconds before the next attempt; throws the failure if the budget is exhausted. */
  delay(failure: ClientError): number {
    if (++this.#failures > this.#retries) throw failure
    const grown = Math.min(DELAY_MS_MAX, this.#baseMs * 2 ** (this.#failures - 1))
    // Jitter on top of the server's delay: clients that were refused together should not return together.
    const delayMs = askedBy(failure) + grown * (0.5 + Math.random() / 2)
    failure.retrying = true
    failure.retryInMs = delayMs
    this.#hasTold = true
    this.#onProblem(failure)
    return delayMs
  }
}

function askedBy(failure: ClientError): number {
  return failure instanceof ApiError ? Math.min(failure.retryAfterMs ?? 0, RETRY_AFTER_MS_MAX) : 0
}

/** Ends early, but not before `leastMs`, when the browser is online again or the page becomes visible. */
async function sleepUntilOnline(ms: number, leastMs: number, signal: AbortSignal | undefined): Promise<void> {
  const wakeUp = new AbortController()
  const wake = (): void => {
    if (globalThis.document?.visibilityState !== 'hidden') wakeUp.abort()
  }
  globalThis.addEventListener?.('online', wake)
  globalThis.document?.addEventListener('visibilitychange', wake)
  try {
    await sleep(leastMs, signal)
    const either = signal === undefined ? wakeUp.signal : AbortSignal.any([signal, wakeUp.signal])
    if (ms > leastMs && !wakeUp.signal.aborted) await sleep(ms - leastMs, either)
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
