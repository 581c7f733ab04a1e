import { expect, test } from 'vitest'
import { keptBytesOf } from './head.ts'

test('NATS: a run counts all its bytes, and if an earlier version wrote it, at least those of its last message', () => {
  expect(keptBytesOf({ keptBytes: 500, bytes: 20 })).toBe(500)
  expect(keptBytesOf({ bytes: 20 })).toBe(20)
  expect(keptBytesOf({})).toBe(0)
})
