import { setImmediate as nextTick, setTimeout as wait } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { eventLoopTick } from './event-loop-tick.ts'

test('event loop tick: code that never yields stays in one tick, however long it takes', async () => {
  const before = eventLoopTick()
  for (const end = Date.now() + 30; Date.now() < end;) await Promise.resolve()
  expect(eventLoopTick()).toBe(before)
})

test.each([
  ['an immediate', () => nextTick()],
  ['a timer', () => wait(5)],
])('event loop tick: code that awaited %s is in another tick', async (_, rest) => {
  const before = eventLoopTick()
  await rest()
  await nextTick() // an immediate of this very tick may have come first
  expect(eventLoopTick()).toBeGreaterThan(before)
})
