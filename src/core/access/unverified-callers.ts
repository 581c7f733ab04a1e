/**
 * Callers whose credential only an upstream can verify. Until an upstream has accepted it, it may be invented, so the limits of the
 * caller's network apply, as for callers without a credential.
 */
import { HoldfastError } from '../model/errors.ts'
import type { Limits } from '../model/limits.ts'
import { type Clock, elapsedOf } from '../ports/clock.ts'
import type { Component } from '../ports/component.ts'
import { slotsPerPrincipal } from './principal-quotas.ts'
import type { UnverifiedStorage } from './unverified-storage.ts'

type RunKey = { readonly id: string; readonly owner: string }

interface PendingRun {
  readonly network: string
  readonly since: number
}

/** Maximum owners with an accepted credential. Beyond it, the oldest is forgotten. */
const ACCEPTED_MAX = 10_000
/** A run that no upstream has judged for this long no longer counts, unless this node executes it: another node may have ended it. */
const VERIFY_TIMEOUT_MS = 60_000
/** Retry delay sent to the client. By then an upstream has verified some of the credentials. */
const RETRY_MS = 1000

export class UnverifiedCallers {
  readonly storage: UnverifiedStorage
  readonly #clock: Clock
  readonly #runsMax: number
  /** Keyed hashes of credentials. */
  readonly #accepted = new Set<string>()
  /** Runs whose credential no upstream has verified yet, oldest first. */
  readonly #pending = new Map<string, PendingRun>()
  /** Called with the network of a caller whose credential an upstream refused. */
  onRefused: (network: string) => void = () => {}

  constructor(limits: Limits, clock: Clock, storage: UnverifiedStorage) {
    this.storage = storage
    this.#clock = clock
    this.#runsMax = slotsPerPrincipal(limits)
  }

  isAccepted(owner: string): boolean {
    return this.#accepted.has(owner)
  }

  /**
   * Counts a run for its network until an upstream has verified its credential. Throws `rate_limited` if there are too many.
   * `isExecuting`: whether this node executes a run.
   */
  admit({ id }: RunKey, network: string, isExecuting: (id: string) => boolean): void {
    this.#forgetOld(isExecuting)
    const pending = [...this.#pending.values()].filter((each) => each.network === network).length
    if (pending >= this.#runsMax)
      throw new HoldfastError(
        'rate_limited',
        `too many runs from your address are waiting for an upstream to verify their credentials (limit: ${pending}): try again later`,
        { retryAfterMs: RETRY_MS },
      )
    this.#pending.set(id, { network, since: elapsedOf(this.#clock) })
  }

  /** Resolves when it is durable that the owner was accepted. */
  async accept({ id, owner }: RunKey): Promise<void> {
    this.#pending.delete(id)
    const isKnown = this.#accepted.delete(owner)
    this.#accepted.add(owner)
    const [oldest] = this.#accepted
    if (this.#accepted.size > ACCEPTED_MAX) this.#accepted.delete(oldest!)
    if (!isKnown) await this.storage.unmark(owner)
  }

  refuse({ id, owner }: RunKey): void {
    const network = this.#pending.get(id)?.network
    this.#pending.delete(id)
    this.refuseCaller(owner, network)
  }

  /** `network`: undefined if the credential had been accepted before. */
  refuseCaller(owner: string, network: string | undefined): void {
    this.#accepted.delete(owner)
    if (network !== undefined) this.onRefused(network)
  }

  /** Stops counting a run that has ended or was not created. */
  end({ id }: RunKey): void {
    this.#pending.delete(id)
  }

  #forgetOld(isExecuting: (id: string) => boolean): void {
    const now = elapsedOf(this.#clock)
    for (const [id, { network, since }] of this.#pending) {
      if (now - since < VERIFY_TIMEOUT_MS) return
      this.#pending.delete(id)
      if (isExecuting(id)) this.#pending.set(id, { network, since: now })
    }
  }
}

/** Throws `forbidden` for components that do not send the caller's credential to an upstream: nobody would ever verify it. */
export function assertVerifies({ upstream }: Component): void {
  if (upstream?.verifiesCaller !== true) throw notAccepted()
}

/** The error for commands that need an accepted credential. */
export function notAccepted(): HoldfastError {
  return new HoldfastError(
    'forbidden',
    'no upstream has accepted your credential yet: first start a run of a component whose upstream verifies it',
  )
}
