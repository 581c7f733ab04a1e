/** What becomes of a run whose worker died: it is ended, tried again, or goes on where it was. */
import { setTimeout as wait } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { aborted, Connection, openNode, subject, type TestNode, textOf, typesOf } from '../../test/support/node.ts'
import { until } from '../../test/support/until.ts'
import { openMemoryStore } from '../stores/memory.ts'
import { overriding } from '../testing/broken-stores.ts'
import { createFakeClock } from '../testing/fake-clock.ts'
import { type Component, RecordedFailure, type Recovery, type RunContext } from './agent.ts'
import type { LoggedEvent } from './event.ts'

const LEASE_MS = 150

/** A store that workers come to and die on. Its clock stands still, so only a death lets a claim run out. */
class World {
  readonly clock = createFakeClock()
  readonly store = openMemoryStore({ clock: this.clock })
  readonly #components: readonly Component[]
  #connection: Connection | undefined

  constructor(...components: readonly Component[]) {
    this.#components = components
  }

  /** A worker that can be made to die. */
  worker(components = this.#components): TestNode {
    this.#connection = new Connection(this.store)
    return openNode({
      components,
      store: this.#connection.store,
      clock: this.clock,
      limits: { leaseMs: LEASE_MS, attemptsMax: 3 },
    })
  }

  /** The last worker says no more, and its claims run out. */
  kill(): void {
    this.#connection!.cut()
    this.clock.advance(LEASE_MS + 1)
  }
}

/** An agent that says `ready` and then hangs in its first attempt, and goes on in the next. */
function hangsOnce(recovery: Recovery, run: Component['run'], more: Partial<Component> = {}): Component {
  return subject(run, { ...more, recovery })
}

function hangAtFirst({ attempt, signal }: RunContext): Promise<void> {
  return attempt === 1 ? aborted(signal) : Promise.resolve()
}

/** Drives a run until it has said so much, lets the worker die, and lets another one end it. */
async function recovered(component: Component, said: number, input: unknown = null): Promise<LoggedEvent[]> {
  const world = new World(component)
  const first = world.worker()
  const id = await first.start('subject', input)
  await first.emitted(id, 'text.delta', said)
  world.kill()
  return world.worker().ended(id)
}

describe('[RUN-1] a run whose worker died', () => {
  test('fails where its component says so, with what it said', async () => {
    const component = hangsOnce('fail', async function* (_, context) {
      yield 'a'
      await hangAtFirst(context)
    })
    const log = await recovered(component, 1)
    expect(typesOf(log)).toEqual(['run.created', 'run.started', 'text.delta', 'run.failed'])
    const error = { code: 'interrupted', message: 'the worker that drove the run died', retryable: true }
    expect(log.at(-1)!.data).toEqual({ error })
  })

  test('fails where its component says nothing', async () => {
    const component = subject(async function* (_, context) {
      yield 'a'
      await hangAtFirst(context)
    })
    expect((await recovered(component, 1)).at(-1)).toMatchObject({ data: { error: { code: 'interrupted' } } })
  })

  test('is tried again from the start, and what it said is withdrawn', async () => {
    const component = hangsOnce('retry', async function* (_, context) {
      yield 'a'
      yield `[${context.attempt}]`
      await hangAtFirst(context)
      yield 'b'
    })
    const log = await recovered(component, 2)
    expect(typesOf(log)).toEqual([
      ...['run.created', 'run.started', 'text.delta', 'text.delta'],
      ...['attempt.discarded', 'run.started', 'text.delta', 'text.delta', 'text.delta', 'run.completed'],
    ])
    expect(log[4]!.data).toEqual({ attempt: 1, from: 2, ledger: 'dropped', reason: 'interrupted' })
    expect(log[5]!.data).toEqual({ attempt: 2 })
    expect(textOf(log)).toBe('a[2]b')
  })

  test('goes on where it was, and says nothing twice', async () => {
    const replaying: boolean[] = []
    const component = hangsOnce('resume', async function* (_, context) {
      for (const text of ['a', 'b', 'c']) {
        replaying.push(context.replaying)
        yield text
      }
      await hangAtFirst(context)
      replaying.push(context.replaying)
      yield 'd'
      return 'done'
    })
    const log = await recovered(component, 3)
    expect(typesOf(log)).toEqual([
      ...['run.created', 'run.started', 'text.delta', 'text.delta', 'text.delta'],
      ...['run.started', 'text.delta', 'run.completed'],
    ])
    expect(textOf(log)).toBe('abcd')
    expect(replaying).toEqual([false, false, false, true, true, true, false])
  })

  test('withdraws the rest of what it said when it says something else', async () => {
    const component = hangsOnce('resume', async function* (_, context) {
      yield 'a'
      yield `[${context.attempt}]`
      yield 'b'
      await hangAtFirst(context)
      yield 'c'
    })
    const log = await recovered(component, 3)
    expect(typesOf(log).slice(5)).toEqual([
      ...['run.started', 'attempt.discarded', 'text.delta', 'text.delta', 'text.delta', 'run.completed'],
    ])
    expect(log[6]!.data).toEqual({ attempt: 1, from: 3, ledger: 'kept', reason: 'diverged' })
    expect(textOf(log)).toBe('a[2]bc')
  })

  test('withdraws what it does not say again', async () => {
    const component = hangsOnce('resume', async function* (_, context) {
      yield 'a'
      if (context.attempt > 1) return
      yield 'b'
      await hangAtFirst(context)
    })
    const log = await recovered(component, 2)
    expect(typesOf(log).slice(4)).toEqual(['run.started', 'attempt.discarded', 'run.completed'])
    expect(textOf(log)).toBe('a')
  })

  test('goes on after it parted from its log once, as it was left', async () => {
    const component = hangsOnce('resume', async function* (_, { attempt, signal }) {
      yield 'a'
      yield `[${Math.min(attempt, 2)}]`
      if (attempt < 3) await aborted(signal)
      yield 'b'
    })
    const world = new World(component)
    const first = world.worker()
    const id = await first.start('subject')
    await first.emitted(id, 'text.delta', 2)
    world.kill()
    const second = world.worker()
    await second.emitted(id, 'text.delta', 3)
    world.kill()
    const log = await world.worker().ended(id)
    expect(typesOf(log).slice(4)).toEqual([
      ...['run.started', 'attempt.discarded', 'text.delta', 'run.started', 'text.delta', 'run.completed'],
    ])
    expect(textOf(log)).toBe('a[2]b')
  })

  test.each(['retry', 'resume'] as const)(
    'fails for good after so many attempts, with recovery %s',
    async (recovery) => {
      const component = hangsOnce(recovery, async function* (_, { attempt, signal }) {
        yield `[${attempt}]`
        await aborted(signal)
      })
      const world = new World(component)
      const first = world.worker()
      const id = await first.start('subject')
      await first.emitted(id, 'text.delta', 1)
      for (const attempt of [2, 3]) {
        world.kill()
        await world.worker().emitted(id, 'text.delta', attempt)
      }
      world.kill()
      const log = await world.worker().ended(id)
      const error = {
        code: 'interrupted',
        message: 'the run was interrupted in each of its 3 attempts',
        retryable: true,
      }
      expect(log.at(-1)!.data).toEqual({ error })
      expect(typesOf(log).filter((type) => type === 'run.started')).toHaveLength(3)
    },
  )

  test('may have its own number of attempts', async () => {
    const component = hangsOnce(
      'resume',
      async function* (_, context) {
        yield 'a'
        await hangAtFirst(context)
      },
      { limits: { attemptsMax: 1 } },
    )
    expect((await recovered(component, 1)).at(-1)!.data).toMatchObject({ error: { code: 'interrupted' } })
  })

  test('fails when its component is not served any more', async () => {
    const world = new World(
      hangsOnce('resume', async function* (_, context) {
        yield 'a'
        await hangAtFirst(context)
      }),
    )
    const first = world.worker()
    const id = await first.start('subject')
    await first.emitted(id, 'text.delta')
    world.kill()
    const log = await world.worker([subject(async function* () {}, { id: 'another' })]).ended(id)
    const error = { code: 'unsupported', message: 'component subject is not served any more' }
    expect(log.at(-1)).toMatchObject({ type: 'run.failed', data: { error } })
  })

  test('is started for the first time where it had only been accepted', async () => {
    const component = subject(async function* (input) {
      yield String(input)
    })
    const world = new World(component)
    const connection = new Connection(world.store)
    const full = openNode({ components: [component], store: connection.store, limits: { runsConcurrentMax: 0 } })
    const id = await full.start('subject', 'hello')
    connection.cut()
    const log = await world.worker().ended(id)
    expect(typesOf(log)).toEqual(['run.created', 'run.started', 'text.delta', 'run.completed'])
    expect(textOf(log)).toBe('hello')
  })

  test('[RUN-2] is cancelled where a stop was asked for that its worker did not carry out', async () => {
    const world = new World(
      hangsOnce('resume', async function* (_, context) {
        yield 'a'
        await hangAtFirst(context)
      }),
    )
    const first = world.worker()
    const id = await first.start('subject')
    await first.emitted(id, 'text.delta')
    world.kill()
    await world.store.requestStop(id, { at: world.clock.iso(), reason: 'enough', by: 'local' })
    const log = await world.worker().ended(id)
    expect(typesOf(log).slice(3)).toEqual(['stop.requested', 'run.cancelled'])
    expect(textOf(log)).toBe('a')
  })

  test('[RUN-2] keeps what it said when it is stopped while it replays', async () => {
    const replays = Promise.withResolvers<void>()
    const world = new World(
      hangsOnce('resume', async function* (_, context) {
        yield 'a'
        if (context.attempt > 1) {
          replays.resolve()
          await aborted(context.signal)
        }
        yield 'b'
        await hangAtFirst(context)
      }),
    )
    const first = world.worker()
    const id = await first.start('subject')
    await first.emitted(id, 'text.delta', 2)
    world.kill()
    const second = world.worker()
    await replays.promise
    await second.stop(id)
    const log = await second.ended(id)
    expect(log.at(-1)!.type).toBe('run.cancelled')
    expect(textOf(log)).toBe('ab')
  })
})

describe('[RUN-1] work that is in the log is not done again', () => {
  /** Counts how often each piece of work was done. */
  function counted(): { readonly done: string[]; work: (name: string) => () => string } {
    const done: string[] = []
    return { done, work: (name) => () => (done.push(name), `${name}!`) }
  }

  test('steps, also several of one name', async () => {
    const { done, work } = counted()
    const component = hangsOnce('resume', async function* (_, context) {
      const results = [
        await context.step('fetch', work('fetch')),
        await context.step('fetch', work('fetch again')),
        await context.tool({ name: 'fetch', input: 1 }, work('a tool of that name')),
      ]
      yield results.join(' ')
      await hangAtFirst(context)
      yield ` ${await context.step('fetch', work('fetch at last'))}`
    })
    const log = await recovered(component, 1)
    expect(done).toEqual(['fetch', 'fetch again', 'a tool of that name', 'fetch at last'])
    expect(textOf(log)).toBe('fetch! fetch again! a tool of that name! fetch at last!')
    const keys = log.flatMap((event) => (event.type === 'step.completed' ? event.data.key : []))
    expect(keys).toEqual(['fetch', 'fetch#2', 'fetch#3'])
  })

  test('but with recovery retry it is', async () => {
    const { done, work } = counted()
    const component = hangsOnce('retry', async function* (_, context) {
      yield await context.step('fetch', work('fetch'))
      await hangAtFirst(context)
    })
    const log = await recovered(component, 1)
    expect(done).toEqual(['fetch', 'fetch'])
    expect(log.at(-1)!.type).toBe('run.completed')
  })

  test('a step that was cut off is done again, under the same name', async () => {
    const { done, work } = counted()
    const component = hangsOnce('resume', async function* (_, context) {
      yield 'a'
      yield await context.step('fetch', async () => {
        work('fetch')()
        await hangAtFirst(context)
        return 'b'
      })
    })
    const world = new World(component)
    const first = world.worker()
    const id = await first.start('subject')
    await until('the step began', () => done.length > 0)
    world.kill()
    const log = await world.worker().ended(id)
    expect(done).toEqual(['fetch', 'fetch'])
    expect(textOf(log)).toBe('ab')
    expect(typesOf(log).filter((type) => type.startsWith('step.'))).toEqual(['step.started', 'step.completed'])
  })

  test('a step that failed fails again, as it was recorded', async () => {
    const { done, work } = counted()
    const caught: unknown[] = []
    const component = hangsOnce('resume', async function* (_, context) {
      await context
        .step('fetch', () => {
          work('fetch')()
          throw new RangeError('out of reach')
        })
        .catch((thrown: unknown) => caught.push(thrown))
      yield 'a'
      await hangAtFirst(context)
    })
    await recovered(component, 1)
    expect(done).toEqual(['fetch'])
    expect(caught[0]).toBeInstanceOf(RangeError)
    expect(caught[1]).toBeInstanceOf(RecordedFailure)
    const failure = { code: 'agent_failed', message: 'out of reach', details: { type: 'RangeError' } }
    expect(caught[1]).toMatchObject({ message: 'out of reach', failure })
  })

  test('and its result is the same value in every attempt', async () => {
    const results: unknown[] = []
    const component = hangsOnce('resume', async function* (_, context) {
      results.push([
        await context.step('date', () => new Date(0)),
        await context.step('map', () => new Map([['a', 1n]])),
        await context.step('nothing', () => undefined),
        await context.tool({ name: 'nothing', input: null }, () => undefined),
      ])
      yield 'a'
      await hangAtFirst(context)
    })
    await recovered(component, 1)
    expect(results).toHaveLength(2)
    expect(results[1]).toEqual(results[0])
  })

  test('an answer is not asked for again', async () => {
    const component = hangsOnce('resume', async function* (_, context) {
      yield `[${String(await context.ask('Go on?'))}]`
      await hangAtFirst(context)
      yield 'b'
    })
    const world = new World(component)
    const first = world.worker()
    const id = await first.start('subject')
    await first.reached(id, 'paused')
    await first.continue(id, { question: 'yes' })
    await first.emitted(id, 'text.delta')
    world.kill()
    const log = await world.worker().ended(id)
    expect(textOf(log)).toBe('[yes]b')
    expect(typesOf(log).filter((type) => type === 'run.paused')).toHaveLength(1)
  })
})

describe('[RUN-1] a tool call that was cut off', () => {
  /** Calls a tool that hangs as long as `hangs` says, and tells the keys that it was called with. */
  function calling(more: Partial<Component>, idempotent?: boolean) {
    const keys: string[] = []
    let hangs = true
    const call = { name: 'pay', input: { amount: 5 }, ...(idempotent !== undefined && { idempotent }) }
    const component = subject(
      async function* (_, context) {
        yield 'a'
        const paid = await context.tool(call, async ({ key, signal }) => {
          keys.push(key)
          if (hangs) await aborted(signal)
          return 'paid'
        })
        yield `[${JSON.stringify(paid)}]`
      },
      { recovery: 'resume', ...more },
    )
    return { component, keys, heal: () => (hangs = false) }
  }

  /** The worker died in the middle of the call, and another one took over. */
  async function cutOff({ component, keys, heal }: ReturnType<typeof calling>, healed = true) {
    const world = new World(component)
    const first = world.worker()
    const id = await first.start('subject')
    await until('the tool was called', () => keys.length > 0)
    world.kill()
    if (healed) heal()
    return { world, id, second: world.worker() }
  }

  test('is made again with the same key where it is idempotent', async () => {
    const call = calling({}, true)
    const { id, second } = await cutOff(call)
    const log = await second.ended(id)
    expect(textOf(log)).toBe('a["paid"]')
    expect(call.keys).toEqual([`${id}/pay`, `${id}/pay`])
    expect(typesOf(log).filter((type) => type.startsWith('tool.'))).toEqual(['tool.called', 'tool.completed'])
  })

  test('waits for a decision where it is not', async () => {
    const call = calling({})
    const { id, second } = await cutOff(call)
    const { run } = await second.reached(id, 'paused')
    expect(run.waiting).toMatchObject([
      { id: 'uncertain:pay', kind: 'uncertain', details: { tool: 'pay', input: { amount: 5 }, key: 'pay' } },
    ])
    expect(call.keys).toHaveLength(1)
  })

  test.each([
    ['to make it again', { action: 'retry' }, 'a["paid"]', 2],
    ['to make it again, in one word', 'retry', 'a["paid"]', 2],
    ['to take a result instead', { action: 'result', value: { receipt: 7 } }, 'a[{"receipt":7}]', 1],
    ['to take nothing as its result', { action: 'result' }, 'a[null]', 1],
  ])('goes on when it is decided %s', async (_, answer, text, calls) => {
    const call = calling({})
    const { id, second } = await cutOff(call)
    await second.reached(id, 'paused')
    await second.continue(id, { 'uncertain:pay': answer })
    const log = await second.ended(id)
    expect(textOf(log)).toBe(text)
    expect(call.keys).toHaveLength(calls)
    expect(
      typesOf(log)
        .filter((type) => type.startsWith('tool.'))
        .at(-1),
    ).toBe('tool.completed')
  })

  test.each([[{ action: 'fail' }], ['fail'], ['what?'], [null]])(
    'fails the run when the decision is %j',
    async (answer) => {
      const call = calling({})
      const { id, second } = await cutOff(call)
      await second.reached(id, 'paused')
      await second.continue(id, { 'uncertain:pay': answer })
      const log = await second.ended(id)
      expect(log.at(-1)).toMatchObject({ type: 'run.failed', data: { error: { code: 'uncertain_tool' } } })
      expect(call.keys).toHaveLength(1)
    },
  )

  test('fails the run at once where the component says so', async () => {
    const call = calling({ uncertain: 'fail' })
    const { id, second } = await cutOff(call)
    const log = await second.ended(id)
    const error = { code: 'uncertain_tool', details: { tool: 'pay', key: 'pay' } }
    expect(log.at(-1)).toMatchObject({ type: 'run.failed', data: { error } })
    expect(call.keys).toHaveLength(1)
  })

  test('waits for another decision when it is cut off again', async () => {
    const call = calling({})
    const { world, id, second } = await cutOff(call, false)
    await second.reached(id, 'paused')
    await second.continue(id, { 'uncertain:pay': 'retry' })
    await until('the tool was called again', () => call.keys.length === 2)
    world.kill()
    call.heal()
    const third = world.worker()
    await third.reached(id, (status) => status !== 'running')
    expect((await third.get(id)).run).toMatchObject({ status: 'paused', waiting: [{ kind: 'uncertain' }] })
    expect(call.keys).toHaveLength(2)
    const [question] = (await third.get(id)).run.waiting!
    await third.continue(id, { [question!.id]: { action: 'result', value: 'seen' } })
    expect(textOf(await third.ended(id))).toBe('a["seen"]')
  })
})

describe('[LOG-4] a worker that lost its claim without noticing', () => {
  test('can write no more, and its agent is aborted', async () => {
    const clock = createFakeClock()
    const store = openMemoryStore({ clock })
    const goOn = Promise.withResolvers<void>()
    const reasons: unknown[] = []
    const component = subject(
      async function* (_, { attempt, signal }) {
        signal.addEventListener('abort', () => reasons.push(signal.reason))
        yield 'a'
        if (attempt > 1) return yield 'b'
        await goOn.promise
        yield 'too late'
        yield 'much too late'
      },
      { recovery: 'resume' },
    )
    // It works on, but whatever renews its claims is stuck.
    const stuck = overriding(store, { renew: () => new Promise(() => {}) })
    const limits = { leaseMs: LEASE_MS }
    const zombie = openNode({ components: [component], store: stuck, clock, limits })
    const id = await zombie.start('subject')
    await zombie.emitted(id, 'text.delta')
    clock.advance(LEASE_MS + 1)
    const log = await openNode({ components: [component], store, clock, limits }).ended(id)
    goOn.resolve()
    await until('the agent was aborted', () => reasons.length >= 2)
    expect(await zombie.log(id)).toEqual(log)
    expect(textOf(log)).toBe('ab')
  })

  test('hears of it when it renews, though its agent is silent', async () => {
    const clock = createFakeClock()
    const store = openMemoryStore({ clock })
    let stuck = true
    const dozing = overriding(store, {
      renew: async (...parameters) => {
        if (stuck) throw new Error('not now')
        return store.renew(...parameters)
      },
    })
    const heard: number[] = []
    const component = subject(
      async function* (_, { attempt, signal }) {
        yield 'a'
        await aborted(signal).finally(() => heard.push(attempt))
      },
      { recovery: 'resume' },
    )
    const limits = { leaseMs: LEASE_MS }
    const zombie = openNode({ components: [component], store: dozing, clock, limits })
    const id = await zombie.start('subject')
    await zombie.emitted(id, 'text.delta')
    clock.advance(LEASE_MS + 1)
    const second = openNode({ components: [component], store, clock, limits })
    await second.emitted(id, 'run.started', 2)
    stuck = false
    await until('the first agent was aborted', () => heard.length > 0)
    expect(heard).toEqual([1])
    expect((await second.get(id)).run.status).toBe('running')
    expect((await second.get(id)).lease).toBeDefined()
  })

  test('and one that did not lose it is left alone, though a renewal was slow to say so', async () => {
    const store = openMemoryStore()
    // What the store answers was true when it was asked, and is old when it arrives.
    const slow = overriding(store, {
      renew: async (...parameters) => {
        const held = await store.renew(...parameters)
        await wait(60)
        return held
      },
    })
    const node = openNode({
      store: slow,
      components: [
        subject(async function* () {
          yield 'a'
          await wait(150)
          yield 'b'
        }),
      ],
      limits: { leaseMs: 5000 / 100 },
    })
    for (let round = 0; round < 4; round++) {
      await wait(15)
      const id = await node.start('subject')
      expect((await node.ended(id)).at(-1)!.type).toBe('run.completed')
    }
  })
})
