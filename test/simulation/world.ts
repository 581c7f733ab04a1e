/** One simulated world: nodes, their store, the network, faults and clients, all driven by one seed. */
import { replaceEventLoop } from '../../src/core/runtime/event-loop-tick.ts'
import type { Limits } from '../../src/core/model/limits.ts'
import type { Logger } from '../../src/core/ports/logger.ts'
import type { Slice } from '../../src/core/model/slice.ts'
import type { Hint } from '../../src/core/ports/store.ts'
import { Random } from '../support/random.ts'
import { Client } from './client.ts'
import { Model, type ModelRun, Violation } from './model.ts'
import { digest, EPOCH_MS, SimNode, type SimProcess } from './node.ts'
import type { Link } from './node-store.ts'
import { type Chances, type Fault, isFaultless, type Plan } from './plan.ts'
import { Scheduler, type TraceLine } from './scheduler.ts'
import { SharedStore, unavailable } from './shared-store.ts'

/** How long after the last fault everything has to be over: suspects of crashes wait for each other. */
const BOUND_MS = 15 * 60_000
/** Maximum steps of a simulation. */
const STEPS_MAX = 400_000
/** How long a node waits for a store that does not answer. */
const STORE_TIMEOUT_MS = 3000

export interface WorldOptions {
  readonly trace?: boolean
  /** The schedule is random up to this step, and regular from there on: for shrinking. */
  readonly randomSteps?: number
}

export interface Outcome {
  readonly seed: number
  readonly violation: Violation | undefined
  readonly hash: string
  readonly steps: number
  readonly events: number
  readonly virtualMs: number
  readonly trace: readonly TraceLine[] | undefined
  readonly ends: Readonly<Record<string, number>>
}

export class World {
  readonly plan: Plan
  readonly scheduler: Scheduler
  readonly model = new Model()
  readonly shared: SharedStore
  readonly nodes: readonly SimNode[]
  readonly clients: readonly Client[]
  readonly limits: Partial<Limits>
  readonly random: Random
  /** The process of the current step. */
  current: SimProcess | undefined
  loggerOf: ((node: number) => Logger) | undefined
  readonly #randomSteps: number
  #storeSkewMs = 0
  #isOut = false
  #nonces = 0
  #calmAt: number
  /** Clients that are done, up to the first that is not. */
  #done = 0

  constructor(plan: Plan, options: WorldOptions = {}) {
    this.plan = plan
    this.#randomSteps = options.randomSteps ?? Infinity
    this.random = new Random(plan.seed ^ 0x5bd1e995)
    this.scheduler = new Scheduler(new Random(plan.seed ^ 0x9e3779b9), { trace: options.trace === true })
    this.limits = {
      maxConcurrentRuns: plan.slots,
      maxRunsPerPrincipal: plan.slots,
      leaseMs: 6000,
      pollIntervalMs: 2000,
      suspectMs: 1000,
      stopGraceMs: 1000,
      drainTimeoutMs: 2000,
      maxReadBytes: 16 * 1024,
    }
    const storeClock = { now: () => EPOCH_MS + Math.floor(this.scheduler.now) + this.#storeSkewMs }
    const plans = new Map(plan.runs.map((run) => [run.name, run]))
    this.shared = new SharedStore(storeClock, this.model, ({ metadata }) => plans.get(metadata!['plan'] as string)!)
    this.shared.watchAll((hint) => this.#broadcast(hint))
    this.nodes = Array.from({ length: plan.nodes }, (_, index) => new SimNode(this, index))
    this.clients = plan.runs.map((run) => new Client(this, run))
    this.model.isFaultless = isFaultless(plan)
    this.#calmAt = plan.faults.reduce((last, fault) => Math.max(last, endOf(fault)), plan.calmAt)
  }

  get isCalm(): boolean {
    return this.scheduler.now >= this.#calmAt
  }

  /** The chances as they are now: none once faults have stopped. */
  get chances(): Chances | undefined {
    return this.scheduler.now < this.plan.calmAt && this.scheduler.steps < this.#randomSteps
      ? this.plan.chances
      : undefined
  }

  chance(kind: keyof Chances): boolean {
    const chances = this.chances
    return chances !== undefined && chances[kind] > 0 && this.random.chance(chances[kind])
  }

  latency(): number {
    const { latencyMs } = this.plan
    if (this.scheduler.steps >= this.#randomSteps) return latencyMs
    const random = this.random.next()
    // Mostly about the usual, and now and then many times of it.
    return random > 0.99 ? latencyMs * 40 * this.random.next() : latencyMs * (0.2 + 1.6 * random)
  }

  nonce(): number {
    return ++this.#nonces
  }

  async run(): Promise<Outcome> {
    const restoreLoop = replaceEventLoop({
      defer: (act) => this.scheduler.defer(act),
      afterPending: (act) => this.#later(1, act),
      now: () => this.scheduler.now,
    })
    const restoreDigest = replaceDigest()
    const rejected = (cause: unknown): void => {
      if (!(cause instanceof Violation))
        this.model.violation('unhandled rejection', String((cause as Error)?.stack ?? cause))
    }
    process.on('unhandledRejection', rejected)
    try {
      for (const node of this.nodes) this.scheduler.after(node.index, 'start', () => node.start())
      for (const client of this.clients) client.begin()
      for (const fault of this.plan.faults) this.scheduler.after(fault.at, fault.kind, () => this.#inject(fault))
      await this.scheduler.run(() => this.#isOver())
      await new Promise((resolve) => setImmediate(resolve))
      if (this.model.first === undefined) this.#checkEnd()
    } finally {
      process.off('unhandledRejection', rejected)
      restoreDigest()
      restoreLoop()
    }
    return this.#outcome()
  }

  startTimer(process: SimProcess, act: () => void, milliseconds: number): () => void {
    if (milliseconds === Infinity) return () => {}
    const timer = this.scheduler.after(milliseconds, 'timer', () => process.node.deliver(process, act))
    return () => (timer.act = undefined)
  }

  delay(process: SimProcess, milliseconds: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const abort = (): void => reject(signal.reason as Error)
      if (signal.aborted) return abort()
      signal.addEventListener('abort', abort, { once: true })
      this.startTimer(process, resolve, milliseconds)
    })
  }

  /** How the requests of a process reach the store. */
  linkOf(process: SimProcess): Link {
    return {
      shared: this.shared,
      request: (label, apply) => this.#request(process, label, apply),
      batch: (records) => (records > 1 && this.chance('torn') ? this.random.between(1, records - 1) : records),
      isDoubled: () => this.chance('torn'),
      misread: (id, slice) => this.#misread(id, slice),
    }
  }

  #request<Result>(process: SimProcess, label: string, apply: () => Promise<Result>): Promise<Result> {
    const { node } = process
    if (this.chance('crashAtAwait')) this.#crashSoon(node)
    return new Promise((resolve, reject) => {
      const answer = (act: () => void): void => {
        this.scheduler.after(this.latency(), label, () => node.deliver(process, act))
      }
      const fail = (what: string, afterMs = 0): void => {
        this.scheduler.after(afterMs, label, () => answer(() => reject(unavailable(what))))
      }
      this.scheduler.after(this.latency(), label, () => {
        this.current = undefined
        if (node.isCutOff || this.#isOut) return fail('the store cannot be reached', STORE_TIMEOUT_MS)
        if (this.chance('lostRequest')) return fail(`${label}: request lost`, 100)
        this.scheduler.note(`${node.index}: ${label}`)
        apply().then(
          (result) => {
            if (node.isCutOff || this.chance('lostAnswer')) fail(`${label}: answer lost`, 100)
            else answer(() => resolve(result))
          },
          (cause: unknown) => {
            if (cause instanceof Violation) return // the model has noted it, and nothing more happens
            this.scheduler.note(`${node.index}: ${label} is refused: ${(cause as Error).message}`)
            answer(() => reject(cause))
          },
        )
      })
    })
  }

  /** At a call of the store: before it is executed, after it, or when its response has arrived. */
  #crashSoon(node: SimNode): void {
    const { process } = node
    this.scheduler.after(this.latency() * this.random.pick([0, 1, 2, 3]), 'crash at await', () => {
      if (node.process !== process) return
      node.crash()
      this.scheduler.after(this.random.between(0, 8000), 'restart', () => node.start())
    })
  }

  async #misread(id: string, slice: Slice): Promise<Slice> {
    if (!this.chance('misread')) return slice
    const others = [...this.model.runs.keys()].filter((other) => other !== id)
    if (others.length === 0) return slice
    this.scheduler.note(`the store errs: a read of ${id} gets something else`)
    const other = this.random.pick(others)
    const wrong = await this.shared.memory.read(other, -1, slice.bytes.length)
    return wrong === undefined ? slice : { ...wrong, first: slice.first }
  }

  #broadcast(hint: Hint): void {
    for (const node of this.nodes) {
      const { process } = node
      if (process === undefined || node.isCutOff || this.chance('lostHint')) continue
      this.#sendHint(node, process, hint)
      if (this.chance('doubledHint')) this.#sendHint(node, process, hint)
    }
  }

  #sendHint(node: SimNode, process: SimProcess, hint: Hint): void {
    const delay = this.latency() + (this.chance('lateHint') ? this.random.between(0, 5000) : 0)
    this.scheduler.after(delay, 'hint', () => {
      if (!node.isCutOff) node.deliver(process, () => process.store.hinted(hint))
    })
  }

  #inject(fault: Fault): void {
    const node = 'node' in fault ? this.nodes[fault.node]! : undefined
    this.scheduler.note(`fault: ${JSON.stringify(fault)}`)
    const after = (milliseconds: number, act: () => void): void => {
      this.scheduler.after(milliseconds, fault.kind, act)
    }
    switch (fault.kind) {
      case 'crash':
        node!.crash()
        return after(fault.forMs, () => node!.start())
      case 'drain':
        return this.#drain(node!, fault.forMs)
      case 'pause':
        node!.pause()
        return after(fault.forMs, () => node!.resume())
      case 'partition':
        node!.isCutOff = true
        return after(fault.forMs, () => (node!.isCutOff = false))
      case 'outage':
        this.#isOut = true
        return after(fault.forMs, () => (this.#isOut = false))
      case 'step':
        node!.skewMs += fault.byMs
        return
      case 'storeStep':
        this.#storeSkewMs += fault.byMs
    }
  }

  #drain(node: SimNode, downMs: number): void {
    const { process } = node
    if (process === undefined) return
    node.isDraining = true
    const restart = (): void => {
      if (node.process !== process) return
      node.crash()
      this.scheduler.after(downMs, 'restart', () => node.start())
    }
    node.deliver(process, () => void process.service.drain().then(() => this.startTimer(process, restart, 0)))
    this.scheduler.after(20_000, 'kill', restart) // as whoever waits for a process to end does
  }

  #later(milliseconds: number, act: () => void): void {
    const process = this.current
    this.scheduler.after(milliseconds, 'soon', () =>
      process === undefined ? act() : process.node.deliver(process, act),
    )
  }

  #isOver(): boolean {
    if (this.model.first !== undefined || this.scheduler.steps >= STEPS_MAX) return true
    if (!this.isCalm) return false
    if (this.scheduler.now > this.#calmAt + BOUND_MS) return true
    for (; this.#done < this.clients.length; this.#done++) if (!this.clients[this.#done]!.isDone) return false
    for (const run of this.model.runs.values()) if (!this.#isSettled(run)) return false
    return true
  }

  /** The run has ended, or waits for a person who does not know that it was started. */
  #isSettled(run: ModelRun): boolean {
    if (run.isFinished) return true
    return run.status === 'paused' && this.clients.some((client) => client.plan === run.plan && client.isRefused)
  }

  #checkEnd(): void {
    const { model, scheduler } = this
    const unfinished = [...model.runs.values()].filter((run) => !this.#isSettled(run))
    const when = `${Math.round((scheduler.now - this.#calmAt) / 1000)} s after the last fault (${scheduler.steps} steps)`
    if (unfinished.length > 0)
      model.violation(
        'RUN-1',
        `${when} ${unfinished.map((run) => `${run.id} (${run.plan.name}) is ${run.status}, epoch ${run.epoch}, held by ${run.holder}, stop ${run.stopAsked}`).join('; ')}`,
      )
    const waiting = this.clients.flatMap((client) => client.unfinished())
    if (unfinished.length === 0 && waiting.length > 0) model.violation('SUB-2', `${when} ${waiting.join('; ')}`)
    if (model.first !== undefined) return
    try {
      for (const client of this.clients) client.checkEnd()
    } catch (cause) {
      if (!(cause instanceof Violation)) throw cause
    }
  }

  #outcome(): Outcome {
    const ends: Record<string, number> = {}
    for (const { status } of this.model.runs.values()) ends[status] = (ends[status] ?? 0) + 1
    return {
      seed: this.plan.seed,
      violation: this.model.first,
      hash: this.scheduler.hash,
      steps: this.scheduler.steps,
      events: this.model.events,
      virtualMs: this.scheduler.now,
      trace: this.scheduler.trace,
      ends,
    }
  }
}

export function simulate(plan: Plan, options?: WorldOptions): Promise<Outcome> {
  return new World(plan, options).run()
}

/** Time at which a fault is over and its processes run again. */
function endOf(fault: Fault): number {
  const over = fault.at + ('forMs' in fault ? fault.forMs : 0)
  return fault.kind === 'drain' ? over + 20_000 : over
}

/** Fingerprints of starts come from threads of the runtime, which no seed decides: here they are computed at once. */
function replaceDigest(): () => void {
  const { subtle } = globalThis.crypto
  Object.defineProperty(subtle, 'digest', { value: digestAtOnce, configurable: true, writable: true })
  return () => void Reflect.deleteProperty(subtle, 'digest')
}

function digestAtOnce(_algorithm: unknown, data: Uint8Array): Promise<ArrayBuffer> {
  return Promise.resolve(new TextEncoder().encode(digest(Buffer.from(data).toString('latin1'))).buffer)
}
