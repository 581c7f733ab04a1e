import { expect, test } from 'vitest'
import { HoldfastError } from '../model/errors.ts'
import type { LogWriter, Store } from '../ports/store.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { overriding } from '../../testing/broken-stores.ts'
import { openNode, subject, typesOf } from '../../../test/support/node.ts'

test('[RUN-1] a run whose other branch writes while it is answered continues from its log', async () => {
  const memory = createMemoryStore()
  const branchMayWrite = Promise.withResolvers<void>()
  const refused = Promise.withResolvers<void>()
  let isClaimedAgain = false
  const store: Store = overriding(memory, {
    claim: async (id, owner, ttlMs, options) => {
      const claimed = await memory.claim(id, owner, ttlMs, options)
      isClaimedAgain ||= claimed !== undefined && options?.paused === true
      return claimed
    },
    // The branch writes under the claim before this one, and is refused, while the answer is on its way into the log.
    get: async (id) => {
      if (isClaimedAgain) {
        isClaimedAgain = false
        branchMayWrite.resolve()
        await refused.promise
      }
      return memory.get(id)
    },
    writer: (id, claim, onRefused) =>
      memory.writer(id, claim, (cause) => {
        onRefused?.(cause)
        refused.resolve()
      }),
  })
  const component = subject(
    async function* (_input, { ask, step }) {
      const branch = step('branch', () => branchMayWrite.promise)
      const answer = await ask('go on?')
      await branch
      yield String(answer)
    },
    { recovery: 'resume' },
  )
  const node = openNode({ components: [component], store, limits: { replayWaitMs: 50 } })
  const id = await node.start('subject')
  const { run } = await node.reached(id, 'paused')
  await node.answer(id, { [run.waiting![0]!.id]: 'yes' })
  const log = await node.ended(id)
  expect(typesOf(log).at(-1)).toBe('run.completed')
})

test('[RUN-3] a branch whose write is refused because the run was answered meanwhile does not interrupt the run', async () => {
  const memory = createMemoryStore()
  const branchMayWrite = Promise.withResolvers<void>()
  const continued = Promise.withResolvers<void>()
  let isClaimedAgain = false
  const store: Store = overriding(memory, {
    claim: async (id, owner, ttlMs, options) => {
      const claimed = await memory.claim(id, owner, ttlMs, options)
      isClaimedAgain ||= claimed !== undefined && options?.paused === true
      return claimed
    },
    get: async (id) => {
      if (isClaimedAgain) branchMayWrite.resolve()
      return memory.get(id)
    },
    writer: (id, claim, onRefused) => {
      const writer = memory.writer(id, claim, onRefused)
      if (claim.epoch > 1) return writer
      return refusedOnceLate(writer, branchMayWrite.promise, continued.promise)
    },
  })
  const component = subject(async function* (_input, { ask, step }) {
    const branch = step('branch', () => branchMayWrite.promise)
    const answer = await ask('go on?')
    continued.resolve()
    await branch
    yield String(answer)
  })
  const node = openNode({ components: [component], store, limits: { replayWaitMs: 50 } })
  const id = await node.start('subject')
  const { run } = await node.reached(id, 'paused')
  await node.answer(id, { [run.waiting![0]!.id]: 'yes' })
  const log = await node.ended(id)
  expect(typesOf(log).at(-1), JSON.stringify(log.at(-1))).toBe('run.completed')
})

/** Once `from` has resolved, accepts records; its flush waits for `until` and fails as fenced. */
function refusedOnceLate(writer: LogWriter, from: Promise<void>, until: Promise<void>): LogWriter {
  let isLate = false
  let kept = 0
  void from.then(() => (isLate = true))
  return {
    get next() {
      return writer.next + kept
    },
    get pending() {
      return writer.pending + kept
    },
    pendingChars: 0,
    append: (record, change) => (isLate ? void kept++ : writer.append(record, change)),
    flush: async () => {
      if (!isLate) return writer.flush()
      await until
      throw new HoldfastError('fenced', 'another claim was made')
    },
  }
}

test('a start that the store cannot write is retried without limit, and does not count against the run', async () => {
  const memory = createMemoryStore()
  let failures = 3 // as many as may fail for a reason of the run
  const store: Store = overriding(memory, {
    writer: (id, claim, onRefused) =>
      failures-- > 0 ? unavailableWriter(claim.next) : memory.writer(id, claim, onRefused),
  })
  const node = openNode({ components: [subject(async function* () {})], store })
  const log = await node.ended(await node.start('subject'))
  expect(typesOf(log).at(-1)).toBe('run.completed')
})

test('an answer that the store cannot write gets unavailable', async () => {
  const memory = createMemoryStore()
  let isOut = false
  const store: Store = overriding(memory, {
    writer: (id, claim, onRefused) => (isOut ? unavailableWriter(claim.next) : memory.writer(id, claim, onRefused)),
  })
  const asking = subject(
    async function* (_input, { ask }) {
      yield String(await ask('go on?'))
    },
    { recovery: 'resume' },
  )
  const node = openNode({ components: [asking], store })
  const id = await node.start('subject')
  const { run } = await node.reached(id, 'paused')
  isOut = true
  const answering = node.answer(id, { [run.waiting![0]!.id]: 'yes' })
  await expect(answering).rejects.toMatchObject({ code: 'unavailable' })
  isOut = false
  await node.answer(id, { [run.waiting![0]!.id]: 'yes' })
  expect(typesOf(await node.ended(id)).at(-1)).toBe('run.completed')
})

/** Accepts records and fails to write them. */
function unavailableWriter(first: number): LogWriter {
  let pending = 0
  return {
    get next() {
      return first + pending
    },
    get pending() {
      return pending
    },
    pendingChars: 0,
    append: () => void pending++,
    flush: () => Promise.reject(new HoldfastError('unavailable', 'the disk is away')),
  }
}
