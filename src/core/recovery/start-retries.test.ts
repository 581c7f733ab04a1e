import { expect, test } from 'vitest'
import { openNode, readEvents, typesOf } from '../../../test/support/node.ts'
import { hangAtFirst, LEASE_MS, recovering, World } from '../../../test/support/world.ts'
import { overriding } from '../../testing/broken-stores.ts'
import { HoldfastError } from '../model/errors.ts'

/** An interrupted run, and a node whose store fails when the run is started again. */
async function leftRun(failure: () => Error, failures: number) {
  const world = new World(recovering('retry', hangAndSay))
  const id = await world.orphan(1)
  let reads = 0
  const store = overriding(world.store, {
    read: (...given) => {
      if (reads++ < failures) throw failure()
      return world.store.read(...given)
    },
  })
  const limits = { leaseMs: LEASE_MS, maxAttempts: 3 }
  const node = openNode({ components: [recovering('retry', hangAndSay)], store, clock: world.clock, limits })
  return { id, node, store: world.store, reads: () => reads }
}

async function* hangAndSay(...[, context]: Parameters<ReturnType<typeof recovering>['run']>) {
  yield 'said'
  await hangAtFirst(context)
}

test('[RUN-1] start retries: a run that cannot be started fails after the maximum of attempts', async () => {
  const { id, node, store, reads } = await leftRun(() => new TypeError('a defect'), Infinity)
  await node.reached(id, 'failed')
  const last = (await readEvents(store, id)).at(-1)
  expect(last).toMatchObject({ type: 'run.failed', data: { error: { code: 'internal' } } })
  expect(reads()).toBe(3)
})

test('[RUN-1] start retries: a run that starts at a later attempt completes', async () => {
  const { id, node, store } = await leftRun(() => new TypeError('a defect'), 2)
  await node.reached(id, 'completed')
  expect(typesOf(await readEvents(store, id))).toContain('attempt.discarded')
})

test('[RUN-1] start retries: an unavailable store never fails a run', async () => {
  const { id, node } = await leftRun(() => new HoldfastError('unavailable', 'the disk is full'), 5)
  expect((await node.reached(id, 'completed', 10_000)).run.attempt).toBe(2)
})
