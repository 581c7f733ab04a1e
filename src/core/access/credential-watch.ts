/**
 * Closes streams, WebSockets, gRPC calls and long polls when the credential that opened them expires or is revoked (SEC-2). A
 * request presents its credential once, so everything that outlives the request is watched here, for all protocols.
 */
import { type Clock, elapsedOf } from '../ports/clock.ts'
import { HoldfastError, isHoldfastError } from '../model/errors.ts'
import type { Authenticator, CredentialInfo, Principal } from '../model/principal.ts'
import { repeatTimer } from '../runtime/timer.ts'

/** Interval at which open connections are checked. With the key file cached for a second, a revocation takes less than two. */
const CHECK_MS = 500

/** How long connections stay open while their credentials cannot be checked, for example because the key file is damaged. */
const UNCHECKED_MS_MAX = 30_000

export interface CredentialWatchOptions {
  readonly checkMs?: number
}

interface WatchedCredential {
  readonly facts: CredentialInfo
  readonly end: (error: HoldfastError) => void
}

export class CredentialWatch {
  readonly #authenticator: Pick<Authenticator, 'isRevoked'>
  readonly #clock: Clock
  readonly #checkMs: number
  readonly #watched = new Set<WatchedCredential>()
  #stopTimer: (() => void) | undefined
  #checking = false
  /** When checks started to fail, by the monotonic clock. */
  #failingSince: number | undefined

  constructor(authenticator: Pick<Authenticator, 'isRevoked'>, clock: Clock, options: CredentialWatchOptions = {}) {
    this.#authenticator = authenticator
    this.#clock = clock
    this.#checkMs = options.checkMs ?? CHECK_MS
  }

  /** Throws `unauthenticated` if the credential has ended, `unavailable` if it cannot be checked. */
  async check({ credential }: Principal): Promise<void> {
    if (credential === undefined) return
    if (this.#isExpired(credential)) throw expiredError()
    if (await this.#authenticator.isRevoked?.(credential)) throw revokedError()
  }

  /** Calls `end` once, when the credential ends. Returns a function that stops watching. */
  watch({ credential: facts }: Principal, end: (error: HoldfastError) => void): () => void {
    if (facts === undefined) return () => {}
    const watched: WatchedCredential = { facts, end }
    this.#watched.add(watched)
    this.#stopTimer ??= repeatTimer(() => void this.#tick(), this.#checkMs, this.#clock)
    return () => void this.#release(watched)
  }

  get size(): number {
    return this.#watched.size
  }

  close(): void {
    this.#stopTimer?.()
    this.#stopTimer = undefined
  }

  async #tick(): Promise<void> {
    for (const watched of this.#watched) if (this.#isExpired(watched.facts)) this.#end(watched, expiredError())
    // An expiry is known locally, so a check that hangs does not delay it.
    if (this.#checking || this.#authenticator.isRevoked === undefined) return
    this.#checking = true
    try {
      await this.#endRevoked()
      this.#failingSince = undefined
    } catch (cause) {
      this.#giveUp(cause)
    } finally {
      this.#checking = false
    }
  }

  /** Checks each credential once, however many connections it has. */
  async #endRevoked(): Promise<void> {
    const known = new Map<string, boolean>()
    for (const watched of this.#watched) {
      const { id } = watched.facts
      if (id === undefined) continue
      if (!known.has(id)) known.set(id, (await this.#authenticator.isRevoked?.(watched.facts)) === true)
      if (known.get(id) === true) this.#end(watched, revokedError())
    }
  }

  #giveUp(cause: unknown): void {
    this.#failingSince ??= elapsedOf(this.#clock)
    if (elapsedOf(this.#clock) - this.#failingSince < UNCHECKED_MS_MAX) return
    const error = isHoldfastError(cause)
      ? cause
      : new HoldfastError('unavailable', 'credentials cannot be checked now: try again later', { cause })
    for (const watched of this.#watched) if (watched.facts.id !== undefined) this.#end(watched, error)
  }

  #end(watched: WatchedCredential, error: HoldfastError): void {
    if (this.#release(watched)) watched.end(error)
  }

  #release(watched: WatchedCredential): boolean {
    const wasWatched = this.#watched.delete(watched)
    if (this.#watched.size === 0) this.close()
    return wasWatched
  }

  #isExpired({ expiresAt }: CredentialInfo): boolean {
    return expiresAt !== undefined && this.#clock.now() >= expiresAt
  }
}

function expiredError(): HoldfastError {
  return new HoldfastError('unauthenticated', 'the credential has expired: connect again with a new one')
}

function revokedError(): HoldfastError {
  return new HoldfastError('unauthenticated', 'the credential was revoked: connect again with another one')
}
