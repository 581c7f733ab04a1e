/**
 * Runs a program in a world where workers die at a given event, and somebody answers every question. Its time is not that of the
 * machine: however busy that is, work that takes 3 ms ends before a wait of 60 ms does.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { agent } from '../../../src/agents/agent.ts'
import { type Component, type Emission, type RunContext, WorkError } from '../../../src/core/ports/component.ts'
import type { LoggedEvent, Question } from '../../../src/core/model/event.ts'
import { isFinished } from '../../../src/core/model/run.ts'
import { replaceEventLoop } from '../../../src/core/runtime/event-loop-tick.ts'
import type { LogWriter } from '../../../src/core/ports/store.ts'
import { createMemoryStore } from '../../../src/stores/memory.ts'
import { overriding } from '../../../src/testing/broken-stores.ts'
import { ManualClock } from '../manual-clock.ts'
import { Connection, openNode, readEvents, type TestNode } from '../node.ts'
import { answerTo, failureOf, type Node, type Program, receipt } from './program.ts'

const LEASE_MS = 150
/** How long new work waits for recorded work: longer than everything a program may do in between. */
const REPLAY_WAIT_MS = 60
/** Time between two polls of a run. */
const LOOK_MS = 10
/** Event-loop turns after which all work that needs no time is done. */
const SETTLING_TURNS = 20
/** A run that has not ended by then never does. */
const LOOKS_MAX = 10_000

export interface Life {
  readonly program: Program
  /** Log length at which the worker dies. Default: it survives. */
  readonly diesAt?: number
  /** Follows if the previous life diverged: its question is answered with `retry`. */
  readonly isRollback?: boolean
}

export interface Ended {
  readonly log: readonly LoggedEvent[]
  /** The last worker's program. */
  readonly program: Program
  /** Receipts of executed tools, in order. */
  readonly effects: readonly string[]
  /** Results that were returned to the wrong call. */
  readonly mixedUp: readonly string[]
  /** Tools executed twice with one idempotency key. */
  readonly repeated: readonly string[]
  /** The question that ended the last worker's attempt, because its code diverged from the log. */
  readonly diverged?: Question
  /** Number of effects and events when the last worker started. */
  readonly before: { readonly effects: number; readonly events: number }
}

/** The worker of each life dies as scripted, and the next one takes over. */
export async function live(lives: readonly Life[], random: () => number): Promise<Ended> {
  // A timer of 0 ms takes at least one, and a program waits for thousands of them.
  const restore = replaceEventLoop({
    defer: (act) => void setImmediate(act),
    afterPending: (act) => void setImmediate(() => setImmediate(act)),
    now: () => performance.now(),
  })
  try {
    return await liveIn(new ManualClock(undefined, settle), lives, random)
  } finally {
    restore()
  }
}

/** Flushes promises and immediates: nothing here waits for anything else. */
async function settle(): Promise<void> {
  for (let turns = 0; turns < SETTLING_TURNS; turns++) await nextTurn()
}

async function liveIn(clock: ManualClock, lives: readonly Life[], random: () => number): Promise<Ended> {
  const store = createMemoryStore({ clock })
  const world = new Effects()
  let id: string | undefined
  let before = { effects: 0, events: 0 }
  for (const [at, { program, diesAt = Infinity, isRollback = false }] of lives.entries()) {
    const connection = new Connection(store)
    const life = { isOver: false }
    const cut = (): void => {
      life.isOver = true
      connection.cut()
    }
    const dying = overriding(connection.store, {
      writer: (...claim) => counting(connection.store.writer(...claim), diesAt, cut),
    })
    const component = subjectOf(program, new Interpreter(world, life, random, clock))
    const limits = { leaseMs: LEASE_MS, maxAttempts: 100 }
    const node = openNode({ components: [component], store: dying, clock, limits })
    before = { effects: world.effects.length, events: id === undefined ? 0 : (await store.get(id))!.next }
    id ??= await node.start('subject')
    if (isRollback) await node.answer(id, { diverged: 'retry' })
    const diverged = await tend(node, id, world, life, clock)
    const end = { ...world.found(), program, before, log: await readEvents(store, id) }
    const isRolledBack = diverged !== undefined && lives[at + 1]?.isRollback === true
    if (diverged !== undefined && !isRolledBack) return { ...end, diverged }
    if (!life.isOver && !isRolledBack) return end
    cut()
    clock.advance(LEASE_MS + 1)
  }
  throw new Error('the last worker did not finish the run')
}

/** Side effects of tools, which survive crashes. */
class Effects {
  readonly effects: string[] = []
  readonly byKey = new Map<string, string>()
  readonly mixedUp: string[] = []
  readonly repeated: string[] = []

  have(key: string, what: string, isIdempotent: boolean): void {
    if (this.byKey.has(key)) {
      if (!isIdempotent || this.byKey.get(key) !== what) this.repeated.push(`${key}: ${what}`)
      return
    }
    this.byKey.set(key, what)
    this.effects.push(what)
  }

  found(): Pick<Ended, 'effects' | 'mixedUp' | 'repeated'> {
    return { effects: [...this.effects], mixedUp: this.mixedUp, repeated: this.repeated }
  }
}

interface Living {
  isOver: boolean
}

/** Dies right before the record that exceeds the limit. */
function counting(writer: LogWriter, diesAt: number, die: () => void): LogWriter {
  return new Proxy(writer, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key, target)
      if (typeof value !== 'function') return value
      const method = value.bind(target) as (...parameters: unknown[]) => unknown
      if (key !== 'append') return method
      return (...parameters: unknown[]) => {
        if (target.next >= diesAt) die()
        return method(...parameters)
      }
    },
  })
}

/** Answers the run's questions until it ends, dies, or has diverged. */
async function tend(
  node: TestNode,
  id: string,
  world: Effects,
  life: Living,
  clock: ManualClock,
): Promise<Question | undefined> {
  for (let looks = 0; looks < LOOKS_MAX; looks++) {
    await clock.pass(LOOK_MS)
    if (life.isOver) return undefined
    const stored = await node.store.get(id).catch(() => undefined)
    if (stored === undefined) continue
    if (isFinished(stored.run.status)) return undefined
    if (stored.run.status !== 'paused') continue
    const { waiting = [] } = stored.run
    const diverged = waiting.find(({ kind }) => kind === 'diverged')
    if (diverged !== undefined) return diverged
    const answers = Object.fromEntries(waiting.map((question) => [question.id, answer(question, id, world)]))
    // Another question may come up meanwhile, and the worker may die on the answer.
    await node.answer(id, answers).catch(() => {})
  }
  throw new Error(`run ${id} came to no end in ${LOOKS_MAX * LOOK_MS} ms of its clock`)
}

/** Answers a question about an interrupted tool by checking for its effect. */
function answer({ kind, prompt, details, actor }: Question, run: string, world: Effects): unknown {
  if (kind !== 'uncertain') return answerTo(prompt)
  const { key } = details as { key: string }
  const done = world.byKey.get(`${actor?.run ?? run}/${key}`)
  return done === undefined ? 'retry' : { action: 'result', value: done }
}

function subjectOf(program: Program, interpreter: Interpreter): Component {
  return agent<unknown>({
    id: 'subject',
    recovery: 'resume',
    limits: { replayWaitMs: REPLAY_WAIT_MS },
    run: (_, context) => interpreter.aloud(program, context),
  })
}

/** A step or call that may fail. */
type Failing = Extract<Node, { fails: boolean }>

class Interpreter {
  readonly #world: Effects
  readonly #life: Living
  readonly #random: () => number
  readonly #clock: ManualClock

  constructor(world: Effects, life: Living, random: () => number, clock: ManualClock) {
    this.#world = world
    this.#life = life
    this.#random = random
    this.#clock = clock
  }

  async *aloud(program: Program, context: RunContext): AsyncGenerator<Emission, unknown[], void> {
    const results: unknown[] = []
    for (const node of program) {
      if (node.do === 'say') yield node.text
      results.push(await this.#do(node, context))
    }
    return results
  }

  async #all(program: Program, context: RunContext): Promise<unknown[]> {
    const results: unknown[] = []
    for (const node of program) results.push(await this.#do(node, context))
    return results
  }

  async #do(node: Node, context: RunContext): Promise<unknown> {
    await this.#latency()
    switch (node.do) {
      case 'tool':
        return this.#tool(node, context)
      case 'step': {
        const options = node.key === undefined ? {} : { key: node.key }
        const body = async (): Promise<unknown> => this.#throwIf(node, await this.#all(node.body, context))
        return this.#caught(node, context.step(node.name, body, options))
      }
      case 'call': {
        const body = (inner: RunContext): ReturnType<typeof this.aloud> => this.aloud(node.body, inner)
        const outcome = (value: unknown): unknown => this.#throwIf(node, value)
        const component = agent<unknown>({
          id: node.name,
          async *run(_, inner) {
            return outcome(yield* body(inner))
          },
        })
        return this.#caught(node, context.call(component, node.input))
      }
      case 'ask': {
        const given = await context.ask(node.prompt)
        this.#check(given, answerTo(node.prompt))
        return given
      }
      case 'sleep':
        return context.sleep(node.ms).then(() => null)
      case 'say':
        return null
      case 'parallel':
        return Promise.all(
          node.branches.map((branch, at) =>
            this.#all(branch, node.within ? context.within(`${node.names ?? 'b'}${at}`) : context),
          ),
        )
    }
  }

  async #tool({ name, input, idempotent }: Extract<Node, { do: 'tool' }>, context: RunContext): Promise<unknown> {
    const expected = receipt(name, input)
    try {
      const result = await context.tool({ name, input, idempotent }, async ({ key }) => {
        await this.#latency()
        if (this.#life.isOver) await new Promise(() => {}) // a dead process does nothing
        if (input < 0) throw new RangeError(expected)
        this.#world.have(key, expected, idempotent)
        return expected
      })
      this.#check(result, expected)
      return result
    } catch (thrown) {
      if (input >= 0 || !(thrown instanceof WorkError || thrown instanceof RangeError)) throw thrown
      this.#check(thrown.message, expected)
      return `caught ${thrown.message}`
    }
  }

  #throwIf({ name, fails }: Failing, results: unknown): unknown {
    if (fails) throw new RangeError(failureOf(name))
    return results
  }

  async #caught({ name, fails }: Failing, work: Promise<unknown>): Promise<unknown> {
    try {
      return await work
    } catch (thrown) {
      if (!fails || !(thrown instanceof WorkError || thrown instanceof RangeError)) throw thrown
      this.#check(thrown.message, failureOf(name))
      return `caught ${thrown.message}`
    }
  }

  #check(given: unknown, expected: string): void {
    if (given !== expected) this.#world.mixedUp.push(`${expected} got ${String(given)}`)
  }

  /** Varies by attempt, so that branches interleave in different orders. */
  async #latency(): Promise<void> {
    const turns = Math.floor(this.#random() * 4)
    if (turns === 3) await new Promise<void>((resolve) => void this.#clock.startTimer(resolve, this.#random() * 3))
    else for (let turn = 0; turn < turns; turn++) await Promise.resolve()
  }
}
