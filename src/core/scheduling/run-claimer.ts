/** Claims runs from the store for this node: in queue order, up to the node's capacity and within the shares of their owners. */
import type { LeaseKeeper } from './lease-keeper.ts'
import type { LocalExecutions } from './local-executions.ts'
import type { NodeDeps } from '../node-deps.ts'
import type { PrincipalQuotas } from '../access/principal-quotas.ts'
import type { StoredRun } from '../ports/store.ts'

/** Maximum consecutive retries because other nodes claimed the runs first. */
const LOST_RACES_MAX = 5

/** Concurrent claims: they share commits. */
const CLAIMS_AT_ONCE = 32

export interface RunClaimerOptions extends Pick<NodeDeps, 'store' | 'registry' | 'limits' | 'logger'> {
  /** Name under which this node claims. */
  readonly worker: string
  readonly quotas: PrincipalQuotas
  readonly executions: LocalExecutions
  readonly leases: LeaseKeeper
}

export class RunClaimer {
  readonly #options: RunClaimerOptions
  #polling: Promise<void> | undefined
  #pollAgain = false
  /** More runs may be queued than there were slots: the next free slot goes to the queue, not to a new start. */
  #isBehind = false

  constructor(options: RunClaimerOptions) {
    this.#options = options
  }

  /**
   * Reserves a worker slot for a run that is about to be created. Undefined if no slot is free, or the owner has used its share.
   * Call the returned function once the run exists.
   */
  reserve(id: string, owner: string): (() => void) | undefined {
    const { executions, quotas } = this.#options
    if (!executions.hasRoom) this.#isBehind = true
    if (executions.draining || this.#isBehind || quotas.isAtSlotShare(owner)) return undefined
    const releaseSlot = executions.reserveSlot(id)
    const releaseShare = quotas.takeSlot(owner)
    return () => {
      releaseSlot()
      releaseShare()
    }
  }

  /** Claims what this node may claim. Calls during a poll cause one more poll. */
  poll(): void {
    const { executions, logger } = this.#options
    if (executions.draining) return
    executions.wakeSleeping()
    this.#pollAgain = true
    this.#polling ??= this.#claimAll()
      .catch((cause: unknown) => logger.warn({ err: cause }, 'failed to claim runs'))
      .finally(() => (this.#polling = undefined))
  }

  /** Resolves when claims in progress are done. */
  async idle(): Promise<void> {
    await this.#polling
  }

  async #claimAll(): Promise<void> {
    const { executions, limits } = this.#options
    let races = 0
    while (this.#pollAgain) {
      this.#pollAgain = false
      const room = limits.maxConcurrentRuns - executions.running
      if (room <= 0 || executions.draining) return
      const found = await this.#withinShares(await this.#claimable(room))
      this.#isBehind = found.length >= room
      const hasClaimed = await this.#claimEach(found)
      // Other nodes were faster, but more runs may be left.
      if (!hasClaimed && ++races < LOST_RACES_MAX) this.#pollAgain = true
    }
  }

  /**
   * Runs that this node may claim. If no other node can serve a run, this node claims it to end it, unless its component may still
   * be discovered.
   */
  #claimable(limit: number): Promise<readonly string[]> {
    const { store, registry, leases } = this.#options
    if (!store.capabilities.shared && !registry.isIncomplete()) return store.claimable(limit)
    return store.claimable(limit, { components: registry.list().map(({ id }) => id), takeover: leases.mayTakeOver })
  }

  /** Drops queued runs of owners that use their whole share of the slots. Runs that have started are kept. */
  async #withinShares(ids: readonly string[]): Promise<readonly string[]> {
    const { store, quotas } = this.#options
    if (!quotas.mayExceedSlotShare(ids.length)) return ids
    const runs = (await Promise.all(ids.map((id) => store.get(id)))).flatMap((stored) => stored?.run ?? [])
    const queued = runs.filter(({ status }) => status === 'queued')
    const within = new Set(quotas.withinSlotShares(queued))
    return runs.filter((run) => run.status !== 'queued' || within.has(run)).map(({ id }) => id)
  }

  /** Returns false if another node claimed some of them. */
  async #claimEach(ids: readonly string[]): Promise<boolean> {
    let taken = true
    const interrupted: StoredRun[] = []
    try {
      for (let at = 0; at < ids.length; at += CLAIMS_AT_ONCE) {
        const claims = ids.slice(at, at + CLAIMS_AT_ONCE).map((id) => this.#claim(id, interrupted))
        for (const claim of await Promise.allSettled(claims)) {
          if (claim.status === 'rejected') throw claim.reason
          taken &&= claim.value
        }
      }
    } finally {
      await this.#options.executions.containInterrupted(interrupted)
    }
    return taken
  }

  /** Claims one run; adds it to `interrupted` if it is a crash suspect. Returns false if another node has it. */
  async #claim(id: string, interrupted: StoredRun[]): Promise<boolean> {
    const { store, limits, worker, executions, leases } = this.#options
    if (executions.draining) return true
    // The lease expired because this process was busy. No other node claimed the run, so renew the lease.
    if (executions.has(id)) {
      await leases.renew()
      return true
    }
    // Runs that this node gave up are released first, so that they do not count as crash suspects.
    if (!executions.hasRoom || executions.gaveUp(id)) return true
    const releaseSlot = executions.reserveSlot(id)
    try {
      const claimed = await store.claim(id, worker, limits.leaseMs, { takeover: leases.mayTakeOver })
      if (claimed === undefined) return false
      if (executions.reserveIfInterrupted(claimed)) interrupted.push(claimed)
      else void executions.executeOrLog(claimed)
      return true
    } finally {
      releaseSlot()
    }
  }
}
