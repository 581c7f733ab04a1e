import { expect, test } from 'vitest'
import { openNode, subject, textOf } from '../../../test/support/node.ts'
import { createMemoryStore } from '../../stores/memory.ts'

const asking = subject(async function* (_, context) {
  yield String(await context.ask({ prompt: 'Well?' }))
})

test('[RUN-1] a paused run is answered although the worker of an earlier answer claimed it and died', async () => {
  const store = createMemoryStore()
  const leaseMs = 400
  const node = openNode({ components: [asking], store, limits: { leaseMs } })
  const id = await node.start('subject')
  await node.reached(id, 'paused')
  // The claim was written, its response was lost, and the caller got `store_unavailable`.
  expect(await store.claim(id, 'cut off', leaseMs, { paused: true })).toMatchObject({ run: { status: 'paused' } })
  await node.answer(id, { question: 'yes' })
  expect(textOf(await node.ended(id))).toBe('yes')
})

test('[RUN-1] a paused run whose lease another worker keeps renewing gets unavailable, not conflict', async () => {
  const store = createMemoryStore()
  const node = openNode({ components: [asking], store, limits: { leaseMs: 300 } })
  const id = await node.start('subject')
  await node.reached(id, 'paused')
  await store.claim(id, 'slow', 600_000, { paused: true })
  await expect(node.answer(id, { question: 'yes' })).rejects.toMatchObject({ code: 'unavailable' })
})
