/** How fast requests may come: of one address before it is known who calls, and of one principal after that. */
import { HoldfastError, isHoldfastError } from '../core/model/errors.ts'
import type { Limits } from '../core/model/limits.ts'
import { actorOf, localOwner, type Principal } from '../core/model/principal.ts'
import { TokenBuckets } from '../core/runtime/token-bucket.ts'
import { networkOf } from './address-limit.ts'

const FAILURES_PER_SECOND = 1
/** Credentials that are remembered to have been valid. */
const KNOWN_MAX = 10_000

export class RequestRate {
  readonly #requests: TokenBuckets
  readonly #failures: TokenBuckets
  readonly #strangers: TokenBuckets
  readonly #perSecond: number
  readonly #perAddress: number
  /** Digests of credentials that were valid: whoever shares an address with somebody who guesses is not kept out with it. */
  readonly #known = new Set<string>()

  /** `guarded`: a credential is needed. Without authentication everybody is one principal, without a limit. */
  constructor(limits: Limits, guarded: boolean) {
    const { requestsPerSecondMax, requestsBurstMax, requestsPerAddressMax, requestsPerAddressBurstMax } = limits
    this.#perSecond = requestsPerSecondMax
    this.#perAddress = guarded ? requestsPerAddressMax : 0
    this.#requests = new TokenBuckets({ perSecond: requestsPerSecondMax, burst: requestsBurstMax })
    this.#strangers = new TokenBuckets({ perSecond: this.#perAddress, burst: requestsPerAddressBurstMax })
    this.#failures = new TokenBuckets({ perSecond: FAILURES_PER_SECOND, burst: limits.loginFailuresBurstMax })
  }

  /**
   * Before anything is done for a request: throws `rate_limited` when its address sends too many. A credential that was valid before
   * does not count here, but for its principal.
   */
  admitAddress(address: string | undefined, bearer?: string): void {
    if (this.#perAddress === 0 || (bearer !== undefined && this.#known.has(digestOf(bearer)))) return
    const retryAfterMs = this.#strangers.take(networkOf(address))
    if (retryAfterMs === 0) return
    throw new HoldfastError(
      'rate_limited',
      `your address sends more than ${this.#perAddress} requests per second without a credential that is known`,
      { retryAfterMs },
    )
  }

  /** Throws `rate_limited` when the principal asks too fast. On a server without authentication everybody is one, without a limit. */
  admit(principal: Principal): void {
    const actor = actorOf(principal)
    if (actor === localOwner) return
    const retryAfterMs = this.#requests.take(actor)
    if (retryAfterMs === 0) return
    throw new HoldfastError('rate_limited', `you send more than ${this.#perSecond} requests per second`, {
      retryAfterMs,
    })
  }

  /** Finds out who is calling, unless its address has shown too many wrong credentials. */
  async authenticate(
    address: string | undefined,
    bearer: string | undefined,
    authenticate: () => Promise<Principal>,
  ): Promise<Principal> {
    const network = networkOf(address)
    const digest = bearer === undefined ? '' : digestOf(bearer)
    const retryAfterMs = this.#known.has(digest) ? 0 : this.#failures.wait(network)
    if (retryAfterMs > 0)
      throw new HoldfastError('rate_limited', 'too many requests with a wrong credential came from your address', {
        retryAfterMs,
      })
    try {
      const principal = await authenticate()
      if (bearer !== undefined) this.#remember(digest)
      return principal
    } catch (cause) {
      if (isHoldfastError(cause, 'unauthenticated')) {
        this.#known.delete(digest)
        this.#failures.take(network)
      }
      throw cause
    }
  }

  #remember(digest: string): void {
    if (this.#known.has(digest)) return
    this.#known.add(digest)
    if (this.#known.size <= KNOWN_MAX) return
    const [oldest] = this.#known
    this.#known.delete(oldest!)
  }
}

function digestOf(bearer: string): string {
  return process.getBuiltinModule('node:crypto').createHash('sha256').update(bearer).digest('base64') // an import would slow the start down
}
