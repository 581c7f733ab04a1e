import { DatabaseSync } from 'node:sqlite'
import { expect, onTestFinished, test } from 'vitest'
import { temporaryDatabase } from '../../../../test/support/temporary.ts'
import { newRun } from '../../../testing/fixtures.ts'
import { openSqliteStore } from '../index.ts'
import { migrate } from '../tables/schema.ts'

const at = new Date().toISOString()

/** As the schema before this index (8) left it. */
function downgrade(path: string): void {
  const database = new DatabaseSync(path)
  database.exec('DROP INDEX runs_by_owner_version; DROP TABLE deletions; PRAGMA user_version = 8')
  database.close()
}

test('[STO-1] SQLite: a file of an earlier schema opens although a run’s JSON is damaged, and lists the others by version', async () => {
  const path = temporaryDatabase()
  const store = await openSqliteStore({ path })
  for (const id of ['run_1', 'run_2', 'run_3']) await store.create(newRun(id, at, { version: '2.0' }))
  await store.close()
  downgrade(path)
  const database = new DatabaseSync(path)
  database.exec(`UPDATE runs SET run = '{"version":"2.0' WHERE id = 'run_2'`)
  migrate(database, path)
  database.close()
  const again = await openSqliteStore({ path })
  onTestFinished(() => again.close())
  const { runs } = await again.list({ owner: 'owner-1', version: '2.0', limit: 10 })
  expect(runs.map(({ run }) => run.id)).toEqual(['run_3', 'run_1'])
  expect(await again.remove('run_2')).toBe(true)
})

test('SQLite: a listing by version reads no runs of other versions', async () => {
  const path = temporaryDatabase()
  const store = await openSqliteStore({ path })
  await store.create(newRun('run_1', at, { version: '2.0' }))
  await store.close()
  const database = new DatabaseSync(path)
  onTestFinished(() => database.close())
  const plan = database
    .prepare(
      `EXPLAIN QUERY PLAN SELECT * FROM runs INDEXED BY runs_by_owner_version
       WHERE CASE WHEN json_valid(run) THEN json_extract(run, '$.version') END IS NOT NULL AND owner = ?
         AND CASE WHEN json_valid(run) THEN json_extract(run, '$.version') END = ? AND (created, id) < (?, ?)
       ORDER BY created DESC, id DESC LIMIT ?`,
    )
    .all('owner-1', '2.0', at, 'x', 10)
  expect(plan.map(({ detail }) => detail)).toEqual([expect.stringMatching(/^SEARCH .*owner=\? AND <expr>=\?/)])
})
