/** Documents in a SQLite file: intact after a killed process, and unchanged by other work of the store. */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { expect, onTestFinished, test, vi } from 'vitest'
import { temporaryDatabase } from '../../../test/support/temporary.ts'
import { until } from '../../../test/support/until.ts'
import { SESSIONS } from '../../core/model/document.ts'
import type { Store } from '../../core/ports/store.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { newRun, RunWriter } from '../../testing/fixtures.ts'
import { openSqliteStore } from './index.ts'

/** Of the store: after a commit that left full segments, and after one that did not. */
const COMPACTION_DELAYS_MS = [25, 2000]
const FLAGS = ['--no-warnings', '--input-type=module', '-e']

async function begin(store: Store, id: string): Promise<RunWriter> {
  const clock = createFakeClock()
  const draft = newRun(id, clock.iso(), { claim: { worker: 'worker-1', ttlMs: 1000 } })
  const { stored } = await store.create(draft)
  const runWriter = new RunWriter(store, clock, stored, [draft.record])
  runWriter.start()
  return runWriter
}

/** Puts versions of one document in sequence, and prints which are acknowledged. */
function putting(path: string): string {
  const store = JSON.stringify(new URL('./index.ts', import.meta.url).href)
  return `const { openSqliteStore } = await import(${store})
    const { documents } = await openSqliteStore({ path: ${JSON.stringify(path)} })
    for (;;) {
      const before = await documents.get('anna', 'notes', 'one')
      const text = 'x'.repeat(20_000)
      const { version } = await documents.put({ owner: 'anna', collection: 'notes', id: 'one', body: { text } }, before?.version ?? 0)
      console.log(version)
    }`
}

test('[LOG-2] SQLite: an acknowledged document survives a kill of the process', async () => {
  const path = temporaryDatabase()
  let answered = 0
  for (let round = 1; round <= 3; round++) {
    const child = spawn(process.execPath, [...FLAGS, putting(path)], { stdio: ['ignore', 'pipe', 'inherit'] })
    onTestFinished(() => void child.kill('SIGKILL'))
    const ended = new Promise((resolve) => child.once('exit', resolve))
    const enough = answered + 20
    for await (const line of createInterface({ input: child.stdout })) {
      answered = Number(line)
      if (answered === enough) child.kill('SIGKILL')
    }
    await ended
    expect(answered).toBeGreaterThanOrEqual(enough)
    const store = await openSqliteStore({ path })
    const kept = await store.documents.get('anna', 'notes', 'one')
    await store.close()
    // One more may have become durable just before its answer.
    expect([answered, answered + 1]).toContain(kept?.version)
    expect(kept?.body).toEqual({ text: 'x'.repeat(20_000) })
    answered = kept!.version
  }
})

test('SQLite: a command that arrives in the tick in which a compaction is due is not lost', async () => {
  const timers = vi.spyOn(globalThis, 'setTimeout')
  onTestFinished(() => timers.mockRestore())
  const store = await openSqliteStore({ path: temporaryDatabase() })
  onTestFinished(() => store.close())
  const finished = await begin(store, 'run_finished')
  finished.complete()
  await finished.flush()
  await begin(store, 'run_1') // it has records that are to be compacted
  const compact = await until('a compaction is planned', () => {
    const planned = timers.mock.calls.findLast(([, delay]) => COMPACTION_DELAYS_MS.includes(delay ?? 0))
    return planned?.[0]
  })
  const commands = Promise.all([
    store.documents.put({ owner: 'anna', collection: 'notes', id: 'one', body: 1 }),
    store.remove('run_finished'),
  ])
  compact() // its timer is due in this very turn
  expect(await commands).toMatchObject([{ version: 1 }, true])
  expect(await store.documents.get('anna', 'notes', 'one')).toBeDefined()
  expect(await store.get('run_finished')).toBeUndefined()
})

test('SQLite: a removed session is not created again by its remaining runs', async () => {
  const path = temporaryDatabase()
  const store = await openSqliteStore({ path })
  const runWriter = await begin(store, 'run_1')
  expect(await store.documents.remove('owner-1', SESSIONS, 'session-1')).toBe(true)
  runWriter.complete()
  await runWriter.flush()
  await store.trim('run_1', 2)
  await store.close()
  const again = await openSqliteStore({ path })
  onTestFinished(() => again.close())
  expect(await again.documents.list({ collection: SESSIONS, limit: 10 })).toEqual({ documents: [], total: 0 })
})
