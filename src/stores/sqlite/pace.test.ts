import { setImmediate as turn, setTimeout as wait } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { Pace } from './pace.ts'

/** Longer than the loop is looked at. */
const LONG_MS = 200

/** By how much a commit is put off that follows another in this very moment; the machine may take a moment away. */
function delayOf(pace: Pace): number {
  const delays = [1, 2, 3].map(() => {
    pace.started()
    return pace.wait()
  })
  return Math.max(...delays)
}

test('where the event loop is idle now and then a commit follows another at once', async () => {
  const pace = new Pace()
  pace.wait()
  await wait(LONG_MS)
  expect(delayOf(pace)).toBe(0)
})

test('where it is never idle a commit is put off by some milliseconds, and no longer once it is idle again', async () => {
  const pace = new Pace()
  pace.wait()
  for (const end = Date.now() + LONG_MS; Date.now() < end;) await turn()
  const delay = delayOf(pace)
  expect(delay).toBeGreaterThan(0)
  expect(delay).toBeLessThanOrEqual(8)
  await wait(LONG_MS)
  expect(delayOf(pace)).toBe(0)
})
