/** Admission control: global and per-owner caps of the queue. */
import { expect, test } from 'vitest'
import { openNode, subject, type TestNode } from '../../../test/support/node.ts'
import { isHoldfastError } from '../model/errors.ts'

const idle = subject(async function* () {
  yield 'done'
})

/** Counts accepted starts; the others get `rate_limited`. */
async function accepted(node: TestNode, id: string, starts: number): Promise<number> {
  const answers = await Promise.allSettled(Array.from({ length: starts }, () => node.startAs({ id }, 'subject')))
  const refusals = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason as unknown] : []))
  for (const refusal of refusals) {
    expect(isHoldfastError(refusal, 'rate_limited')).toBe(true)
    expect(refusal).toMatchObject({ retryAfterMs: 5000 })
  }
  return starts - refusals.length
}

/** A node that executes nothing, so that all accepted runs wait. */
function openQueue(maxQueuedRuns: number): TestNode {
  return openNode({ components: [idle], limits: { maxConcurrentRuns: 0, maxQueuedRuns } })
}

test('admission: an owner that fills the queue leaves room for others, however many they are', async () => {
  const node = openQueue(12)
  expect(await accepted(node, 'anna', 20)).toBe(6)
  expect(await accepted(node, 'bert', 20)).toBe(3)
  expect(await accepted(node, 'cleo', 20)).toBe(2)
  expect(await accepted(node, 'dora', 20)).toBe(1)
  expect(await node.store.queued()).toBe(12)
  expect(await accepted(node, 'emil', 1)).toBe(0)
})

test('admission: sequential and concurrent starts get the same number of queue positions', async () => {
  const node = openQueue(12)
  let count = 0
  while ((await accepted(node, 'anna', 1)) === 1) count++
  expect(count).toBe(6)
})

test('admission: the rejection names the owner that fills the queue', async () => {
  const node = openQueue(2)
  await node.startAs({ id: 'anna' }, 'subject')
  await expect(node.startAs({ id: 'anna' }, 'subject')).rejects.toThrow(
    '1 of your runs are queued; the rest of the queue is reserved for others; try again later',
  )
  await node.startAs({ id: 'bert' }, 'subject')
  await expect(node.startAs({ id: 'cleo' }, 'subject')).rejects.toThrow(
    '2 runs are queued, which is the limit; try again later',
  )
})

test('admission: a queue position that becomes free can be taken', async () => {
  const node = openQueue(1)
  const { run } = await node.startAs({ id: 'anna' }, 'subject')
  expect(await accepted(node, 'anna', 1)).toBe(0)
  await node.service.stop({ id: 'anna' }, run.id)
  await node.reached(run.id, 'cancelled')
  expect(await accepted(node, 'anna', 1)).toBe(1)
})
