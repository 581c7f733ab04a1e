/**
 * Decides which runs this node executes. It connects the parts: `RunClaimer` claims runs, `LocalExecutions` executes them, `LeaseKeeper`
 * renews their leases and `UnexecutedRuns` ends runs that no node will execute.
 */
import { UnexecutedRuns } from './unexecuted-runs.ts'
import type { RunAnswers } from '../recovery/run-answers.ts'
import { LeaseKeeper } from './lease-keeper.ts'
import { loadExecution } from './load-execution.ts'
import { LocalExecutions } from './local-executions.ts'
import type { NodeDeps } from '../node-deps.ts'
import type { PrincipalQuotas } from '../access/principal-quotas.ts'
import type { Run } from '../model/run.ts'
import { RunClaimer } from './run-claimer.ts'
import type { Hint, StopRequest, StoredRun } from '../ports/store.ts'
import { repeatTimer } from '../runtime/timer.ts'

export class Dispatcher {
  /** Name under which this node claims runs. Different after every start. */
  readonly worker: string
  readonly #deps: NodeDeps
  readonly #executions: LocalExecutions
  readonly #leases: LeaseKeeper
  readonly #claimer: RunClaimer
  readonly #abandoned: UnexecutedRuns
  readonly #stopWatching: () => void
  #stopTending: (() => void) | undefined
  #tending = false

  constructor(deps: NodeDeps, quotas: PrincipalQuotas) {
    this.#deps = deps
    this.worker = deps.ids.unique()
    this.#executions = new LocalExecutions(deps, quotas, () => this.#claimer.poll())
    this.#leases = new LeaseKeeper({
      ...deps,
      worker: this.worker,
      components: () => (deps.limits.maxConcurrentRuns === 0 ? [] : deps.registry.list().map(({ id }) => id)),
      executing: () => this.#executions.current(),
      renewed: (leases, before) => {
        this.#abandoned.noteStrays(leases)
        this.#executions.renewed(leases, before)
      },
    })
    const shared = { ...deps, worker: this.worker, executions: this.#executions, leases: this.#leases }
    this.#claimer = new RunClaimer({ ...shared, quotas })
    this.#abandoned = new UnexecutedRuns(shared)
    this.#stopWatching = deps.store.watch('*', (hint) => this.#hinted(hint))
  }

  /** Claims runs, now and from now on. */
  start(): void {
    const everyMs = Math.max(this.#deps.limits.leaseMs / 3, 50)
    this.#stopTending = repeatTimer(() => void this.#tend(), everyMs, this.#deps.clock)
    this.#leases.start()
    this.#claimer.poll()
  }

  /** Runs of this node that use a worker slot. */
  get running(): number {
    return this.#executions.running
  }

  /** Sleeping runs of this node without a slot. */
  get sleeping(): number {
    return this.#executions.sleeping
  }

  /** Runs of dead workers that this node took over: how many it recovered, and how many it had to fail. */
  get takeovers(): { readonly recovered: number; readonly failed: number } {
    return this.#executions.takeovers
  }

  get draining(): boolean {
    return this.#executions.draining
  }

  /** Whether this node may claim runs whose lease of another node has expired. */
  get mayTakeOver(): boolean {
    return this.#leases.mayTakeOver
  }

  /** Whether this node executes a run, or is about to. */
  isExecuting(id: string): boolean {
    return this.#executions.has(id)
  }

  /**
   * Reserves a worker slot for a run that is about to be created. Undefined if no slot is free, or the owner has used its share.
   * Call the returned function once the run exists.
   */
  reserve(id: string, owner: string): (() => void) | undefined {
    return this.#claimer.reserve(id, owner)
  }

  /** Executes a run that was claimed for this node, or records its answers for a node that can execute it. */
  async take(claimed: StoredRun, runAnswers?: RunAnswers): Promise<void> {
    if (!this.isForOthers(claimed.run)) return this.#executions.take(claimed, runAnswers)
    try {
      if (runAnswers !== undefined) await (await loadExecution()).releaseWithAnswers(this.#deps, claimed, runAnswers)
    } finally {
      await this.#executions.giveBack(claimed)
    }
  }

  /** Whether only other nodes may be able to execute the run. */
  isForOthers({ component }: Run): boolean {
    const { store, registry, limits } = this.#deps
    return store.capabilities.shared && (limits.maxConcurrentRuns === 0 || registry.find(component) === undefined)
  }

  /** Carries out a stop, if the run executes here or nowhere. */
  async stop(id: string, request: StopRequest): Promise<void> {
    if (await this.#executions.stop(id, request)) return
    const claimed = await this.#deps.store.claim(id, this.worker, this.#deps.limits.leaseMs, {
      paused: true,
      outOfOrder: true,
      takeover: this.mayTakeOver,
    })
    if (claimed !== undefined) await this.#executions.execute(claimed)
  }

  /** Claims no more runs, lets running ones finish within a timeout, and hands over the rest. */
  async drain(): Promise<void> {
    await this.#executions.drain()
    this.#stopWatching()
    await this.#claimer.idle()
    await this.#executions.handOver()
    this.#stopTending?.()
    this.#leases.close() // not earlier: running runs keep their claims
  }

  #hinted(hint: Hint): void {
    if (hint.claimable === true) this.#claimer.poll()
    if (hint.stop === true) {
      void this.#deps.store
        .get(hint.run)
        .then((stored) => (stored?.stop === undefined ? undefined : this.stop(hint.run, stored.stop)))
        .catch((cause: unknown) => this.#executions.logFailure(hint.run, cause))
    }
  }

  /** Runs every third of a lease, because hints can be lost and workers can die. */
  async #tend(): Promise<void> {
    if (this.#tending) return // the previous call has not ended
    this.#tending = true
    try {
      await this.#abandoned.sweep()
    } catch (cause) {
      this.#deps.logger.warn({ err: cause }, 'failed to check for runs that no worker executes')
    } finally {
      this.#tending = false
    }
    this.#claimer.poll()
  }
}
