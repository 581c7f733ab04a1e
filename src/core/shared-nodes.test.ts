/** Nodes that share a store and do not serve the same components. */
import { describe, expect, test } from 'vitest'
import { openNode, subject, textOf } from '../../test/support/node.ts'
import { openMemoryStore } from '../stores/memory.ts'
import { overriding } from '../testing/broken-stores.ts'
import { createFakeClock } from '../testing/fake-clock.ts'
import { newRun } from '../testing/fixtures.ts'
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
    yield `they said ${String(await context.ask({ prompt: 'And?' }))}`
  },
  { id: 'asking' },
)

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

  test('refuses an answer to a run that it does not serve, and the run waits on', async () => {
    const store = sharedStore()
    const knowing = openNode({ components: [asking], store, clock })
    const id = await knowing.start('asking')
    const { run } = await knowing.reached(id, 'paused')
    const question = run.waiting![0]!.id
    const ignorant = openNode({ components: [served], store, clock })
    await expect(ignorant.continue(id, { [question]: 'hm' })).rejects.toMatchObject({ code: 'unsupported' })
    await knowing.continue(id, { [question]: 'yes' })
    expect(textOf(await knowing.ended(id))).toBe('they said yes')
  })
})
