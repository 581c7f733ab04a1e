/**
 * The runs of this node from claim to end, with their worker slots: starting, executing, sleeping, paused in memory, or waiting as
 * crash suspects.
 */
import { elapsedOf } from '../ports/clock.ts'
import type { Executions } from './lease-keeper.ts'
import type { RunAnswers } from '../recovery/run-answers.ts'
import type { LiveExecution } from '../recovery/start-execution.ts'
import { loadExecution } from './load-execution.ts'
import { ParkedExecutions } from './parked-executions.ts'
import { GivenUpRuns } from '../recovery/given-up-runs.ts'
import type { NodeDeps } from '../node-deps.ts'
import type { PrincipalQuotas } from '../access/principal-quotas.ts'
import type { RunExecution, ExecutionEnd } from '../execution/run-execution.ts'
import { storeUnavailable } from '../model/errors.ts'
import { StartRetries } from '../recovery/start-retries.ts'
import { SleepingRuns } from './sleeping-runs.ts'
import type { LeasedRun, StopRequest, StoredRun } from '../ports/store.ts'
import { type CrashGroup, Suspects, wasInterrupted } from '../recovery/crash-suspects.ts'
import { eventLoop } from '../runtime/event-loop-tick.ts'
import { startTimer } from '../runtime/timer.ts'

const DRAIN_POLL_MS = 20

export class LocalExecutions {
  readonly #deps: NodeDeps
  readonly #quotas: PrincipalQuotas
  readonly #onSlotFreed: () => void
  /** By run: returns the slot to the owner's share. */
  readonly #slots = new Map<string, () => void>()
  readonly #executions = new Map<string, RunExecution>()
  /** Claimed and about to execute. */
  readonly #starting = new Set<string>()
  readonly #parked: ParkedExecutions
  readonly #retries: StartRetries
  readonly #givenUp: GivenUpRuns
  /** Runs that were interrupted when their process died. */
  readonly #suspects: Suspects
  /** Sleeping runs without a slot. */
  readonly #sleeping: SleepingRuns
  /** Executions that have ended and are being cleaned up. */
  readonly #ending = new Set<Promise<void>>()
  /** Runs with a slot that are being created or claimed. */
  readonly #reserved = new Set<string>()
  #draining = false
  #handingOver = false
  #takeovers = { recovered: 0, failed: 0 }

  /** `onSlotFreed`: called when a slot may be free. */
  constructor(deps: NodeDeps, quotas: PrincipalQuotas, onSlotFreed: () => void) {
    this.#deps = deps
    this.#quotas = quotas
    this.#onSlotFreed = onSlotFreed
    this.#parked = new ParkedExecutions(deps.limits.maxParkedRuns)
    this.#givenUp = new GivenUpRuns(deps)
    this.#retries = new StartRetries(deps, this.#givenUp, (run, cause) => this.logFailure(run, cause))
    this.#suspects = new Suspects({
      suspectMs: deps.limits.suspectMs,
      clock: deps.clock,
      start: (claimed, crashGroup) => void this.executeOrLog(claimed, crashGroup),
      hasProgressed: (id) => this.#executions.get(id)?.hasWritten ?? false,
    })
    this.#sleeping = new SleepingRuns({
      max: deps.limits.maxSleepingRuns,
      hasRoom: () => this.hasRoom,
      isExecuting: (id) => this.#executions.has(id) || this.#starting.has(id),
      freed: (id) => {
        this.#freeSlot(id)
        this.#onSlotFreed()
      },
      onSlotTaken: (id, owner) => void this.#slots.set(id, quotas.takeSlot(owner)),
    })
  }

  /** Number of runs that use a worker slot. */
  get running(): number {
    const executing = this.#executions.size + this.#starting.size - this.#sleeping.size
    return executing + this.#suspects.waiting + this.#reserved.size
  }

  get sleeping(): number {
    return this.#sleeping.size
  }

  get hasRoom(): boolean {
    return this.running < this.#deps.limits.maxConcurrentRuns
  }

  /** Runs of dead workers that this node took over: how many it recovered, and how many it had to fail. */
  get takeovers(): { readonly recovered: number; readonly failed: number } {
    return this.#takeovers
  }

  get draining(): boolean {
    return this.#draining
  }

  /** Whether a run executes here, is starting, being created or claimed, or waits as a suspect. */
  has(id: string): boolean {
    return this.#executions.has(id) || this.#starting.has(id) || this.#reserved.has(id) || this.#suspects.isWaiting(id)
  }

  /** Whether this node gave the run up and has not released it yet. */
  gaveUp(id: string): boolean {
    return this.#givenUp.has(id)
  }

  /** Current executions, for lease renewal. */
  current(): Executions {
    return new Map([...this.#executions].map(([id, { epoch, durable }]) => [id, { epoch, durable }]))
  }

  /** Takes a slot for a run that is being created or claimed, until the returned function is called. */
  reserveSlot(id: string): () => void {
    this.#reserved.add(id)
    return () => void this.#reserved.delete(id)
  }

  /** Gives free slots to sleeping runs that have woken up. */
  wakeSleeping(): void {
    this.#sleeping.wakeSome()
  }

  /**
   * Executes a claimed run; an interrupted one only after the suspects before it have made progress. Resolves when it has started or
   * waits.
   */
  async take(claimed: StoredRun, runAnswers?: RunAnswers): Promise<void> {
    if (runAnswers !== undefined || !this.#mayBeSuspect(claimed)) return this.execute(claimed, runAnswers)
    return this.#contain([claimed])
  }

  /** Reserves the slot of a claimed run that was interrupted, until `containInterrupted`. Returns false if the run may execute immediately. */
  reserveIfInterrupted(claimed: StoredRun): boolean {
    if (!this.#mayBeSuspect(claimed)) return false
    this.#starting.add(claimed.run.id)
    return true
  }

  /** Hands runs that were interrupted together to the crash-loop containment. */
  async containInterrupted(interrupted: readonly StoredRun[]): Promise<void> {
    for (const { run } of interrupted) this.#starting.delete(run.id)
    await this.#contain(interrupted)
  }

  /** Carries out a stop. Returns false if the run does not execute here. */
  async stop(id: string, request: StopRequest): Promise<boolean> {
    const execution = this.#executions.get(id)
    if (execution !== undefined) {
      execution.stop(request)
      return true
    }
    const suspect = this.#suspects.take(id)
    if (suspect !== undefined) {
      await this.execute(suspect) // ends it without executing it
      return true
    }
    return this.#starting.has(id) // a starting run checks for stops
  }

  /** Carries out stops, and drops executions that lost their lease: only if the lost epoch is their current one (LOG-4). */
  renewed(leases: readonly LeasedRun[], before: Executions): void {
    void this.#givenUp.release()
    const found = new Map(leases.map((run) => [run.id, run]))
    for (const [id, { epoch, durable }] of before) {
      const execution = this.#executions.get(id)
      if (execution === undefined || execution.epoch !== epoch || execution.isPausing) continue
      const run = found.get(id)
      if (run?.epoch !== epoch) execution.lose(new Error('the lease expired, and another worker took the run over'))
      else if (run.next < durable)
        execution.lose(storeUnavailable(`the store lost events ${run.next} to ${durable - 1}, which were durable`))
      else if (run.stop !== undefined) execution.stop(run.stop)
    }
  }

  /** Releases a claimed run to the queue. */
  giveBack(claimed: StoredRun): Promise<void> {
    return this.#retries.giveBack(claimed)
  }

  /** Accepts no more runs, and waits for executing ones within a timeout. */
  async drain(): Promise<void> {
    this.#draining = true
    await Promise.all(this.#suspects.close().map((claimed) => this.giveBack(claimed)))
    const { clock, limits } = this.#deps
    const until = elapsedOf(clock) + limits.drainTimeoutMs
    while (this.running > 0 && elapsedOf(clock) < until)
      await new Promise<void>((resolve) => startTimer(resolve, DRAIN_POLL_MS, clock))
  }

  /** Releases executing runs, for other nodes to resume. */
  async handOver(): Promise<void> {
    this.#handingOver = true
    await this.#retries.end()
    await Promise.all([...this.#parked.all(), ...this.#executions.values()].map((execution) => execution.release()))
    // Starting runs release themselves.
    while (this.#starting.size > 0) await new Promise<void>((resolve) => eventLoop.afterPending(resolve))
    await Promise.all(this.#ending)
    await this.#givenUp.release()
  }

  executeOrLog(claimed: StoredRun, crashGroup?: CrashGroup): Promise<void> {
    return this.execute(claimed, undefined, crashGroup).catch((cause: unknown) =>
      this.logFailure(claimed.run.id, cause),
    )
  }

  /** Resolves when the run has started, or was ended without starting. */
  async execute(claimed: StoredRun, runAnswers?: RunAnswers, crashGroup?: CrashGroup): Promise<void> {
    const { id } = claimed.run
    let live: LiveExecution | undefined
    this.#starting.add(id)
    this.#slots.set(id, this.#quotas.takeSlot(claimed.run.owner))
    try {
      live = await this.#startClaimed(claimed, runAnswers, crashGroup)
      if (live === undefined) {
        this.#suspects.ended(id)
        this.#freeSlot(id)
        return this.#onSlotFreed()
      }
      this.#executions.set(id, live.execution)
      const ending = live.ended.then((end) => this.#ended(id, end, claimed.epoch))
      this.#ending.add(ending)
      void ending.finally(() => this.#ending.delete(ending))
      if (this.#handingOver) await live.execution.release()
    } catch (cause) {
      this.#suspects.ended(id)
      this.#freeSlot(id)
      // A paused run waits for its next answer; any other would be claimed again immediately.
      if (runAnswers !== undefined) await this.giveBack(claimed)
      else await this.#retries.add(claimed, cause)
      throw cause
    } finally {
      this.#starting.delete(id)
    }
    // A stop may have been requested while the run was starting. If the store is unavailable now, the next renewal reports the stop.
    await this.#checkStop(id, live.execution).catch((cause: unknown) =>
      this.#deps.logger.warn({ run: id, err: cause }, 'failed to check a starting run for a stop request'),
    )
  }

  logFailure(run: string, cause: unknown): void {
    this.#deps.logger.warn({ run, err: cause }, 'failed to execute a run; it will be retried')
  }

  /** Whether the run was interrupted and will execute again. */
  #mayBeSuspect({ run, stop }: StoredRun): boolean {
    const recovery = this.#deps.registry.find(run.component)?.recovery ?? 'fail'
    return wasInterrupted(run) && recovery !== 'fail' && stop === undefined
  }

  async #contain(interrupted: readonly StoredRun[]): Promise<void> {
    if (this.#draining) await Promise.all(interrupted.map((claimed) => this.giveBack(claimed)))
    else if (interrupted.length > 0) this.#suspects.add(interrupted)
  }

  async #startClaimed(
    claimed: StoredRun,
    runAnswers: RunAnswers | undefined,
    crashGroup: CrashGroup | undefined,
  ): Promise<LiveExecution | undefined> {
    const { id, owner } = claimed.run
    const parked = this.#parked.take(id, claimed.next)
    const slot = this.#sleeping.slotOf(id, owner)
    const { proceedWithClaim } = await loadExecution()
    const { live, takeover } = await proceedWithClaim(this.#deps, claimed, { runAnswers, parked, crashGroup, slot })
    this.#retries.forget(id)
    if (takeover !== undefined) this.#takeovers = { ...this.#takeovers, [takeover]: this.#takeovers[takeover] + 1 }
    return live
  }

  async #checkStop(id: string, execution: RunExecution): Promise<void> {
    const stop = (await this.#deps.store.get(id))?.stop
    if (stop !== undefined) execution.stop(stop)
  }

  async #ended(id: string, end: ExecutionEnd, epoch: number): Promise<void> {
    const execution = this.#executions.get(id)
    this.#executions.delete(id)
    this.#sleeping.forget(id)
    this.#suspects.ended(id)
    this.#freeSlot(id)
    if (end === 'paused' && execution !== undefined) await this.#park(id, execution)
    // A store that only this process uses may be unavailable because of the run.
    if (end === 'given-up' && this.#deps.store.capabilities.shared) {
      this.#givenUp.add(id, epoch)
      void this.#givenUp.release()
    } else if (end !== 'finished' && end !== 'paused') await this.#release(id, epoch)
    this.#onSlotFreed()
  }

  async #park(id: string, execution: RunExecution): Promise<void> {
    if (execution.isParkable) this.#parked.add(id, execution)
    else await execution.release()
  }

  /** If this fails, the lease expires by itself. */
  async #release(id: string, epoch: number): Promise<void> {
    const { store, logger } = this.#deps
    await store.release(id, epoch).catch((cause: unknown) => {
      logger.debug({ run: id, err: cause }, 'failed to release a lease')
    })
  }

  #freeSlot(id: string): void {
    this.#slots.get(id)?.()
    this.#slots.delete(id)
  }
}
