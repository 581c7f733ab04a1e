/** Token buckets by key: each key may take `burst` tokens at once and `perSecond` on average. */

export interface BucketOptions {
  /** 0 disables the limit. */
  readonly perSecond: number
  readonly burst: number
  /** Maximum buckets in memory. Beyond it the least recently used is dropped, and starts full again. */
  readonly maxKeys?: number
  /** Monotonic clock, in milliseconds. */
  readonly now?: () => number
}

interface Bucket {
  readonly tokens: number
  readonly at: number
}

const KEYS_MAX = 10_000

export class TokenBuckets {
  readonly #perMs: number
  readonly #burst: number
  readonly #maxKeys: number
  readonly #now: () => number
  /** Least recently used first. */
  readonly #buckets = new Map<string, Bucket>()

  constructor({ perSecond, burst, maxKeys = KEYS_MAX, now = () => performance.now() }: BucketOptions) {
    this.#perMs = perSecond / 1000
    this.#burst = burst
    this.#maxKeys = maxKeys
    this.#now = now
  }

  /** Takes a token. Returns 0, or the milliseconds until the next token if there is none. */
  take(key: string): number {
    if (this.#perMs === 0) return 0
    const tokens = this.#tokens(key)
    const waitMs = this.#waitMs(tokens)
    if (waitMs === 0) this.#set(key, tokens - 1)
    return waitMs
  }

  /** Returns a token that was taken. */
  giveBack(key: string): void {
    if (this.#buckets.has(key)) this.#set(key, Math.min(this.#burst, this.#tokens(key) + 1))
  }

  /** Tolerates rounding: a thousandth of a token does not matter. */
  #waitMs(tokens: number): number {
    return Math.max(0, Math.ceil((1 - tokens) / this.#perMs - 0.001))
  }

  #tokens(key: string): number {
    const bucket = this.#buckets.get(key)
    if (bucket === undefined) return this.#burst
    return Math.min(this.#burst, bucket.tokens + (this.#now() - bucket.at) * this.#perMs)
  }

  #set(key: string, tokens: number): void {
    this.#buckets.delete(key)
    this.#buckets.set(key, { tokens, at: this.#now() })
    if (this.#buckets.size <= this.#maxKeys) return
    const [oldest] = this.#buckets.keys()
    this.#buckets.delete(oldest!)
  }
}
