/** Rate limits for requests: per address before authentication, per principal after it. */
import { HoldfastError, isHoldfastError } from '../../core/model/errors.ts'
import type { Limits } from '../../core/model/limits.ts'
import { actorOf, localOwner, type Principal } from '../../core/model/principal.ts'
import { type Clock, elapsedOf } from '../../core/ports/clock.ts'
import { TokenBuckets } from '../../core/runtime/token-bucket.ts'
import { networkOf, UNKNOWN_ADDRESS } from './address-limit.ts'
import { LoginAttempts } from './login-attempts.ts'

/** Size of the cache of known valid credentials. */
const KNOWN_MAX = 10_000

export class RequestRate {
  readonly #requests: TokenBuckets
  readonly #attempts: LoginAttempts
  readonly #guarded: boolean
  readonly #strangers: TokenBuckets
  readonly #perSecond: number
  readonly #perAddress: number
  /** Digests of known valid credentials, so that an attacker does not lock out users who share its address. */
  readonly #known = new Set<string>()

  /** `guarded`: authentication is required. */
  constructor(limits: Limits, guarded: boolean, clock: Clock) {
    const now = (): number => elapsedOf(clock)
    const { maxRequestsPerSecond, maxRequestBurst, maxRequestsPerSecondPerAddress, maxRequestBurstPerAddress } = limits
    this.#perSecond = maxRequestsPerSecond
    this.#perAddress = guarded ? maxRequestsPerSecondPerAddress : 0
    this.#requests = new TokenBuckets({ perSecond: maxRequestsPerSecond, burst: maxRequestBurst, now })
    this.#strangers = new TokenBuckets({ perSecond: this.#perAddress, burst: maxRequestBurstPerAddress, now })
    this.#attempts = new LoginAttempts(limits.maxAuthFailureBurst, now)
    this.#guarded = guarded
  }

  /**
   * Runs before any other work for a request. Throws `rate_limited` if its address sends too many. Requests with a known valid
   * credential count for their principal instead.
   */
  admitAddress(address: string | undefined, bearer?: string): void {
    if (
      this.#perAddress === 0 ||
      address === UNKNOWN_ADDRESS ||
      (bearer !== undefined && this.#known.has(digestOf(bearer)))
    )
      return
    const retryAfterMs = this.#strangers.take(networkOf(address))
    if (retryAfterMs === 0) return
    throw new HoldfastError(
      'rate_limited',
      `your address sends more than ${this.#perAddress} requests per second without a known valid credential`,
      { retryAfterMs },
    )
  }

  /** Throws `rate_limited` if the principal exceeds its rate. Without authentication there is one principal and no limit. */
  admit(principal: Principal): void {
    const actor = actorOf(principal)
    if (actor === localOwner) return
    const retryAfterMs = this.#requests.take(actor)
    if (retryAfterMs === 0) return
    throw new HoldfastError('rate_limited', `you send more than ${this.#perSecond} requests per second`, {
      retryAfterMs,
    })
  }

  /** Authenticates the caller. Throws `rate_limited` if its address has sent too many invalid credentials. */
  async authenticate(
    address: string | undefined,
    bearer: string | undefined,
    authenticate: () => Promise<Principal>,
  ): Promise<Principal> {
    if (!this.#guarded) return authenticate()
    const network = networkOf(address)
    const digest = bearer === undefined ? '' : digestOf(bearer)
    const end = await this.#attempts.begin(
      network,
      () => address === UNKNOWN_ADDRESS || (bearer !== undefined && this.#known.has(digest)),
    )
    try {
      const principal = await authenticate()
      end?.('not wrong')
      if (principal.unverified !== undefined) return { ...principal, unverified: { network } }
      if (bearer !== undefined) this.#known.add(digest)
      this.#forgetOldest()
      return principal
    } catch (cause) {
      const isWrong = isHoldfastError(cause, 'unauthenticated')
      if (isWrong) this.#known.delete(digest)
      if (end !== undefined) end(isWrong ? 'wrong' : 'not wrong')
      else if (isWrong) this.#attempts.countWrong(network)
      throw cause
    }
  }

  /** Counts a wrong credential that an upstream, not the authenticator, has rejected. */
  countWrong(network: string): void {
    this.#attempts.countWrong(network)
  }

  /** Remembers a credential that an upstream, not the authenticator, has accepted. */
  remember(bearer: string): void {
    this.#known.add(digestOf(bearer))
    this.#forgetOldest()
  }

  #forgetOldest(): void {
    if (this.#known.size <= KNOWN_MAX) return
    const [oldest] = this.#known
    this.#known.delete(oldest!)
  }
}

function digestOf(bearer: string): string {
  return process.getBuiltinModule('node:crypto').createHash('sha256').update(bearer).digest('base64') // an import would slow the start down
}
