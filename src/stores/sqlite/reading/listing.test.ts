import { expect, onTestFinished, test } from 'vitest'
import { temporaryDatabase } from '../../../../test/support/temporary.ts'
import { threadCpuMs } from '../../../../test/support/event-loop-stall.ts'
import type { RunQuery } from '../../../core/ports/store.ts'
import { newRun } from '../../../testing/fixtures.ts'
import { openSqliteStore } from '../index.ts'

const OTHERS = 5000
const LISTINGS = 100
/** A listing that read the runs of others took more than ten times as long. */
const RATIO_MAX = 4

test('SQLite listing: its duration does not reveal runs of other owners with the same names', async () => {
  const store = await openSqliteStore({ path: temporaryDatabase() })
  onTestFinished(() => store.close())
  const at = new Date().toISOString()
  const names = { component: 'lab', session: 'default' }
  await Promise.all(
    Array.from({ length: OTHERS }, (_, number) =>
      store.create(newRun(`run_${number}`, at, { ...names, owner: 'anna' })),
    ),
  )
  await store.create(newRun('run_of_bert', at, { component: 'other', session: 'other', owner: 'bert' }))
  const cpuMs = async (query: Omit<RunQuery, 'limit'>): Promise<number> => {
    const before = threadCpuMs()
    for (let count = 0; count < LISTINGS; count++)
      expect((await store.list({ ...query, owner: 'bert', limit: 50 })).runs).toEqual([])
    return threadCpuMs() - before
  }
  await cpuMs({ session: 'nosuch' })
  expect(await cpuMs({ session: 'default' })).toBeLessThan(RATIO_MAX * (await cpuMs({ session: 'nosuch' })))
  expect(await cpuMs({ component: 'lab' })).toBeLessThan(RATIO_MAX * (await cpuMs({ component: 'nosuch' })))
})
