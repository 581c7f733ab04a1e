/** Workers that die, on a store that does not. */
import type { Component, Recovery, RunContext } from '../../src/core/ports/component.ts'
import type { LoggedEvent } from '../../src/core/model/event.ts'
import type { Limits } from '../../src/core/model/limits.ts'
import type { RedactOptions } from '../../src/core/redaction/redaction.ts'
import type { Store } from '../../src/core/ports/store.ts'
import { openMemoryStore } from '../../src/stores/memory.ts'
import { overriding } from '../../src/testing/broken-stores.ts'
import { createFakeClock, type FakeClock } from '../../src/testing/fake-clock.ts'
import { ManualClock } from './manual-clock.ts'
import { aborted, Connection, openNode, subject, type TestNode } from './node.ts'
import { until } from './until.ts'

export const LEASE_MS = 150

/** A store that workers come to and die on. Its clock stands still, so only a death lets a claim run out. */
export class World {
  readonly clock: FakeClock = this.createClock()
  readonly store = openMemoryStore({ clock: this.clock })
  readonly components: readonly Component[]
  #connection: Connection | undefined
  #looks = 0

  constructor(...components: readonly Component[]) {
    this.components = components
  }

  protected createClock(): FakeClock {
    return createFakeClock()
  }

  /** A worker that can be made to die. */
  worker(components = this.components, limits: Partial<Limits> = {}, redact?: RedactOptions): TestNode {
    this.#connection = new Connection(this.#counting())
    return openNode({
      components,
      store: this.#connection.store,
      clock: this.clock,
      limits: { leaseMs: LEASE_MS, attemptsMax: 3, ...limits },
      ...(redact !== undefined && { redact }),
    })
  }

  /** The last worker says no more, and its claims run out. */
  kill(): void {
    this.#connection!.cut()
    this.clock.advance(LEASE_MS + 1)
  }

  /** Resolves when workers have looked so many times for runs to take, from now on. */
  async looked(times: number): Promise<void> {
    const before = this.#looks
    await until(`runs to take were looked for ${times} times`, () => this.#looks >= before + times)
  }

  #counting(): Store {
    const { store } = this
    return overriding(store, { claimable: (...parameters) => (this.#looks++, store.claimable(...parameters)) })
  }

  /** A run whose worker died when it had said so much, or when it was paused. */
  async orphan(when: number | 'paused', input: unknown = null): Promise<string> {
    const worker = this.worker()
    const id = await worker.start('subject', input)
    if (when === 'paused') await worker.reached(id, when)
    else await worker.emitted(id, 'text.delta', when)
    this.kill()
    return id
  }
}

/** The same, where also the timers of the workers are the test's. */
export class ManualWorld extends World {
  declare readonly clock: ManualClock

  protected override createClock(): ManualClock {
    return new ManualClock()
  }
}

/** An agent that is recovered in a way. */
export function recovering(recovery: Recovery, run: Component['run'], more: Partial<Component> = {}): Component {
  return subject(run, { ...more, recovery })
}

/** Hangs in the first attempt of a run, so that its worker can die there. */
export function hangAtFirst({ attempt, signal }: RunContext): Promise<void> {
  return attempt === 1 ? aborted(signal) : Promise.resolve()
}

/** Drives a run until it has said so much, lets the worker die, and lets another one end it. */
export async function recovered(component: Component, said: number): Promise<LoggedEvent[]> {
  const world = new World(component)
  const id = await world.orphan(said)
  return world.worker().ended(id)
}
