/** A simulated process: a real service of the core, with its own clock, on a store behind a network. */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Clock, Ids } from '../../src/core/ports/clock.ts'
import type { Enclosure } from '../../src/core/recovery/enclosure.ts'
import type { ExecutionTrace } from '../../src/core/ports/execution-trace.ts'
import { silentLogger } from '../../src/core/ports/logger.ts'
import { Registry } from '../../src/core/registry.ts'
import { loadExecution } from '../../src/core/scheduling/load-execution.ts'
import { Service } from '../../src/core/service.ts'
import { componentsFor } from './agents.ts'
import { type Link, NodeStore } from './node-store.ts'
import type { World } from './world.ts'

await loadExecution() // within a simulation it would take time that no seed decides

/** Of the simulated wall clocks, at the beginning. */
export const EPOCH_MS = Date.parse('2026-01-01T00:00:00.000Z')

export class SimNode {
  readonly index: number
  readonly #world: World
  /** By how much its wall clock is wrong. It survives the process. */
  skewMs = 0
  isCutOff = false
  isDraining = false
  process: SimProcess | undefined
  /** Messages that arrived while the process was stopped with SIGSTOP, in order. */
  #held: (() => void)[] | undefined
  #starts = 0

  constructor(world: World, index: number) {
    this.#world = world
    this.index = index
  }

  get isPaused(): boolean {
    return this.#held !== undefined
  }

  start(): void {
    if (this.process !== undefined) return
    this.#held = undefined
    this.isDraining = false
    this.#world.scheduler.note(`node ${this.index} starts`)
    const started = new SimProcess(this.#world, this, this.#starts++)
    this.process = started
    this.deliver(started, () => started.service.startScheduling())
  }

  /** The process dies, with everything that it waits for. */
  crash(): void {
    if (this.process === undefined) return
    this.#world.scheduler.note(`node ${this.index} crashes`)
    this.process = undefined
    this.#held = undefined
  }

  pause(): void {
    if (this.process === undefined || this.#held !== undefined) return
    this.#world.scheduler.note(`node ${this.index} is stopped`)
    this.#held = []
  }

  resume(): void {
    const held = this.#held
    if (held === undefined) return
    this.#world.scheduler.note(`node ${this.index} goes on`)
    this.#held = undefined
    held.forEach((act, at) => this.#world.scheduler.after(at * 0.001, 'held', act))
  }

  /** Runs a function in a process of this node; never after that process has died. */
  deliver(to: SimProcess, act: () => void): void {
    if (this.process !== to) return
    if (this.#held !== undefined) {
      this.#held.push(() => this.deliver(to, act))
      return
    }
    this.#world.current = to
    act()
  }
}

export class SimProcess {
  readonly node: SimNode
  readonly service: Service
  readonly store: NodeStore

  constructor(world: World, node: SimNode, start: number) {
    this.node = node
    const { scheduler } = world
    const bornAt = scheduler.now
    const clock: Clock = {
      now: () => EPOCH_MS + Math.floor(scheduler.now) + node.skewMs,
      elapsed: () => scheduler.now - bornAt + 1,
      startTimer: (act, milliseconds) => world.startTimer(this, act, milliseconds),
    }
    const link: Link = world.linkOf(this)
    this.store = new NodeStore(link)
    this.service = new Service({
      store: this.store,
      registry: new Registry(
        componentsFor({
          model: world.model,
          owner: () => this.store.owner,
          nonce: () => world.nonce(),
          delay: (milliseconds, signal) => world.delay(this, milliseconds, signal),
        }),
      ),
      clock,
      ids: idsOf(node.index, start),
      logger: world.loggerOf?.(node.index) ?? silentLogger,
      limits: world.limits,
      digests: { of: (run) => Promise.resolve((text) => digest(`${run}\n${text}`)) },
      enclosures: new AsyncLocalStorage<Enclosure>(),
      executions: new AsyncLocalStorage<ExecutionTrace>(),
    })
  }
}

function idsOf(node: number, start: number): Ids {
  let count = 0
  const unique = (): string => `n${node}.${start}.${count++}`
  return { run: () => `run_${unique()}`, session: () => `ses_${unique()}`, unique }
}

/** No secret is kept in a simulation: two different texts must differ, and that is all. */
export function digest(text: string): string {
  let [a, b] = [0x811c9dc5, 0x1000193]
  for (let at = 0; at < text.length; at++) {
    a = Math.imul(a ^ text.charCodeAt(at), 0x01000193)
    b = Math.imul(b ^ text.charCodeAt(at), 0x85ebca6b) ^ (b >>> 13)
  }
  return `${(a >>> 0).toString(36)}${(b >>> 0).toString(36)}`
}
