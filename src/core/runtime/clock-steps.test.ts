/** Steps of the wall clock while runs execute change no duration, lease or order. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { serveInProcess } from '../../../test/support/in-process.ts'
import { ManualClock, settle } from '../../../test/support/manual-clock.ts'
import { aborted, openNode, subject, typesOf } from '../../../test/support/node.ts'
import { until } from '../../../test/support/until.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import type { Clock } from '../ports/clock.ts'

const HOUR = 3_600_000

/** The clock of this machine, until the test steps it. */
function settableClock(): Clock & { step(milliseconds: number): void } {
  let offset = 0
  return { now: () => Date.now() + offset, step: (milliseconds) => void (offset += milliseconds) }
}

describe.each([
  ['back by an hour', -HOUR],
  ['ahead by an hour', HOUR],
  ['ahead by a day', 24 * HOUR],
])('when the wall clock is set %s', (_how, step) => {
  test('[RUN-1] a run keeps its deadline, its idle timeout and its lease', async () => {
    const clock = new ManualClock()
    const component = subject(
      async function* () {
        yield 'a'
        for (let round = 0; round < 20; round++) {
          // Unlike a sleep of the run, which suspends both timeouts.
          await new Promise<void>((resolve) => clock.startTimer(resolve, 20))
          yield '.'
        }
      },
      { recovery: 'resume' },
    )
    const limits = { runTimeoutMs: HOUR / 2, runIdleTimeoutMs: 100, leaseMs: 150 }
    const node = openNode({ components: [component], clock, limits })
    const id = await node.start('subject')
    await clock.pass(3 * 20)
    clock.step(step)
    await clock.pass(17 * 20)
    const log = await node.ended(id)
    expect(log.at(-1)!.type).toBe('run.completed')
    expect(typesOf(log).filter((type) => type === 'run.started')).toHaveLength(1)
  })

  test('[RUN-1] an idle agent is still ended', async () => {
    const clock = new ManualClock()
    const component = subject(async function* (_, { signal }) {
      yield 'a'
      clock.step(step)
      await aborted(signal)
    })
    const node = openNode({
      components: [component],
      clock,
      limits: { runIdleTimeoutMs: 200, runTimeoutMs: 10 * HOUR },
    })
    const id = await node.start('subject')
    await clock.pass(199)
    expect((await node.get(id)).run.status).toBe('running')
    await clock.pass(1)
    const log = await node.ended(id)
    expect(log.at(-1)).toMatchObject({ type: 'run.failed', data: { error: { code: 'idle_timeout' } } })
  })

  test('[RUN-1] a drain keeps its timeout', async () => {
    const clock = new ManualClock()
    const component = subject(async function* (_, { signal }) {
      yield 'a'
      await aborted(signal)
    })
    const node = openNode({ components: [component], clock, limits: { drainTimeoutMs: 300 } })
    const id = await node.start('subject')
    await node.emitted(id, 'text.delta')
    const drained = node.service.drain()
    await settle()
    clock.step(step)
    await clock.pass(299)
    expect((await node.get(id)).run.released).toBeUndefined()
    await clock.pass(1)
    await drained
    expect(typesOf(await node.log(id)).at(-1)).toBe('run.released')
  })

  test('[SUB-3] a quiet stream keeps sending heartbeats', async () => {
    const clock = settableClock()
    const server = await serveInProcess({ clock, limits: { heartbeatIntervalMs: 60 } })
    const { id } = (await (
      await fetch(`${server.url}/runs`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ component: 'lab', input: 'text 1; ask Well?' }),
      })
    ).json()) as { id: string }
    const stream = await fetch(`${server.url}/runs/${id}/events`, { headers: { accept: 'text/event-stream' } })
    const reader = stream.body!.pipeThrough(new TextDecoderStream()).getReader()
    const beats = async (count: number): Promise<void> => {
      for (let seen = 0; seen < count;)
        seen += (await reader.read()).value!.split('\n').filter((line) => line.startsWith(':')).length
    }
    await beats(3)
    clock.step(step)
    await beats(3)
    await reader.cancel()
    expect(stream.status).toBe(200)
  })
})

describe('[RUN-1] runs are listed and claimed in the order in which they were started', () => {
  test('the order is kept although the clock was set back and the process restarted', async () => {
    const clock = settableClock()
    const store = createMemoryStore({ clock })
    const order: unknown[] = []
    const gate = Promise.withResolvers<void>()
    const component = subject(
      async function* (input) {
        order.push(input)
        await gate.promise
      },
      { onBusySession: 'enqueue' },
    )
    const first = openNode({ components: [component], store, clock })
    const started = [await first.start('subject', 1, { session: 's' })]
    clock.step(-HOUR)
    started.push(await first.start('subject', 2, { session: 's' }))
    clock.step(-HOUR)
    const second = openNode({ components: [component], store, clock })
    started.push(await second.start('subject', 3, { session: 's' }))
    const { runs } = await store.list({ limit: 10 })
    expect(runs.map(({ run }) => run.id)).toEqual(started.toReversed())
    gate.resolve()
    await until('all have run', () => order.length === 3)
    expect(order).toEqual([1, 2, 3])
  })
})

test('no store measures a duration with the wall clock', () => {
  const stores = join(import.meta.dirname, '../../stores')
  const calls = readdirSync(stores, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts'))
    .map((path) => [path, readFileSync(join(stores, path), 'utf8').split('Date.now()').length - 1] as const)
    .filter(([, count]) => count > 0)
  // Until the servers have told their time, that of the node is the best guess of it.
  expect(calls).toEqual([['nats/connection/server-time.ts', 1]])
})
