import { expect, test } from 'vitest'
import type { Slice } from '../../../core/model/slice.ts'
import { PageMemory, SHARED_BYTES_MAX, SPARE_MAX } from './page-memory.ts'

const PAGE_BYTES = 1024 * 1024
const SLICE: Slice = { first: 0, count: 1, bytes: new Uint8Array(0), closed: false }

test('[SUB-1] SQLite: pages in use take no more than their share of shared memory', () => {
  const memory = new PageMemory()
  const held: SharedArrayBuffer[] = []
  for (let buffer = memory.take(PAGE_BYTES); buffer !== undefined; buffer = memory.take(PAGE_BYTES)) {
    held.push(buffer)
    expect(held.length).toBeLessThanOrEqual(SHARED_BYTES_MAX / PAGE_BYTES)
  }
  expect(held).toHaveLength(SHARED_BYTES_MAX / PAGE_BYTES)
  expect(memory.take(1)).toBeUndefined()
})

test('SQLite: the memory of a released page is used for the next page of its size, once', () => {
  const memory = new PageMemory()
  const buffer = memory.take(PAGE_BYTES)!
  const { bytes, release } = memory.sliceIn(buffer, 100, SLICE)
  expect(bytes).toHaveLength(100)
  expect(memory.take(PAGE_BYTES)).not.toBe(buffer)
  release!()
  release!() // nobody may get a buffer that another one has
  expect(memory.take(PAGE_BYTES / 2)).not.toBe(buffer)
  expect(memory.take(PAGE_BYTES)).toBe(buffer)
  expect(memory.take(PAGE_BYTES)).not.toBe(buffer)
})

test('SQLite: a bounded number of released pages is cached, the latest ones', () => {
  const memory = new PageMemory()
  const buffers = Array.from({ length: SPARE_MAX + 1 }, () => memory.take(1024)!)
  for (const buffer of buffers) memory.give(buffer)
  for (const buffer of buffers.slice(1).toReversed()) expect(memory.take(1024)).toBe(buffer)
  expect(memory.take(1024)).not.toBe(buffers[0])
})
