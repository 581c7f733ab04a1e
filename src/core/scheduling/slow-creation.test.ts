/** Creating a run takes longer than its lease, as on a busy machine. */
import { expect, test } from 'vitest'
import { openNode, subject } from '../../../test/support/node.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { overriding } from '../../testing/broken-stores.ts'

test('[RUN-1] a run whose lease expires while it is being created is not taken from its own execution', async () => {
  const found = Promise.withResolvers<void>() // as claimable, before its creation has returned
  const settled = Promise.withResolvers<void>() // the node claimed it, or knew better
  const started = Promise.withResolvers<void>()
  const memory = createMemoryStore()
  let isFound = false
  let claims = 0
  const store = overriding(memory, {
    async create(draft) {
      const created = await memory.create(draft)
      await found.promise
      return created
    },
    async claimable(...parameters) {
      const ids = await memory.claimable(...parameters)
      isFound ||= ids.length > 0
      // The caller looks at what it got before the creation returns.
      if (isFound) setImmediate(() => found.resolve())
      return ids
    },
    async claim(...parameters) {
      claims++
      await started.promise
      try {
        return await memory.claim(...parameters)
      } finally {
        settled.resolve()
      }
    },
    async renew(...parameters) {
      if (!isFound) return [] // the process is too busy to renew what it is creating
      setImmediate(() => claims === 0 && settled.resolve())
      return memory.renew(...parameters)
    },
  })
  const component = subject(async function* () {
    started.resolve()
    await settled.promise
    yield 'to its end'
  })
  const node = openNode({ store, components: [component] })
  const id = await node.start('subject')
  await node.reached(id, 'completed')
  expect(claims).toBe(0)
})
