import { expect, test } from 'vitest'
import { createMemoryStore } from '../../stores/memory.ts'
import { overriding } from '../../testing/broken-stores.ts'
import { newRun } from '../../testing/fixtures.ts'
import type { Slice } from '../model/slice.ts'
import { RunReads } from './run-reads.ts'

const RUN = 'run_1'
const PAGE = 4096

/** A store that counts reads and holds their slices until released. */
async function countingReads() {
  const store = createMemoryStore()
  await store.create(newRun(RUN, new Date(0).toISOString()))
  const counts = { reads: 0, released: 0 }
  const gate = { opened: Promise.resolve() }
  const read = async (...asked: Parameters<typeof store.read>): Promise<Slice | undefined> => {
    counts.reads++
    const slice = await store.read(...asked)
    await gate.opened
    return slice && { ...slice, release: () => counts.released++ }
  }
  return { reads: new RunReads(overriding(store, { read }), RUN), counts, gate }
}

test('run reads: readers that ask for the same position in one tick share one read, and none releases its memory', async () => {
  const { reads, counts } = await countingReads()
  const slices = await Promise.all(Array.from({ length: 100 }, () => reads.together(-1, PAGE)))
  expect(counts.reads).toBe(1)
  expect(new Set(slices).size).toBe(1)
  expect(slices[0]).toMatchObject({ first: 0, count: 1 })
  expect(slices[0]!.release).toBeUndefined()
})

test('run reads: a single reader can release the memory, and a read that has started is not shared', async () => {
  const { reads, counts } = await countingReads()
  const first = reads.together(-1, PAGE)
  await new Promise((resolve) => setImmediate(resolve))
  const second = reads.together(-1, PAGE)
  for (const slice of await Promise.all([first, second])) slice!.release!()
  expect(counts).toEqual({ reads: 2, released: 2 })
})

test('run reads: readers at different positions or with different sizes do not share a read', async () => {
  const { reads, counts } = await countingReads()
  await Promise.all([reads.together(-1, PAGE), reads.together(-1, 2 * PAGE), reads.together(0, PAGE)])
  expect(counts.reads).toBe(3)
})

test('run reads: readers that ask while a read of their position is in progress share it, and none releases its memory', async () => {
  const { reads, counts, gate } = await countingReads()
  const { promise, resolve } = Promise.withResolvers<void>()
  gate.opened = promise
  const first = reads.after(-1, PAGE)
  await new Promise((done) => setImmediate(done))
  const others = [reads.after(-1, PAGE), reads.after(-1, PAGE)]
  const elsewhere = reads.after(-1, 2 * PAGE)
  resolve()
  const slices = await Promise.all([first, ...others])
  expect(slices.map((slice) => [slice!.count, slice!.release])).toEqual(slices.map(() => [1, undefined]))
  expect((await elsewhere)!.release).toBeDefined()
  expect(counts).toEqual({ reads: 2, released: 0 })
  expect((await reads.after(-1, PAGE))!.release).toBeDefined()
})

test('run reads: a reader that joined a read which found nothing reads again, since a record may have been written after it began', async () => {
  const { reads, counts, gate } = await countingReads()
  const { promise, resolve } = Promise.withResolvers<void>()
  gate.opened = promise
  const both = [reads.after(0, PAGE), reads.after(0, PAGE)]
  resolve()
  expect(await Promise.all(both)).toEqual([undefined, undefined])
  expect(counts.reads).toBe(2)
})
