/** Nodes that share a store and do not serve the same components. */
import { describe, expect, test } from 'vitest'
import { ManualClock } from '../../../test/support/manual-clock.ts'
import { aborted, openNode, subject, type TestNode, textOf, typesOf } from '../../../test/support/node.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { overriding } from '../../testing/broken-stores.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { newRun, RunWriter } from '../../testing/fixtures.ts'
import type { Clock } from '../ports/clock.ts'
import { localPrincipal, ownerKey } from '../model/principal.ts'
import type { Store } from '../ports/store.ts'

const HOUR_MS = 3_600_000
const LEASE_MS = 10_000
const LONG = { leaseMs: LEASE_MS, unservedTimeoutMs: 60_000, pollIntervalMs: 60_000 }
const clock = createFakeClock(new Date().toISOString())
const served = subject(async function* () {
  yield 'done'
})
const other = subject(
  async function* () {
    yield 'done elsewhere'
  },
  { id: 'other' },
)
const asking = subject(
  async function* (_, context) {
    yield 'I wonder. '
    yield `They said ${String(await context.ask({ prompt: 'And?' }))}`
  },
  { id: 'asking' },
)
const hanging = subject(
  async function* (_, { signal }) {
    yield 'hm'
    await aborted(signal)
  },
  { id: 'hanging' },
)

async function questionOf(node: TestNode, id: string): Promise<string> {
  return (await node.reached(id, 'paused')).run.waiting![0]!.id
}

/** A store as several processes see it. */
function sharedStore(storeClock: Clock = clock): Store {
  return overriding(createMemoryStore({ clock: storeClock }), { capabilities: { durable: true, shared: true } })
}

describe('scheduling: on a shared store, a node', () => {
  test('[RUN-1] leaves runs of components that it does not serve to others', async () => {
    const store = sharedStore()
    const node = openNode({ components: [served], store, clock })
    await store.create(newRun('run_other', clock.iso(), { component: 'other' }))
    const own = await node.start('subject')
    await node.ended(own)
    expect(await node.log('run_other')).toHaveLength(1)
    const log = await openNode({ components: [other], store, clock }).ended('run_other')
    expect(textOf(log)).toBe('done elsewhere')
  })

  test('[RUN-1] fails a run whose component no node has served for long, with the reason', async () => {
    const time = new ManualClock()
    const store = sharedStore(time)
    await store.create(newRun('run_unserved', time.iso(), { component: 'gone' }))
    const node = openNode({
      components: [served],
      store,
      clock: time,
      limits: { leaseMs: 150, unservedTimeoutMs: 600 },
    })
    await time.pass(599)
    expect(await node.log('run_unserved')).toHaveLength(1)
    await time.pass(100)
    const error = { code: 'unsupported', message: 'component gone is no longer served' }
    expect((await node.ended('run_unserved')).at(-1)).toMatchObject({ type: 'run.failed', data: { error } })
  })

  test('[RUN-1] does not fail queued runs that a live node serves, however long they wait and whatever its own clock shows', async () => {
    const time = new ManualClock()
    const store = sharedStore(time)
    const busy = openNode({ components: [hanging], store, clock: time, limits: { leaseMs: 150, maxConcurrentRuns: 1 } })
    const running = await busy.start('hanging')
    await busy.reached(running, 'running')
    const queued = await busy.start('hanging')
    const { elapsed, startTimer } = time
    const ahead: Clock = { elapsed, startTimer, now: () => time.now() + 2 * HOUR_MS }
    let looks = 0
    const counting = overriding(store, { unserved: async () => (looks++, store.unserved()) })
    const ignorant = openNode({
      components: [served],
      store: counting,
      clock: ahead,
      limits: { leaseMs: 150, unservedTimeoutMs: 60 },
    })
    await time.pass(1000)
    expect(looks).toBeGreaterThan(5)
    expect((await ignorant.get(queued)).run.status).toBe('queued')
    await busy.stop(running)
    await busy.reached(queued, 'running')
    await busy.stop(queued)
    await busy.ended(queued)
  })

  test('[RUN-1] measures that time from when the last serving node was seen', async () => {
    const time = new ManualClock()
    const store = sharedStore(time)
    await store.renew('another node', LEASE_MS, ['other'])
    const node = openNode({ components: [served], store, clock: time, limits: LONG })
    await store.create(newRun('run_long', time.iso(), { component: 'other' }))
    await time.pass(LEASE_MS + 59_000)
    expect(await node.log('run_long')).toHaveLength(1)
    await time.pass(2 * LEASE_MS)
    expect((await node.ended('run_long')).at(-1)!.type).toBe('run.failed')
  })

  test('[RUN-2] carries out the stop of a run whose only serving node is dead, though it has no room', async () => {
    const store = sharedStore()
    const claim = { worker: 'a dead node', ttlMs: LEASE_MS }
    const draft = newRun('run_left', clock.iso(), { owner: ownerKey(localPrincipal), component: 'other', claim })
    const runWriter = new RunWriter(store, clock, (await store.create(draft)).stored, [draft.record])
    runWriter.start()
    await runWriter.flush()
    const front = openNode({ components: [served], store, clock, limits: { maxConcurrentRuns: 0 } })
    await front.stop('run_left', 'enough')
    expect((await front.get('run_left')).run.status).toBe('running')
    clock.advance(LEASE_MS)
    const log = await front.ended('run_left')
    expect(typesOf(log).slice(-2)).toEqual(['stop.requested', 'run.cancelled'])
  })

  test.each(['fail', 'retry', 'resume'] as const)(
    '[RUN-2] accepts the answer to a run that it does not serve, and one that does resumes it (recovery: %s)',
    async (recovery) => {
      const store = sharedStore()
      const component = { ...asking, recovery }
      const knowing = openNode({ components: [component], store, clock })
      const id = await knowing.start('asking')
      const question = await questionOf(knowing, id)
      const ignorant = openNode({ components: [served], store, clock })
      expect((await ignorant.answer(id, { [question]: 'yes' })).run.status).toBe('running')
      const log = await knowing.ended(id)
      expect(textOf(log)).toBe('I wonder. They said yes')
      const sequel = ['run.resumed', 'run.released', 'run.started', 'text.delta', 'run.completed']
      expect(typesOf(log).slice(-5)).toEqual(sequel)
    },
  )

  test('[RUN-2] leaves a run that it answered alone, though no other node is there yet', async () => {
    const store = sharedStore()
    const first = openNode({ components: [asking], store, clock })
    const id = await first.start('asking')
    const question = await questionOf(first, id)
    await first.service.drain()
    const ignorant = openNode({ components: [served], store, clock })
    await ignorant.answer(id, { [question]: 'yes' })
    await ignorant.ended(await ignorant.start('subject'))
    expect((await ignorant.get(id)).run.status).toBe('running')
    await expect(ignorant.answer(id, { [question]: 'no' })).rejects.toMatchObject({ code: 'conflict' })
    const log = await openNode({ components: [asking], store, clock }).ended(id)
    expect(textOf(log)).toBe('I wonder. They said yes')
  })

  test('[RUN-2] a node that executes nothing accepts the answer to a run, and a worker resumes it', async () => {
    const store = sharedStore()
    const worker = openNode({ components: [asking], store, clock })
    const id = await worker.start('asking')
    const question = await questionOf(worker, id)
    const front = openNode({ components: [asking], store, clock, limits: { maxConcurrentRuns: 0 } })
    await front.answer(id, { [question]: 'yes' })
    expect(textOf(await worker.ended(id))).toBe('I wonder. They said yes')
    expect(front.service.load().running).toBe(0)
  })

  test('rejects an invalid answer to a run that it does not serve, and the run keeps waiting', async () => {
    const store = sharedStore()
    const knowing = openNode({ components: [asking], store, clock })
    const id = await knowing.start('asking')
    const question = await questionOf(knowing, id)
    const ignorant = openNode({ components: [served], store, clock })
    await expect(ignorant.answer(id, { another: 'hm' })).rejects.toMatchObject({ code: 'invalid_request' })
    await expect(ignorant.answer(id, {})).rejects.toMatchObject({ code: 'invalid_request' })
    expect((await ignorant.get(id)).run.status).toBe('paused')
    await knowing.answer(id, { [question]: 'yes' })
    expect(textOf(await knowing.ended(id))).toBe('I wonder. They said yes')
  })

  test('[RUN-2] stops, returns and lists runs that it does not serve, in any state', async () => {
    const store = sharedStore()
    const limits = { maxConcurrentRuns: 2 }
    const knowing = openNode({ components: [asking, hanging], store, clock, limits })
    const ignorant = openNode({ components: [served], store, clock, limits: { maxConcurrentRuns: 0 } })
    const paused = await knowing.start('asking')
    await knowing.reached(paused, 'paused')
    const running = [await knowing.start('hanging'), await knowing.start('hanging')]
    for (const id of running) await knowing.reached(id, 'running')
    const queued = await knowing.start('hanging')
    const ids = [paused, ...running, queued]
    const listed = await ignorant.service.list(localPrincipal)
    expect(listed.runs.map(({ run }) => run.id).toSorted()).toEqual(ids.toSorted())
    const more = ignorant.service.waitForMore(localPrincipal, running[0]!, 1, 5000, new AbortController().signal)
    for (const id of ids) await ignorant.stop(id, 'enough')
    for (const id of ids) {
      const [end] = (await knowing.ended(id)).slice(-1)
      expect(end).toMatchObject({ type: 'run.cancelled', data: { reason: 'enough' } })
    }
    expect(await more).toBe(true)
    await ignorant.service.delete(localPrincipal, paused)
    await expect(knowing.get(paused)).rejects.toMatchObject({ code: 'not_found' })
  })

  test('rejects the start of a component that it does not serve', async () => {
    const store = sharedStore()
    openNode({ components: [asking], store, clock })
    const ignorant = openNode({ components: [served], store, clock })
    await expect(ignorant.start('asking')).rejects.toMatchObject({
      code: 'not_found',
      message: 'component "asking" not found',
    })
    expect(ignorant.service.components().map(({ id }) => id)).toEqual(['subject'])
  })
})

test('single-node store: an answer to a run that the node does not serve is rejected, and the run keeps waiting', async () => {
  const store = createMemoryStore({ clock })
  const first = openNode({ components: [asking], store, clock })
  const id = await first.start('asking')
  const question = await questionOf(first, id)
  await first.service.drain()
  const ignorant = openNode({ components: [served], store, clock })
  await expect(ignorant.answer(id, { [question]: 'hm' })).rejects.toMatchObject({ code: 'unsupported' })
  expect((await ignorant.get(id)).run.status).toBe('paused')
})
