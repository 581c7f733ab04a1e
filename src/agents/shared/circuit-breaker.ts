/** Circuit breaker: after consecutive failures, requests are refused for a while; then one of them probes the server. */
export type CircuitState = 'closed' | 'open' | 'half-open'

/** When requests to a failing server are refused without being sent. */
export interface CircuitBreakerOptions {
  /** Failures in a row that open the circuit; 0 never opens it. Default: 5. */
  readonly failureThreshold?: number
  /** How long it stays open before one request probes the server. Default: 10,000. */
  readonly resetTimeoutMs?: number
}

export class CircuitBreaker {
  readonly #failureThreshold: number
  readonly #resetTimeoutMs: number
  readonly #now: () => number
  #failures = 0
  #openedAt: number | undefined
  /** When the current probe was let through. A probe that never reports back is forgotten after `resetTimeoutMs`. */
  #probedAt: number | undefined

  constructor(
    { failureThreshold = 5, resetTimeoutMs = 10_000 }: CircuitBreakerOptions = {},
    now: () => number = () => performance.now(),
  ) {
    this.#failureThreshold = failureThreshold
    this.#resetTimeoutMs = resetTimeoutMs
    this.#now = now
  }

  get state(): CircuitState {
    if (this.#openedAt === undefined) return 'closed'
    return this.#now() - this.#openedAt < this.#resetTimeoutMs ? 'open' : 'half-open'
  }

  /** Failures in a row. */
  get failures(): number {
    return this.#failures
  }

  /** Whether a request would be let through now. */
  get isPassable(): boolean {
    return this.state === 'closed' || (this.state === 'half-open' && !this.#isProbing)
  }

  /** Milliseconds until a request may be let through; 0 if it may be now. */
  get retryAfterMs(): number {
    if (this.isPassable) return 0
    return Math.max(0, (this.#probedAt ?? this.#openedAt!) + this.#resetTimeoutMs - this.#now())
  }

  /** Call this before a request. While half-open, only one passes at a time. */
  pass(): boolean {
    if (!this.isPassable) return false
    if (this.#openedAt !== undefined) this.#probedAt = this.#now()
    return true
  }

  succeeded(): void {
    this.#failures = 0
    this.#openedAt = undefined
    this.#probedAt = undefined
  }

  failed(): void {
    this.#failures++
    this.#probedAt = undefined
    if (this.#failureThreshold > 0 && this.#failures >= this.#failureThreshold) this.#openedAt = this.#now()
  }

  /** Records a request whose outcome says nothing about the server, such as one that its caller aborted. */
  undecided(): void {
    this.#probedAt = undefined
  }

  get #isProbing(): boolean {
    return this.#probedAt !== undefined && this.#now() - this.#probedAt < this.#resetTimeoutMs
  }
}
