import { setImmediate as turn, setTimeout as wait } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { Pace } from './pace.ts'

/** Longer than the loop is looked at. */
const LONG_MS = 200

test('where the event loop is idle now and then a commit follows another at once', async () => {
  const pace = new Pace()
  pace.wait()
  await wait(LONG_MS)
  pace.wait()
  pace.started()
  expect(pace.wait()).toBe(0)
})

test('where it is never idle a commit is put off by some milliseconds, and no longer once it is idle again', async () => {
  const pace = new Pace()
  pace.wait()
  for (const end = Date.now() + LONG_MS; Date.now() < end;) await turn()
  pace.wait()
  pace.started()
  const put = pace.wait()
  expect(put).toBeGreaterThan(0)
  expect(put).toBeLessThanOrEqual(8)
  await wait(LONG_MS)
  pace.wait()
  pace.started()
  expect(pace.wait()).toBe(0)
})
