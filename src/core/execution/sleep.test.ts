/** Sleeps of any length, across crashes. They count neither as idle time nor towards a deadline. */
import { describe, expect, test, vi } from 'vitest'
import { ManualClock, settle } from '../../../test/support/manual-clock.ts'
import { openNode, subject, textOf } from '../../../test/support/node.ts'
import { hangAtFirst, ManualWorld, recovering } from '../../../test/support/world.ts'
import type { RunContext } from '../ports/component.ts'
import { startTimer, TIMER_MAX_MS } from '../runtime/timer.ts'

const DAY = 24 * 60 * 60 * 1000

describe('startTimer', () => {
  test.each([1, 500, TIMER_MAX_MS, TIMER_MAX_MS + 1, 30 * DAY, 100 * DAY])('waits for %i ms', (milliseconds) => {
    vi.useFakeTimers()
    try {
      const act = vi.fn<() => void>()
      startTimer(act, milliseconds)
      vi.advanceTimersByTime(milliseconds - 1)
      expect(act).not.toHaveBeenCalled()
      vi.advanceTimersByTime(2)
      expect(act).toHaveBeenCalledTimes(1)
    } finally {
      vi.useRealTimers()
    }
  })

  test('never fires when its delay is infinite or it was stopped', () => {
    vi.useFakeTimers()
    try {
      const act = vi.fn<() => void>()
      startTimer(act, Infinity)()
      const stop = startTimer(act, 100 * DAY)
      vi.advanceTimersByTime(99 * DAY)
      stop()
      vi.advanceTimersByTime(99 * DAY)
      expect(act).not.toHaveBeenCalled()
    } finally {
      vi.useRealTimers()
    }
  })
})

describe('a sleep', () => {
  test.each([30 * DAY, Infinity])('a sleep of %d ms does not return at once', async (milliseconds) => {
    const node = openNode({
      components: [
        subject(async function* (_, { sleep }) {
          yield 'a'
          await sleep(milliseconds)
          yield 'b'
        }),
      ],
    })
    const id = await node.start('subject')
    const log = await node.emitted(id, 'sleep.started')
    const { time, data } = log.at(-1) as Extract<(typeof log)[number], { type: 'sleep.started' }>
    expect(Date.parse(data.until) - Date.parse(time)).toBeGreaterThan(29 * DAY)
    await node.stop(id)
    expect(textOf(await node.ended(id))).toBe('a')
  })

  test('a sleep within a call with a timeout of thirty days does not end the call', async () => {
    const member = subject(async function* (_, { sleep }) {
      yield 'm'
      await sleep(30) // of a real clock, whose timers would fire after 1 ms if they were given more than they can count
      return 'answer'
    })
    const node = openNode({
      components: [
        subject(async function* (_, { call }) {
          yield String(await call(member, null, { timeoutMs: 30 * DAY }))
        }),
      ],
    })
    expect(textOf(await node.ended(await node.start('subject')))).toBe('manswer')
  })

  test.each([
    ['sleep', 60_000],
    ['sleepUntil', undefined],
  ])('continues after a crash with the remaining time: %s', async (_, milliseconds) => {
    let slept = 0
    const component = recovering('resume', async function* (_input, context) {
      yield 'a'
      slept++
      if (milliseconds === undefined) await context.sleepUntil(new Date(wake))
      else await context.sleep(milliseconds)
      yield 'b'
    })
    const world = new ManualWorld(component)
    const wake = world.clock.now() + 60_000
    const first = world.worker()
    const id = await first.start('subject')
    await first.emitted(id, 'sleep.started')
    world.kill()
    const second = world.worker(world.components, { leaseMs: 600_000, pollIntervalMs: 60_000 })
    await second.emitted(id, 'run.started', 2)
    await settle()
    world.clock.advance(wake - world.clock.now() - 1)
    await settle()
    expect(textOf(await second.log(id))).toBe('a')
    world.clock.advance(1)
    for (let turns = 0; turns < 50 && textOf(await second.log(id)) === 'a'; turns++) await settle()
    expect(textOf(await second.log(id)), 'no more time has passed').toBe('ab')
    const log = await second.ended(id)
    expect(slept).toBe(2)
    expect(log.filter(({ type }) => type === 'sleep.started')).toHaveLength(1)
  })

  test.each([
    ['sleep', (context: RunContext, wake: number, now: number) => context.sleep(wake - now)],
    ['sleepUntil', (context: RunContext, wake: number) => context.sleepUntil(wake)],
  ])(
    '[RUN-5] ends at its original time, although parallel branches come in another order after a crash: %s',
    async (_, sleep) => {
      const world = new ManualWorld(
        recovering('resume', async function* (_input, context) {
          const branch = async (name: string, wake: number): Promise<void> => {
            await sleep(context, wake, start)
            if (context.attempt > 1) woken.push([name, world.clock.now() >= wake])
          }
          const branches = [() => branch('short', short), () => branch('long', long)]
          await Promise.all((context.attempt === 1 ? branches : branches.toReversed()).map((each) => each()))
          yield 'done'
        }),
      )
      const woken: [string, boolean][] = []
      const start = world.clock.now()
      const [short, long] = [start + 5000, start + 50_000]
      const first = world.worker()
      const id = await first.start('subject')
      await first.emitted(id, 'sleep.started', 2)
      world.kill()
      const second = world.worker(world.components, { leaseMs: 600_000, pollIntervalMs: 60_000 })
      await second.emitted(id, 'run.started', 2)
      await settle()
      for (let seconds = 0; seconds < 60 && woken.length < 2; seconds++) {
        world.clock.advance(1000)
        await settle()
      }
      expect(woken).toEqual([
        ['short', true],
        ['long', true],
      ])
    },
  )

  test.each<[string, (context: RunContext) => Promise<unknown>]>([
    ['output', async () => {}],
    ['work', (context) => context.tool({ name: 'known', input: 1 }, () => 1)],
  ])('a short sleep before recorded %s is skipped after a crash', async (_, known) => {
    const world = new ManualWorld(
      recovering('resume', async function* (_input, context) {
        await context.sleep(500)
        await known(context)
        yield 'a'
        await hangAtFirst(context)
      }),
    )
    const first = world.worker()
    const id = await first.start('subject')
    await world.clock.pass(500)
    await first.emitted(id, 'text.delta')
    world.kill()
    // No time passes for the second worker.
    expect(textOf(await world.worker().ended(id, 30_000))).toBe('a')
  })

  test('counts neither as idle time nor towards the deadline', async () => {
    const clock = new ManualClock()
    const node = openNode({
      clock,
      limits: { pollIntervalMs: 60_000 },
      components: [
        subject(
          async function* (_, { sleep }) {
            yield 'a'
            await sleep(500)
            // Awake, when the deadline would have passed with the sleep.
            await new Promise<void>((resolve) => void clock.startTimer(resolve, 250))
            yield 'b'
            await sleep(1200)
            yield 'c'
          },
          { limits: { runIdleTimeoutMs: 300, runTimeoutMs: 500 } },
        ),
      ],
    })
    const id = await node.start('subject')
    await clock.pass(1950)
    const log = await node.ended(id)
    expect(log.at(-1)!.type).toBe('run.completed')
    expect(textOf(log)).toBe('abc')
  })

  test('a sleep until an invalid time fails the run', async () => {
    const node = openNode({
      components: [
        subject(async function* (_, { sleepUntil }) {
          yield 'a'
          await sleepUntil('next spring')
        }),
      ],
    })
    expect((await node.ended(await node.start('subject'))).at(-1)).toMatchObject({
      type: 'run.failed',
      data: { error: { message: expect.stringContaining('sleep needs a number') as string } },
    })
  })
})
