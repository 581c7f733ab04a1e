/**
 * Ends runs that no worker will execute: those with a requested stop, and those whose component no node serves. Also releases leases
 * that this node holds without executing the run.
 */
import type { LeaseKeeper } from './lease-keeper.ts'
import type { LocalExecutions } from './local-executions.ts'
import type { NodeDeps } from '../node-deps.ts'
import type { ClaimableQuery, LeasedRun } from '../ports/store.ts'
import { UnservedComponents } from './unserved-components.ts'

/** Maximum runs of one kind that one sweep ends. */
const ENDED_AT_ONCE = 20

export interface UnexecutedRunsOptions extends Pick<NodeDeps, 'store' | 'registry' | 'limits' | 'clock'> {
  /** Name under which this node claims. */
  readonly worker: string
  readonly executions: LocalExecutions
  readonly leases: LeaseKeeper
}

export class UnexecutedRuns {
  readonly #options: UnexecutedRunsOptions
  readonly #unserved: UnservedComponents
  /** Leases of this node without an execution at the last renewal, and those without one at the last two. */
  #idle: ReadonlyMap<string, number> = new Map()
  #strays: readonly LeasedRun[] = []

  constructor(options: UnexecutedRunsOptions) {
    this.#options = options
    this.#unserved = new UnservedComponents(options)
  }

  async sweep(): Promise<void> {
    await this.#releaseStrays()
    await this.#endStopped()
    await this.#endUnserved()
  }

  /** Releases leases without an execution at two consecutive renewals: a failed request left them. */
  noteStrays(leases: readonly LeasedRun[]): void {
    const { executions } = this.#options
    const idle = leases.filter(({ id }) => !executions.has(id) && !executions.gaveUp(id))
    this.#strays = idle.filter(({ id, epoch }) => this.#idle.get(id) === epoch)
    this.#idle = new Map(idle.map(({ id, epoch }) => [id, epoch]))
  }

  async #releaseStrays(): Promise<void> {
    const { store, executions } = this.#options
    for (const { id, epoch } of this.#strays) if (!executions.has(id)) await store.release(id, epoch)
  }

  /** Any node carries out a stop, whether or not it serves the component or has a free slot (RUN-2). */
  #endStopped(): Promise<void> {
    return this.#endEach({ components: [] })
  }

  /** Another node may serve a component that this one does not. A run whose component no node has served for long fails (RUN-1). */
  async #endUnserved(): Promise<void> {
    const { store, registry } = this.#options
    if (!store.capabilities.shared) return
    const components = (await this.#unserved.due()).filter((component) => registry.find(component) === undefined)
    if (components.length > 0) await this.#endEach({ components })
  }

  /** Claims runs to end them without executing them. */
  async #endEach(query: ClaimableQuery): Promise<void> {
    const { store, limits, worker, executions, leases } = this.#options
    const takeover = leases.mayTakeOver
    for (const id of await store.claimable(ENDED_AT_ONCE, { ...query, takeover })) {
      if (executions.draining) return
      if (executions.has(id)) continue
      const claimed = await store.claim(id, worker, limits.leaseMs, { takeover })
      if (claimed !== undefined) await executions.executeOrLog(claimed)
    }
  }
}
