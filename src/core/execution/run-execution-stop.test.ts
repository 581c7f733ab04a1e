/** Ending a run from outside: stop, deadline and idle timeout. */
import { setImmediate as nextTick } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { ManualClock, settle } from '../../../test/support/manual-clock.ts'
import { aborted, openNode, subject, type TestNode, textOf, typesOf } from '../../../test/support/node.ts'
import { until } from '../../../test/support/until.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { overriding } from '../../testing/broken-stores.ts'
import { type Component, createEvent } from '../ports/component.ts'
import type { LoggedEvent } from '../model/event.ts'

/** Actions that an agent recorded. */
function diary(): { readonly entries: string[]; note: (entry: string) => void } {
  const entries: string[] = []
  return { entries, note: (entry) => entries.push(entry) }
}

const GRACE_MS = 50

/** Starts a run, waits for its first output, stops it, and lets its grace period pass. */
async function stopped(run: Component['run']): Promise<LoggedEvent[]> {
  const clock = new ManualClock()
  const node = openNode({ components: [subject(run)], clock, limits: { stopGraceMs: GRACE_MS } })
  const id = await node.start('subject')
  await node.emitted(id, 'text.delta')
  await node.stop(id, 'enough')
  await clock.pass(GRACE_MS)
  return node.ended(id)
}

describe('[RUN-2] [RUN-3] a stopped run ends as cancelled', () => {
  const ending = ['stop.requested', 'run.cancelled']

  test('an agent that obeys the signal cleans up, and its run is cancelled', async () => {
    const { entries, note } = diary()
    const log = await stopped(async function* (_, { signal }) {
      try {
        yield 'a'
        await aborted(signal)
      } finally {
        note(`finally, ${(signal.reason as Error).name}`)
      }
    })
    expect(typesOf(log)).toEqual(['run.created', 'run.started', 'text.delta', ...ending])
    expect(log.slice(-2).map(({ data }) => data)).toEqual([
      { reason: 'enough', by: 'local' },
      { reason: 'enough', by: 'local' },
    ])
    expect(entries).toEqual(['finally, AbortError'])
  })

  test('an agent that throws another error during the stop is cancelled', async () => {
    const log = await stopped(async function* (_, { signal }) {
      yield 'a'
      await aborted(signal).catch(() => {})
      throw new Error('could not clean up')
    })
    expect(typesOf(log).slice(-2)).toEqual(ending)
  })

  test('an agent that completes nevertheless is cancelled', async () => {
    const log = await stopped(async function* (_, { signal }) {
      yield 'a'
      await aborted(signal).catch(() => {})
      yield 'b'
      return 'done'
    })
    expect(typesOf(log).slice(-3)).toEqual(['stop.requested', 'text.delta', 'run.cancelled'])
    expect(log.at(-1)!.data).toEqual({ reason: 'enough', by: 'local' })
  })

  test('an agent that emits another outcome is cancelled', async () => {
    const log = await stopped(async function* (_, { signal }) {
      yield 'a'
      await aborted(signal).catch(() => {})
      yield createEvent('run.failed', { error: { code: 'mine', message: 'no' } })
    })
    expect(typesOf(log).slice(-2)).toEqual(ending)
  })

  test('an agent that ignores the signal is cancelled after the grace period; later output is dropped', async () => {
    const { entries, note } = diary()
    const proceed = Promise.withResolvers<void>()
    const clock = new ManualClock()
    const component = subject(async function* () {
      try {
        yield 'a'
        await proceed.promise
        note('went on')
        yield 'b'
        note('was asked for more')
      } finally {
        note('finally')
      }
    })
    const node = openNode({ components: [component], clock, limits: { stopGraceMs: GRACE_MS } })
    const id = await node.start('subject')
    await node.emitted(id, 'text.delta')
    await node.stop(id, 'enough')
    await clock.pass(GRACE_MS - 1)
    expect((await node.get(id)).run.status).toBe('running')
    await clock.pass(1)
    proceed.resolve()
    const log = await node.ended(id)
    expect(typesOf(log).slice(-2)).toEqual(ending)
    expect(textOf(log)).toBe('a')
    await until('the agent came to its end', () => entries.includes('finally'))
    expect(entries).toEqual(['went on', 'finally'])
  })

  test('an agent that hangs forever is cancelled', async () => {
    const log = await stopped(async function* () {
      yield 'a'
      await new Promise(() => {})
    })
    expect(typesOf(log).slice(-2)).toEqual(ending)
  })

  test('an agent within a step is cancelled, and the step is not recorded as failed', async () => {
    const log = await stopped(async function* (_, context) {
      yield 'a'
      await context.step('s', aborted)
    })
    expect(typesOf(log).slice(-3)).toEqual(['step.started', ...ending])
  })

  test('an agent that waits for an answer is cancelled and cleans up', async () => {
    const { entries, note } = diary()
    const node = openNode({
      components: [
        subject(async function* (_, context) {
          try {
            yield await context.ask('Go on?').then(String)
          } finally {
            note('finally')
          }
        }),
      ],
    })
    const id = await node.start('subject')
    await node.reached(id, 'paused')
    await node.stop(id)
    expect(typesOf(await node.ended(id)).slice(-3)).toEqual(['run.paused', 'stop.requested', 'run.cancelled'])
    await until('the agent came to its end', () => entries.length > 0)
  })

  test('an agent that begins a step after the grace period is cancelled and cleans up', async () => {
    const { entries, note } = diary()
    const proceed = Promise.withResolvers<void>()
    await stopped(async function* (_, context) {
      try {
        yield 'a'
        await proceed.promise
        await context.step('late', () => note('worked'))
      } finally {
        note('finally')
      }
    })
    proceed.resolve()
    await until('the agent came to its end', () => entries.includes('finally'))
    expect(entries).toEqual(['finally'])
  })

  test('a run that is stopped before it starts is cancelled', async () => {
    const node = openNode({ components: [subject(async function* () {})], limits: { maxConcurrentRuns: 0 } })
    const id = await node.start('subject')
    await node.stop(id, 'never mind')
    expect(typesOf(await node.ended(id))).toEqual(['run.created', 'stop.requested', 'run.cancelled'])
  })

  test('a stop that arrives while the run starts cancels it at once', async () => {
    // The stop comes between the look for one and the start of the agent.
    const clock = new ManualClock()
    const store = createMemoryStore({ clock })
    const isRead = Promise.withResolvers<void>()
    const proceed = Promise.withResolvers<void>()
    const slow = overriding(store, {
      read: async (...parameters) => {
        isRead.resolve()
        await proceed.promise
        return store.read(...parameters)
      },
    })
    const node = openNode({
      store: slow,
      clock, // which stands still: neither a renewal nor a look tells of the stop
      components: [subject((_, { signal }) => ({ [Symbol.asyncIterator]: () => ({ next: () => aborted(signal) }) }))],
    })
    const id = await node.start('subject')
    await isRead.promise
    await node.stop(id)
    await settle()
    expect((await store.get(id))!.run.status).toBe('queued')
    proceed.resolve()
    await node.reached(id, 'cancelled')
  })

  test('a stop with a reason larger than an event is rejected, and the run continues', async () => {
    const hangs = subject(async function* (_, { signal }) {
      yield 'a'
      await aborted(signal)
    })
    const node = openNode({ components: [hangs], limits: { maxEventBytes: 500 } })
    const id = await node.start('subject')
    await node.emitted(id, 'text.delta')
    await expect(node.stop(id, 'x'.repeat(1000))).rejects.toMatchObject({ code: 'invalid_request' })
    expect((await node.get(id)).run.status).toBe('running')
    await node.stop(id, 'enough')
    expect((await node.ended(id)).at(-1)!.data).toEqual({ reason: 'enough', by: 'local' })
  })

  test('a run that is stopped several times is cancelled once', async () => {
    const node = openNode({
      components: [
        subject(async function* (_, { signal }) {
          yield 'a'
          await aborted(signal)
        }),
      ],
    })
    const id = await node.start('subject')
    await node.emitted(id, 'text.delta')
    await Promise.all([node.stop(id, 'first'), node.stop(id, 'second'), node.stop(id)])
    const log = await node.ended(id)
    expect(typesOf(log).slice(-3)).toEqual(['text.delta', ...ending])
    expect(log.at(-1)!.data).toEqual({ reason: 'first', by: 'local' })
    expect((await node.stop(id, 'third')).run.status).toBe('cancelled')
    expect(await node.log(id)).toEqual(log)
  })

  test('a stop of a finished run changes nothing', async () => {
    const node = openNode({ components: [subject(async function* () {})] })
    const id = await node.start('subject')
    const log = await node.ended(id)
    expect((await node.stop(id)).run.status).toBe('completed')
    expect(await node.log(id)).toEqual(log)
  })

  test('a stop that races with completion leaves the run cancelled or completed, never both', async () => {
    const outcomes = new Set<string>()
    // Stops at every number of ticks before the end of the agent, from none (it has ended) to more than it needs.
    for (let left = 0; left < 12; left++) {
      const node: TestNode = openNode({
        components: [
          subject(async function* (_, { runId: run }) {
            yield '.'
            const stopping = left === 0 ? undefined : node.stop(run)
            for (let ticks = 0; ticks < left - 1; ticks++) await nextTick()
            void stopping
          }),
        ],
      })
      const id = await node.start('subject')
      if (left === 0) await node.reached(id, 'completed')
      await node.stop(id)
      const log = await node.ended(id)
      expect(typesOf(log).filter((type) => /^run\.(completed|cancelled|failed|rejected)$/.test(type))).toHaveLength(1)
      expect((await node.get(id)).run.status).toBe(log.at(-1)!.type.slice('run.'.length))
      outcomes.add(log.at(-1)!.type)
    }
    expect([...outcomes].toSorted()).toEqual(['run.cancelled', 'run.completed'])
  })
})

/** Long intervals, so that fewer timers fire. */
const UNHURRIED = { leaseMs: 60_000, pollIntervalMs: 60_000 }

/** The state of a run after a time: still running, or ended. */
async function after(
  milliseconds: number,
  run: (clock: ManualClock) => Component['run'],
  limits: Component['limits'],
): Promise<{ readonly status: string; readonly log: readonly LoggedEvent[] }> {
  const clock = new ManualClock()
  const node = openNode({ components: [subject(run(clock), { ...(limits && { limits }) })], clock, limits: UNHURRIED })
  const id = await node.start('subject')
  await clock.pass(milliseconds)
  return { status: (await node.get(id)).run.status, log: await node.log(id) }
}

function passed(clock: ManualClock, milliseconds: number): Promise<void> {
  return new Promise((resolve) => clock.startTimer(resolve, milliseconds))
}

const silent: Component['run'] = async function* (_, { signal }) {
  yield 'a'
  await aborted(signal)
}

const deaf: Component['run'] = () => ({ [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }) })

describe('[RUN-1] a run that takes too long fails', () => {
  test('a run that passes its deadline fails although it keeps emitting', async () => {
    const { entries, note } = diary()
    const talking = (clock: ManualClock): Component['run'] =>
      async function* (_, { signal }) {
        try {
          for (;;) {
            yield 'a'
            await Promise.race([passed(clock, 5), aborted(signal)])
          }
        } finally {
          note((signal.reason as Error).message)
        }
      }
    const limits = { runTimeoutMs: 60 }
    expect((await after(59, talking, limits)).status).toBe('running')
    const { log } = await after(60, talking, limits)
    const message = 'the run took longer than 60 ms'
    expect(log.at(-1)).toMatchObject({ type: 'run.failed', data: { error: { code: 'deadline_exceeded', message } } })
    expect(entries).toContain(message)
  })

  test('a run that is idle for too long fails as retryable', async () => {
    const limits = { runIdleTimeoutMs: 40 }
    expect((await after(39, () => silent, limits)).status).toBe('running')
    const { log } = await after(40, () => silent, limits)
    const error = { code: 'idle_timeout', message: 'the agent emitted nothing for 40 ms', retryable: true }
    expect(log.at(-1)).toMatchObject({ type: 'run.failed', data: { error } })
  })

  test('an idle run that ignores its signal fails after the grace period', async () => {
    const limits = { runIdleTimeoutMs: 30, stopGraceMs: 20 }
    expect((await after(49, () => deaf, limits)).status).toBe('running')
    const { log } = await after(50, () => deaf, limits)
    expect(log.at(-1)).toMatchObject({ type: 'run.failed', data: { error: { code: 'idle_timeout' } } })
  })

  test('a run that emits something now and then does not time out', async () => {
    const talking = (clock: ManualClock): Component['run'] =>
      async function* () {
        for (let ticks = 0; ticks < 6; ticks++) {
          await passed(clock, 1999)
          yield '.'
        }
      }
    const { log } = await after(6 * 1999, talking, { runIdleTimeoutMs: 2000 })
    expect(log.at(-1)!.type).toBe('run.completed')
  })
})
