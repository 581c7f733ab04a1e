/** Simulates dying workers on a surviving store. */
import type { Component, RecoveryPolicy, RunContext } from '../../src/core/ports/component.ts'
import type { LoggedEvent } from '../../src/core/model/event.ts'
import type { Limits } from '../../src/core/model/limits.ts'
import type { RedactOptions } from '../../src/core/redaction/redaction.ts'
import type { Store } from '../../src/core/ports/store.ts'
import { createMemoryStore } from '../../src/stores/memory.ts'
import { overriding } from '../../src/testing/broken-stores.ts'
import { createFakeClock, type FakeClock } from '../../src/testing/fake-clock.ts'
import { ManualClock } from './manual-clock.ts'
import { aborted, Connection, openNode, subject, type TestNode } from './node.ts'
import { until } from './until.ts'

export const LEASE_MS = 150

/** A store with mortal workers. Its clock is frozen, so leases expire only when a worker dies. */
export class World {
  readonly clock: FakeClock = this.createClock()
  readonly store = createMemoryStore({ clock: this.clock })
  readonly components: readonly Component[]
  #connection: Connection | undefined
  #looks = 0

  constructor(...components: readonly Component[]) {
    this.components = components
  }

  protected createClock(): FakeClock {
    return createFakeClock()
  }

  /** A worker that can be killed. */
  worker(components = this.components, limits: Partial<Limits> = {}, redact?: RedactOptions): TestNode {
    this.#connection = new Connection(this.#counting())
    return openNode({
      components,
      store: this.#connection.store,
      clock: this.clock,
      limits: { leaseMs: LEASE_MS, maxAttempts: 3, ...limits },
      ...(redact !== undefined && { redact }),
    })
  }

  /** Cuts off the last worker and expires its leases. */
  kill(): void {
    this.#connection!.cut()
    this.clock.advance(LEASE_MS + 1)
  }

  /** Resolves after workers have polled for claimable runs `times` more times. */
  async looked(times: number): Promise<void> {
    const before = this.#looks
    await until(`runs to take were looked for ${times} times`, () => this.#looks >= before + times)
  }

  #counting(): Store {
    const { store } = this
    return overriding(store, { claimable: (...parameters) => (this.#looks++, store.claimable(...parameters)) })
  }

  /** A run whose worker died after a number of texts, or while paused. */
  async orphan(when: number | 'paused', input: unknown = null): Promise<string> {
    const worker = this.worker()
    const id = await worker.start('subject', input)
    if (when === 'paused') await worker.reached(id, when)
    else await worker.emitted(id, 'text.delta', when)
    this.kill()
    return id
  }
}

/** The same with manual timers for the workers. */
export class ManualWorld extends World {
  declare readonly clock: ManualClock

  protected override createClock(): ManualClock {
    return new ManualClock()
  }
}

/** An agent with a recovery mode. */
export function recovering(recovery: RecoveryPolicy, run: Component['run'], more: Partial<Component> = {}): Component {
  return subject(run, { ...more, recovery })
}

/** Hangs in a run's first attempt, so that its worker can die there. */
export function hangAtFirst({ attempt, signal }: RunContext): Promise<void> {
  return attempt === 1 ? aborted(signal) : Promise.resolve()
}

/** Executes a run up to a number of texts, kills the worker, and lets another one finish it. */
export async function recovered(component: Component, output: number): Promise<LoggedEvent[]> {
  const world = new World(component)
  const id = await world.orphan(output)
  return world.worker().ended(id)
}
