/** Nodes that share a store and do not serve the same components. */
import { describe, expect, test } from 'vitest'
import { aborted, openNode, subject, type TestNode, textOf, typesOf } from '../../test/support/node.ts'
import { openMemoryStore } from '../stores/memory.ts'
import { overriding } from '../testing/broken-stores.ts'
import { createFakeClock } from '../testing/fake-clock.ts'
import { newRun } from '../testing/fixtures.ts'
import { localPrincipal } from './principal.ts'
import type { Store } from './store.ts'

const HOUR_MS = 3_600_000
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

/** As many processes see it. */
function sharedStore(): Store {
  return overriding(openMemoryStore({ clock }), { capabilities: { durable: true, shared: true } })
}

describe('where nodes share a store, a node', () => {
  test('[RUN-1] leaves runs that it does not serve to the others', async () => {
    const store = sharedStore()
    const node = openNode({ components: [served], store, clock })
    await store.create(newRun('run_other', clock.iso(), { component: 'other' }))
    const own = await node.start('subject')
    await node.ended(own)
    clock.advance(HOUR_MS - 1000)
    expect(await node.log('run_other')).toHaveLength(1)
    const log = await openNode({ components: [other], store, clock }).ended('run_other')
    expect(textOf(log)).toBe('done elsewhere')
  })

  test('[RUN-1] ends a run that none has taken for an hour, and says why', async () => {
    const store = sharedStore()
    const node = openNode({ components: [served], store, clock })
    await store.create(newRun('run_unserved', clock.iso(), { component: 'gone' }))
    clock.advance(HOUR_MS)
    const error = { code: 'unsupported', message: 'component gone is not served any more' }
    expect((await node.ended('run_unserved')).at(-1)).toMatchObject({ type: 'run.failed', data: { error } })
  })

  test('[RUN-1] counts that hour from when the last worker was heard of, however old the run is', async () => {
    const store = sharedStore()
    const node = openNode({ components: [served], store, clock })
    const claim = { owner: 'another node', ttlMs: 2 * HOUR_MS }
    await store.create(newRun('run_long', clock.iso(), { component: 'other', claim }))
    clock.advance(2 * HOUR_MS + 1)
    await node.ended(await node.start('subject'))
    expect(await node.log('run_long')).toHaveLength(1)
    clock.advance(HOUR_MS)
    await node.ended('run_long')
  })

  test.each(['fail', 'retry', 'resume'] as const)(
    '[RUN-2] takes the answer to a run that it does not serve, and one that does goes on (recovery: %s)',
    async (recovery) => {
      const store = sharedStore()
      const component = { ...asking, recovery }
      const knowing = openNode({ components: [component], store, clock })
      const id = await knowing.start('asking')
      const question = await questionOf(knowing, id)
      const ignorant = openNode({ components: [served], store, clock })
      expect((await ignorant.continue(id, { [question]: 'yes' })).run.status).toBe('running')
      const log = await knowing.ended(id)
      expect(textOf(log)).toBe('I wonder. They said yes')
      const sequel = ['run.resumed', 'run.released', 'run.started', 'text.delta', 'run.completed']
      expect(typesOf(log).slice(-5)).toEqual(sequel)
    },
  )

  test('[RUN-2] leaves a run that it answered alone, though nobody else is there yet', async () => {
    const store = sharedStore()
    const first = openNode({ components: [asking], store, clock })
    const id = await first.start('asking')
    const question = await questionOf(first, id)
    await first.service.drain()
    const ignorant = openNode({ components: [served], store, clock })
    await ignorant.continue(id, { [question]: 'yes' })
    await ignorant.ended(await ignorant.start('subject'))
    expect((await ignorant.get(id)).run.status).toBe('running')
    await expect(ignorant.continue(id, { [question]: 'no' })).rejects.toMatchObject({ code: 'conflict' })
    const log = await openNode({ components: [asking], store, clock }).ended(id)
    expect(textOf(log)).toBe('I wonder. They said yes')
  })

  test('[RUN-2] that drives nothing takes the answer to a run, and a worker goes on', async () => {
    const store = sharedStore()
    const worker = openNode({ components: [asking], store, clock })
    const id = await worker.start('asking')
    const question = await questionOf(worker, id)
    const front = openNode({ components: [asking], store, clock, limits: { runsConcurrentMax: 0 } })
    await front.continue(id, { [question]: 'yes' })
    expect(textOf(await worker.ended(id))).toBe('I wonder. They said yes')
    expect(front.service.load().running).toBe(0)
  })

  test('refuses an answer that does not fit a run that it does not serve, and the run waits on', async () => {
    const store = sharedStore()
    const knowing = openNode({ components: [asking], store, clock })
    const id = await knowing.start('asking')
    const question = await questionOf(knowing, id)
    const ignorant = openNode({ components: [served], store, clock })
    await expect(ignorant.continue(id, { another: 'hm' })).rejects.toMatchObject({ code: 'invalid_request' })
    await expect(ignorant.continue(id, {})).rejects.toMatchObject({ code: 'invalid_request' })
    expect((await ignorant.get(id)).run.status).toBe('paused')
    await knowing.continue(id, { [question]: 'yes' })
    expect(textOf(await knowing.ended(id))).toBe('I wonder. They said yes')
  })

  test('[RUN-2] stops, shows and lists runs that it does not serve, whatever their state', async () => {
    const store = sharedStore()
    const limits = { runsConcurrentMax: 2 }
    const knowing = openNode({ components: [asking, hanging], store, clock, limits })
    const ignorant = openNode({ components: [served], store, clock, limits: { runsConcurrentMax: 0 } })
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
    await ignorant.service.remove(localPrincipal, paused)
    await expect(knowing.get(paused)).rejects.toMatchObject({ code: 'not_found' })
  })

  test('refuses to start what it does not serve, and says so', async () => {
    const store = sharedStore()
    openNode({ components: [asking], store, clock })
    const ignorant = openNode({ components: [served], store, clock })
    await expect(ignorant.start('asking')).rejects.toMatchObject({
      code: 'not_found',
      message: 'no component "asking"',
    })
    expect(ignorant.service.components().map(({ id }) => id)).toEqual(['subject'])
  })
})

test('where a store is for one node, an answer to a run that it does not serve is refused, and the run waits on', async () => {
  const store = openMemoryStore({ clock })
  const first = openNode({ components: [asking], store, clock })
  const id = await first.start('asking')
  const question = await questionOf(first, id)
  await first.service.drain()
  const ignorant = openNode({ components: [served], store, clock })
  await expect(ignorant.continue(id, { [question]: 'hm' })).rejects.toMatchObject({ code: 'unsupported' })
  expect((await ignorant.get(id)).run.status).toBe('paused')
})
