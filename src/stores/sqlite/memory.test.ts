import { expect, onTestFinished, test } from 'vitest'
import { heldMegabytes } from '../../../test/support/memory.ts'
import { temporaryDatabase } from '../../../test/support/temporary.ts'
import { systemClock } from '../../core/ports/clock.ts'
import { newRun, RunWriter } from '../../testing/fixtures.ts'
import { openSqliteStore } from './index.ts'

const RUNS = 1000
const METADATA_CHARS = 50_000

test('[STO-1] SQLite: a finished run whose log is compacted uses no memory', async () => {
  const store = await openSqliteStore({ path: temporaryDatabase() })
  onTestFinished(() => store.close())
  const before = await heldMegabytes()
  for (let at = 0; at < RUNS; at++) {
    const draft = newRun(`run_${at}`, '2026-01-01T00:00:00.000Z', { claim: { worker: 'worker', ttlMs: 600_000 } })
    // A text of its own for each run.
    const metadata = { text: `${at} `.padEnd(METADATA_CHARS, 'x') }
    const { stored } = await store.create({ ...draft, run: { ...draft.run, metadata } })
    const runWriter = new RunWriter(store, systemClock, stored, [draft.record])
    runWriter.start()
    runWriter.text('short')
    runWriter.complete()
    await runWriter.flush()
  }
  // All of them would be 50 MB.
  await expect.poll(async () => (await heldMegabytes()) - before, { interval: 500 }).toBeLessThan(20)
})
