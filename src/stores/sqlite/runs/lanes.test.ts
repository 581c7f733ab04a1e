import { expect, onTestFinished, test } from 'vitest'
import { crashedCopy } from '../../../../test/support/crashed-copy.ts'
import { temporaryDatabase } from '../../../../test/support/temporary.ts'
import type { Store } from '../../../core/ports/store.ts'
import { newRun } from '../../../testing/fixtures.ts'
import { openSqliteStore } from '../index.ts'

async function open(path: string): Promise<Store> {
  const store = await openSqliteStore({ path })
  onTestFinished(() => store.close())
  return store
}

test('[RUN-1] SQLite: after a crash, the runs of a session keep their order, although the clock was set back by days between them', async () => {
  const path = temporaryDatabase()
  const store = await open(path)
  await store.create(newRun('run_b', '2026-03-05T00:00:00.000Z', { lane: 'session-1' }))
  await store.create(newRun('run_a', '2026-03-01T00:00:00.000Z', { lane: 'session-1' }))
  expect(await store.claimable(10)).toEqual(['run_b'])
  const copy = temporaryDatabase()
  crashedCopy(path, copy)
  expect(await (await open(copy)).claimable(10)).toEqual(['run_b'])
})
