/**
 * Decides which runs this node executes: claims them up to its capacity, takes over runs whose worker died, carries out stops, and releases
 * what is left when the node drains.
 */
import { type LiveExecution, proceedWithClaim, type Continuation, releaseWithAnswers } from '../recovery/claimed-run.ts'
import { type Clock, elapsedOf } from '../ports/clock.ts'
import { type Executions, LeaseKeeper } from './lease-keeper.ts'
import { ParkedExecutions } from './parked-executions.ts'
import { GivenUpRuns } from '../recovery/given-up-runs.ts'
import type { NodeDeps } from '../ports/node-deps.ts'
import type { PrincipalQuotas } from '../access/principal-quotas.ts'
import type { Run } from '../model/run.ts'
import type { RunExecution, ExecutionEnd } from '../execution/run-execution.ts'
import { storeUnavailable } from '../model/errors.ts'
import { StartRetries } from '../recovery/start-retries.ts'
import { SleepingRuns } from './sleeping-runs.ts'
import type { ClaimableQuery, HeldRun, Hint, StopRequest, StoredRun } from '../ports/store.ts'
import { type Suspicion, Suspects, wasInterrupted } from '../recovery/crash-suspects.ts'
import { eventLoop } from '../runtime/event-loop-tick.ts'
import { repeatTimer, startTimer } from '../runtime/timer.ts'
import { UnservedComponents } from './unserved-components.ts'

/** Runs that are ended at a time without being executed: those that are to be stopped, and those that nobody serves. */
const ENDED_AT_ONCE = 20

/** How often in a row to look again because other nodes claimed the runs first. */
const LOST_RACES_MAX = 5

/** Claims that are asked for at a time: they share commits. */
const CLAIMS_AT_ONCE = 32

export class Dispatcher {
  /** Name under which this node claims runs; another one after every start. */
  readonly owner: string
  readonly #parts: NodeDeps
  readonly #quotas: PrincipalQuotas
  /** Gives back the slot that a run takes of its owner's share. */
  readonly #slots = new Map<string, () => void>()
  readonly #executions = new Map<string, RunExecution>()
  /** Claimed and about to execute. */
  readonly #starting = new Set<string>()
  readonly #parked: ParkedExecutions
  readonly #retries: StartRetries
  readonly #givenUp: GivenUpRuns
  readonly #leases: LeaseKeeper
  /** Runs that were interrupted when their process died. */
  readonly #suspects: Suspects
  /** Runs that have no slot while they sleep. */
  readonly #sleeping: SleepingRuns
  readonly #unserved: UnservedComponents
  /** Executions that have ended and are being cleaned up. */
  readonly #ending = new Set<Promise<void>>()
  readonly #stopWatching: () => void
  #stopTending: (() => void) | undefined
  #looking: Promise<void> | undefined
  #lookAgain = false
  #tending = false
  #draining = false
  #handingOver = false
  #reserved = 0
  /** More runs may be queued than there were slots: the next free slot goes to the queue, in its order, and not to a new start. */
  #isBehind = false
  #takenUp = { recovered: 0, lost: 0 }
  /** Leases of this node without an execution at the last renewal; and those that had none at the renewal before either. */
  #idle: ReadonlyMap<string, number> = new Map()
  #strays: readonly HeldRun[] = []

  constructor(parts: NodeDeps, quotas: PrincipalQuotas) {
    this.#parts = parts
    this.#quotas = quotas
    this.owner = parts.ids.unique()
    this.#parked = new ParkedExecutions(parts.limits.runsParkedMax)
    this.#retries = new StartRetries(parts, (run, cause) => this.#logFailure(run, cause))
    this.#givenUp = new GivenUpRuns(parts)
    this.#unserved = new UnservedComponents(parts)
    this.#leases = new LeaseKeeper({
      ...parts,
      owner: this.owner,
      components: parts.limits.runsConcurrentMax === 0 ? [] : parts.registry.list().map(({ id }) => id),
      executing: () => new Map([...this.#executions].map(([id, { epoch, durable }]) => [id, { epoch, durable }])),
      renewed: (held, before) => this.#renewed(held, before),
    })
    this.#suspects = new Suspects({
      suspectMs: parts.limits.suspectMs,
      clock: parts.clock,
      start: (claimed, suspicion) => void this.#executeOrLog(claimed, suspicion),
      hasProgressed: (id) => this.#executions.get(id)?.hasWritten ?? false,
    })
    this.#sleeping = new SleepingRuns({
      max: parts.limits.runsAsleepMax,
      hasRoom: () => this.#hasRoom(),
      isExecuting: (id) => this.#executions.has(id) || this.#starting.has(id),
      freed: (id) => {
        this.#freeSlot(id)
        this.#look()
      },
      taken: (id, owner) => void this.#slots.set(id, quotas.takeSlot(owner)),
    })
    this.#stopWatching = parts.store.watch('*', (hint) => this.#hinted(hint))
  }

  /** Looks for runs to take, now and from now on. */
  start(): void {
    const everyMs = Math.max(this.#parts.limits.leaseMs / 3, 50)
    this.#stopTending = repeatTimer(() => void this.#tend(), everyMs, this.#parts.clock)
    this.#leases.start()
    this.#look()
  }

  /** Runs of this node that take a worker slot. */
  get running(): number {
    const executing = this.#executions.size + this.#starting.size - this.#sleeping.size
    return executing + this.#suspects.waiting + this.#reserved
  }

  /** Runs of dead workers that this node took over: how many it recovered, and how many it had to fail. */
  get takenUp(): { readonly recovered: number; readonly lost: number } {
    return this.#takenUp
  }

  get draining(): boolean {
    return this.#draining
  }

  /** Whether this node may claim what another leased, once that lease has expired. */
  get mayTakeOver(): boolean {
    return this.#leases.mayTakeOver
  }

  /**
   * Reserves a worker slot for a run that is about to be created; undefined when no slot is free, or none of its owner's share. Call
   * the returned function once the run exists.
   */
  reserve(owner: string): (() => void) | undefined {
    if (!this.#hasRoom()) this.#isBehind = true
    if (this.#draining || this.#isBehind || this.#quotas.isAtSlotShare(owner)) return undefined
    this.#reserved++
    const release = this.#quotas.takeSlot(owner)
    return () => {
      this.#reserved--
      release()
    }
  }

  /** Executes a run that was claimed for this node, or records its answers for a node that can. */
  async take(claimed: StoredRun, continuation?: Continuation): Promise<void> {
    if (!this.isForOthers(claimed.run)) {
      if (continuation !== undefined || !this.#mayBeSuspect(claimed)) return this.#execute(claimed, continuation)
      return this.#contain([claimed])
    }
    try {
      if (continuation !== undefined) await releaseWithAnswers(this.#parts, claimed, continuation)
    } finally {
      await this.#retries.giveBack(claimed)
    }
  }

  /** Other nodes may be able to execute it; this one is not. */
  isForOthers({ component }: Run): boolean {
    const { store, registry, limits } = this.#parts
    return store.capabilities.shared && (limits.runsConcurrentMax === 0 || registry.find(component) === undefined)
  }

  /** Carries out a stop if the run executes here, or nowhere. */
  async stop(id: string, request: StopRequest): Promise<void> {
    const execution = this.#executions.get(id)
    if (execution !== undefined) return execution.stop(request)
    const suspect = this.#suspects.take(id)
    if (suspect !== undefined) return this.#execute(suspect) // it is not executed any more
    if (this.#starting.has(id)) return // it looks for a stop when it starts
    const claimed = await this.#parts.store.claim(id, this.owner, this.#parts.limits.leaseMs, {
      paused: true,
      outOfOrder: true,
      takeover: this.mayTakeOver,
    })
    if (claimed !== undefined) await this.#execute(claimed)
  }

  /** Takes no more runs, lets the running ones finish within the bound, and hands the rest over. */
  async drain(): Promise<void> {
    this.#draining = true
    await Promise.all(this.#suspects.close().map((claimed) => this.#retries.giveBack(claimed)))
    const { clock, limits } = this.#parts
    const until = elapsedOf(clock) + limits.drainTimeoutMs
    while (this.running > 0 && elapsedOf(clock) < until) await pause(20, clock)
    this.#stopWatching()
    await this.#looking
    this.#handingOver = true
    await this.#retries.end()
    await Promise.all([...this.#parked.all(), ...this.#executions.values()].map((execution) => execution.release()))
    // Those that were just being started hand themselves over.
    while (this.#starting.size > 0) await new Promise<void>((resolve) => eventLoop.soon(resolve))
    await Promise.all(this.#ending)
    await this.#givenUp.release()
    this.#stopTending?.()
    this.#leases.stop() // not before: what still runs keeps its claims
  }

  #hinted(hint: Hint): void {
    if (hint.claimable === true) this.#look()
    if (hint.stop === true) {
      void this.#parts.store
        .get(hint.run)
        .then((stored) => (stored?.stop === undefined ? undefined : this.stop(hint.run, stored.stop)))
        .catch((cause: unknown) => this.#logFailure(hint.run, cause))
    }
  }

  /** Carries out stops, and lets go of what was lost: where the epoch that is held now is gone, and no other (LOG-4). */
  #renewed(held: readonly HeldRun[], before: Executions): void {
    this.#noteStrays(held)
    void this.#givenUp.release()
    const found = new Map(held.map((run) => [run.id, run]))
    for (const [id, { epoch, durable }] of before) {
      const execution = this.#executions.get(id)
      if (execution === undefined || execution.epoch !== epoch || execution.isPausing) continue
      const run = found.get(id)
      if (run?.epoch !== epoch) execution.lose(new Error('the lease expired and another worker took the run'))
      else if (run.next < durable)
        execution.lose(
          storeUnavailable(`the store lost the events from ${run.next} on, of ${durable} that were durable`),
        )
      else if (run.stop !== undefined) execution.stop(run.stop)
    }
  }

  /** Every third of a lease: hints can be lost, workers can die. */
  async #tend(): Promise<void> {
    if (this.#tending) return // the last time is not over yet
    this.#tending = true
    try {
      await this.#releaseStrays()
      await this.#endStopped()
      await this.#endUnserved()
    } catch (cause) {
      this.#parts.logger.warn({ err: cause }, 'failed to look for abandoned runs')
    } finally {
      this.#tending = false
    }
    this.#look()
  }

  /** A lease of this node without an execution, at two renewals in a row, was left by a request that failed. */
  #noteStrays(held: readonly HeldRun[]): void {
    const idle = held.filter(({ id }) => !this.#isExecuting(id) && !this.#givenUp.has(id))
    this.#strays = idle.filter(({ id, epoch }) => this.#idle.get(id) === epoch)
    this.#idle = new Map(idle.map(({ id, epoch }) => [id, epoch]))
  }

  async #releaseStrays(): Promise<void> {
    for (const { id, epoch } of this.#strays) if (!this.#isExecuting(id)) await this.#parts.store.release(id, epoch)
  }

  /** Any node carries out a stop, whether or not it serves the component or has room (RUN-2). */
  #endStopped(): Promise<void> {
    return this.#endEach({ components: [] })
  }

  /** Another node may serve what this one does not. What none has served for long is ended here, and says so (RUN-1). */
  async #endUnserved(): Promise<void> {
    const { store, registry } = this.#parts
    if (!store.capabilities.shared) return
    const components = (await this.#unserved.due()).filter((component) => registry.find(component) === undefined)
    if (components.length > 0) await this.#endEach({ components })
  }

  /** Claims runs that are not to be executed, only ended. */
  async #endEach(query: ClaimableQuery): Promise<void> {
    const { store, limits } = this.#parts
    const takeover = this.mayTakeOver
    for (const id of await store.claimable(ENDED_AT_ONCE, { ...query, takeover })) {
      if (this.#draining) return
      if (this.#isExecuting(id)) continue
      const claimed = await store.claim(id, this.owner, limits.leaseMs, { takeover })
      if (claimed !== undefined) await this.#execute(claimed).catch((cause: unknown) => this.#logFailure(id, cause))
    }
  }

  async #checkStop(id: string, execution: RunExecution): Promise<void> {
    const stop = (await this.#parts.store.get(id))?.stop
    if (stop !== undefined) execution.stop(stop)
  }

  /** Claims what this node may claim. Calls while it is busy cause one more round. */
  #look(): void {
    if (this.#draining) return
    this.#sleeping.wakeSome()
    this.#lookAgain = true
    this.#looking ??= this.#takeClaimable()
      .catch((cause: unknown) => this.#parts.logger.warn({ err: cause }, 'failed to claim runs'))
      .finally(() => (this.#looking = undefined))
  }

  async #takeClaimable(): Promise<void> {
    const { limits } = this.#parts
    let races = 0
    while (this.#lookAgain) {
      this.#lookAgain = false
      await this.#givenUp.release() // before they are claimed: their leases may have expired
      const room = limits.runsConcurrentMax - this.running
      if (room <= 0 || this.#draining) return
      const found = await this.#withinShares(await this.#claimable(room))
      this.#isBehind = found.length >= room
      const taken = await this.#takeEach(found)
      // Other nodes were faster; there may be as many left.
      if (!taken && ++races < LOST_RACES_MAX) this.#lookAgain = true
    }
  }

  /** Runs that this node may take. Where no other node can, it takes also what it does not serve, to end it. */
  #claimable(limit: number): Promise<readonly string[]> {
    const { store, registry } = this.#parts
    if (!store.capabilities.shared) return store.claimable(limit)
    return store.claimable(limit, { components: registry.list().map(({ id }) => id), takeover: this.mayTakeOver })
  }

  /** Without the queued runs of owners that have their share of the slots. Runs that have begun are not affected. */
  async #withinShares(ids: readonly string[]): Promise<readonly string[]> {
    if (!this.#quotas.mayExceedSlotShare(ids.length)) return ids
    const runs = (await Promise.all(ids.map((id) => this.#parts.store.get(id)))).flatMap((stored) => stored?.run ?? [])
    const queued = runs.filter(({ status }) => status === 'queued')
    const within = new Set(this.#quotas.withinSlotShares(queued))
    return runs.filter((run) => run.status !== 'queued' || within.has(run)).map(({ id }) => id)
  }

  /** False when another node has taken some of them. */
  async #takeEach(ids: readonly string[]): Promise<boolean> {
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
      for (const { run } of interrupted) this.#starting.delete(run.id)
      await this.#contain(interrupted)
    }
    return taken
  }

  /** Takes one run; into `interrupted`, as starting, where it may only execute as a suspect. False when another node has it. */
  async #claim(id: string, interrupted: StoredRun[]): Promise<boolean> {
    const { store, limits } = this.#parts
    if (this.#draining) return true
    // Its lease expired because this process was busy. Nobody took it, so renew it.
    if (this.#isExecuting(id)) {
      await this.#leases.renew()
      return true
    }
    if (!this.#hasRoom() || this.#givenUp.has(id)) return true
    this.#reserved++
    try {
      const claimed = await store.claim(id, this.owner, limits.leaseMs, { takeover: this.mayTakeOver })
      if (claimed === undefined) return false
      if (this.#mayBeSuspect(claimed)) {
        this.#starting.add(id)
        interrupted.push(claimed)
      } else void this.#executeOrLog(claimed)
      return true
    } finally {
      this.#reserved--
    }
  }

  /** It was interrupted, and will execute again. */
  #mayBeSuspect({ run, stop }: StoredRun): boolean {
    const recovery = this.#parts.registry.find(run.component)?.recovery ?? 'fail'
    return wasInterrupted(run) && recovery !== 'fail' && stop === undefined
  }

  async #contain(interrupted: readonly StoredRun[]): Promise<void> {
    if (this.#draining) await Promise.all(interrupted.map((claimed) => this.#retries.giveBack(claimed)))
    else if (interrupted.length > 0) this.#suspects.add(interrupted)
  }

  #executeOrLog(claimed: StoredRun, suspicion?: Suspicion): Promise<void> {
    return this.#execute(claimed, undefined, suspicion).catch((cause: unknown) =>
      this.#logFailure(claimed.run.id, cause),
    )
  }

  /** Resolves when the run has started, or is settled without starting. */
  async #execute(claimed: StoredRun, continuation?: Continuation, suspicion?: Suspicion): Promise<void> {
    const { id } = claimed.run
    let begun: LiveExecution | undefined
    this.#starting.add(id)
    this.#slots.set(id, this.#quotas.takeSlot(claimed.run.owner))
    try {
      begun = await this.#begin(claimed, continuation, suspicion)
      if (begun === undefined) {
        this.#suspects.ended(id)
        this.#freeSlot(id)
        return this.#look()
      }
      this.#executions.set(id, begun.execution)
      const ending = begun.ended.then((end) => this.#ended(id, end, claimed.epoch))
      this.#ending.add(ending)
      void ending.finally(() => this.#ending.delete(ending))
      if (this.#handingOver) await begun.execution.release()
    } catch (cause) {
      this.#suspects.ended(id)
      this.#freeSlot(id)
      // A paused run waits for its next continuation; any other would be claimed again at once.
      if (continuation !== undefined) await this.#retries.giveBack(claimed)
      else await this.#retries.add(claimed, cause)
      throw cause
    } finally {
      this.#starting.delete(id)
    }
    // A stop that came while the run was being started. If the store cannot be asked now, it will be at the next look.
    await this.#checkStop(id, begun.execution).catch((cause: unknown) => this.#logFailure(id, cause))
  }

  async #begin(
    claimed: StoredRun,
    continuation: Continuation | undefined,
    suspicion: Suspicion | undefined,
  ): Promise<LiveExecution | undefined> {
    const { id, owner } = claimed.run
    const parked = this.#parked.take(id, claimed.next)
    const slot = this.#sleeping.slotOf(id, owner)
    const { begun, takenUp } = await proceedWithClaim(this.#parts, claimed, { continuation, parked, suspicion, slot })
    this.#retries.forget(id)
    if (takenUp !== undefined) this.#takenUp = { ...this.#takenUp, [takenUp]: this.#takenUp[takenUp] + 1 }
    return begun
  }

  async #ended(id: string, end: ExecutionEnd, epoch: number): Promise<void> {
    const execution = this.#executions.get(id)
    this.#executions.delete(id)
    this.#sleeping.forget(id)
    this.#suspects.ended(id)
    this.#freeSlot(id)
    if (end === 'paused' && execution !== undefined) await this.#park(id, execution)
    // A store that only this process uses may be unavailable because of the run.
    if (end === 'given up' && this.#parts.store.capabilities.shared) this.#givenUp.add(id, epoch)
    else if (end !== 'finished' && end !== 'paused') await this.#release(id, epoch)
    this.#look()
  }

  async #park(id: string, execution: RunExecution): Promise<void> {
    if (execution.isParkable) this.#parked.add(id, execution)
    else await execution.release()
  }

  /** A lease that cannot be released expires by itself. */
  async #release(id: string, epoch: number): Promise<void> {
    const { store, logger } = this.#parts
    await store.release(id, epoch).catch((cause: unknown) => {
      logger.debug({ run: id, err: cause }, 'a lease could not be released')
    })
  }

  #freeSlot(id: string): void {
    this.#slots.get(id)?.()
    this.#slots.delete(id)
  }

  #isExecuting(id: string): boolean {
    return this.#executions.has(id) || this.#starting.has(id) || this.#suspects.isWaiting(id)
  }

  #hasRoom(): boolean {
    return this.running < this.#parts.limits.runsConcurrentMax
  }

  #logFailure(run: string, cause: unknown): void {
    this.#parts.logger.warn({ run, err: cause }, 'run could not be executed')
  }
}

function pause(milliseconds: number, clock?: Clock): Promise<void> {
  return new Promise((resolve) => startTimer(resolve, milliseconds, clock))
}
