import { expect, test } from 'vitest'
import type { LogPage } from './log-page.ts'
import { inSharedMemory, SHARED_BYTES_MAX, SharedPages } from './shared-pages.ts'

const PAGE_BYTES = 1024 * 1024

function pageOf(bytes: Uint8Array): LogPage {
  return { head: undefined, slice: { first: 0, count: 1, bytes, closed: false } }
}

test('[SUB-1] shared pages that are still held take no more than their share of memory', () => {
  const pages = new SharedPages()
  const held: LogPage[] = []
  while (pages.hasRoom) {
    held.push(pageOf(inSharedMemory(new Uint8Array(PAGE_BYTES))))
    pages.add(held.at(-1)!)
    expect(held.length).toBeLessThanOrEqual(SHARED_BYTES_MAX / PAGE_BYTES)
  }
  expect(held).toHaveLength(SHARED_BYTES_MAX / PAGE_BYTES)
})

test('pages that were transferred are not counted: V8 does that', () => {
  const pages = new SharedPages()
  for (let page = 0; page <= SHARED_BYTES_MAX / PAGE_BYTES; page++) pages.add(pageOf(new Uint8Array(PAGE_BYTES)))
  expect(pages.hasRoom).toBe(true)
})
