/**
 * Throttles wrong credentials per network. An attempt takes a token before the credential is verified and returns it unless the
 * credential was wrong, so parallel guesses cannot all be verified before the first one is counted.
 */
import { HoldfastError } from '../../core/model/errors.ts'
import { TokenBuckets } from '../../core/runtime/token-bucket.ts'

const FAILURES_PER_SECOND = 1
/** Maximum attempts of one network that wait for others to be verified. */
const WAITING_MAX = 1000
/** Retry delay sent to the client. By then some of the waiting attempts are verified. */
const RETRY_MS = 1000

/** Ends an attempt. Call it once. */
export type EndAttempt = (outcome: 'wrong' | 'not wrong') => void

interface PendingVerification {
  count: number
  readonly waiting: (() => void)[]
}

export class LoginAttempts {
  readonly #failures: TokenBuckets
  /** Networks with attempts that are being verified. */
  readonly #verifying = new Map<string, PendingVerification>()

  constructor(burst: number, now: () => number) {
    this.#failures = new TokenBuckets({ perSecond: FAILURES_PER_SECOND, burst, now })
  }

  /**
   * Resolves when the credential may be verified; with undefined if `isExempt` returns true. While tokens are only reserved, waits
   * for their outcome. Throws `rate_limited` if wrong credentials have used all tokens.
   */
  async begin(network: string, isExempt: () => boolean): Promise<EndAttempt | undefined> {
    while (!isExempt()) {
      const retryAfterMs = this.#failures.take(network)
      if (retryAfterMs === 0) return this.#reserved(network)
      const verifying = this.#verifying.get(network)
      if (verifying === undefined) throw refusal(retryAfterMs)
      if (verifying.waiting.length >= WAITING_MAX) throw refusal(RETRY_MS)
      await new Promise<void>((resolve) => verifying.waiting.push(resolve))
    }
    return undefined
  }

  /** Counts a wrong credential that was exempt when its verification began. */
  countWrong(network: string): void {
    this.#failures.take(network)
  }

  #reserved(network: string): EndAttempt {
    const verifying = this.#verifying.get(network) ?? { count: 0, waiting: [] }
    this.#verifying.set(network, verifying)
    verifying.count++
    return (outcome) => {
      if (outcome === 'not wrong') this.#failures.giveBack(network)
      if (--verifying.count === 0) this.#verifying.delete(network)
      for (const wake of verifying.waiting.splice(0)) wake()
    }
  }
}

function refusal(retryAfterMs: number): HoldfastError {
  return new HoldfastError('rate_limited', 'too many requests with an invalid credential came from your address', {
    retryAfterMs,
  })
}
