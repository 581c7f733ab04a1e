/** Lease renewal: on time, and a run counts as lost only if another worker claimed it. */
import { describe, expect, test } from 'vitest'
import { ManualClock } from '../../../test/support/manual-clock.ts'
import { aborted, openNode, subject, textOf, typesOf } from '../../../test/support/node.ts'
import { until } from '../../../test/support/until.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { overriding } from '../../testing/broken-stores.ts'
import { defaultLimits } from '../model/limits.ts'
import { type Logger, silentLogger } from '../ports/logger.ts'
import { LeaseKeeper } from './lease-keeper.ts'

const idle = subject(async function* (_, { signal }) {
  yield 'a'
  await aborted(signal)
})

/** Collects log messages about lost runs. */
function lossesIn(lines: string[]): Logger {
  return { ...silentLogger, warn: (_fields, message) => void (message.includes('lost') && lines.push(message)) }
}

describe('leases', () => {
  test('are renewed while every other request to the store hangs', async () => {
    const store = createMemoryStore()
    let answers = Promise.resolve()
    let renewals = 0
    const slow = overriding(store, {
      get: (...parameters) => answers.then(() => store.get(...parameters)),
      claimable: (...parameters) => answers.then(() => store.claimable(...parameters)),
      renew: async (...parameters) => {
        renewals++
        return store.renew(...parameters)
      },
    })
    const node = openNode({ components: [idle], store: slow })
    const id = await node.start('subject')
    await node.emitted(id, 'text.delta')
    const { promise, resolve } = Promise.withResolvers<void>()
    answers = promise
    const before = renewals
    await until('the lease was renewed five times more', () => renewals >= before + 5)
    resolve()
    expect((await store.get(id))!.lease).toBeDefined()
    await node.stop(id)
    await node.ended(id)
  })

  test('are renewed again soon after a renewal failed, long before they expire', async () => {
    const store = createMemoryStore()
    const failing = overriding(store, { renew: () => Promise.reject(new Error('the store is away')) })
    const delays: number[] = []
    const clock = {
      now: () => 0,
      elapsed: () => 0,
      startTimer: (_act: () => void, delayMs: number) => (delays.push(delayMs), () => {}),
    }
    const keeper = new LeaseKeeper({
      store: failing,
      limits: { ...defaultLimits, leaseMs: 12_000 },
      logger: silentLogger,
      clock,
      worker: 'node',
      components: () => [],
      executing: () => new Map(),
      renewed: () => {},
    })
    await keeper.renew()
    // Several tries fit into what is left of a lease that was renewed a third of it ago.
    expect(delays).toEqual([1000])
    keeper.close()
  })

  test.each([
    ['back by an hour', -3_600_000],
    ['ahead by an hour', 3_600_000],
    ['ahead by a day', 86_400_000],
  ])('[RUN-1] are renewed and may be taken over as before when the wall clock is set %s', async (_how, step) => {
    const clock = new ManualClock()
    const store = createMemoryStore({ clock })
    let renewals = 0
    const shared = overriding(store, {
      capabilities: { ...store.capabilities, shared: true },
      renew: async (...parameters) => {
        renewals++
        if (renewals > 4) clock.step(step)
        return store.renew(...parameters)
      },
    })
    const keeper = new LeaseKeeper({
      store: shared,
      limits: { ...defaultLimits, leaseMs: 12_000 },
      logger: silentLogger,
      clock,
      worker: 'node',
      components: () => [],
      executing: () => new Map(),
      renewed: () => {},
    })
    keeper.start()
    await clock.pass(12_000)
    expect([renewals, keeper.mayTakeOver]).toEqual([4, true])
    for (let more = 1; more <= 6; more++) {
      await clock.pass(4000)
      expect([renewals, keeper.mayTakeOver]).toEqual([4 + more, true])
      clock.step(step)
      expect(keeper.mayTakeOver).toBe(true)
    }
    keeper.close()
  })

  test('[RUN-2] report a stop at renewal if its hint was lost', async () => {
    const store = createMemoryStore()
    const deaf = overriding(store, { watch: () => () => {}, get: async (id) => withoutStop(await store.get(id)) })
    const node = openNode({ components: [idle], store: deaf })
    const id = await node.start('subject')
    await node.emitted(id, 'text.delta')
    await store.requestStop(id, { at: new Date().toISOString(), reason: 'enough' })
    const log = await node.ended(id)
    expect(typesOf(log).slice(-2)).toEqual(['stop.requested', 'run.cancelled'])
  })

  test('[RUN-1] the lease of a run that is paused and answered during a renewal stays with its worker', async () => {
    const store = createMemoryStore()
    const losses: string[] = []
    const isPaused = Promise.withResolvers<void>()
    const isAnswered = Promise.withResolvers<void>()
    const isTold = Promise.withResolvers<void>()
    let renewals: 'all' | 'the next' | 'no more' = 'all'
    const slow = overriding(store, {
      renew: async (...parameters) => {
        if (renewals !== 'the next') return store.renew(...parameters)
        renewals = 'no more'
        await isPaused.promise // sent again, as it is when a connection breaks: the run is paused and nobody's by now
        const leases = await store.renew(...parameters)
        await isAnswered.promise
        setTimeout(() => isTold.resolve(), 0)
        return leases
      },
    })
    const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const component = subject(async function* (_, context) {
      yield 'a'
      await gates[0]!.promise
      yield `[${String(await context.ask('Go on?'))}]`
      await gates[1]!.promise
      yield 'b'
    })
    const node = openNode({ components: [component], store: slow, logger: lossesIn(losses) })
    const id = await node.start('subject')
    await node.emitted(id, 'text.delta')
    renewals = 'the next'
    await until('a renewal is under way', () => renewals === 'no more')
    gates[0]!.resolve()
    await node.reached(id, 'paused')
    isPaused.resolve()
    await node.answer(id, { question: 'yes' })
    await node.emitted(id, 'text.delta', 2)
    isAnswered.resolve()
    await isTold.promise
    gates[1]!.resolve()
    expect(textOf(await node.ended(id))).toBe('a[yes]b')
    expect(losses).toEqual([])
  })
})

function withoutStop<Stored extends { readonly stop?: unknown }>(stored: Stored | undefined): Stored | undefined {
  if (stored === undefined) return undefined
  const { stop: _stop, ...rest } = stored
  return rest as Stored
}
