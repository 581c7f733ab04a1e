/** Rows of the database are verified: records of another run cause an error in one run only. */
import { expect, onTestFinished, test } from 'vitest'
import { openPostgresStore } from '../../src/stores/postgres/index.ts'
import { readRecords } from '../../src/testing/conformance/reading.ts'
import { startPostgres } from '../support/postgres.ts'
import { startRun } from './failing-servers.ts'

const server = await startPostgres()

test('[STO-2] [SEC-1] PostgreSQL: a record of another run in the middle of a row is not served', async () => {
  const schema = 'integrity'
  const store = await openPostgresStore({ url: server.url, connections: 3, schema })
  onTestFinished(() => store.close())
  const [runWriter, other] = [await startRun(store), await startRun(store)]
  for (const each of [runWriter, other]) {
    for (const text of ['one', 'two', 'three', 'four']) each.text(text)
    await each.flush()
  }
  const rows = await server.query<{ run: number; first: number; data: string }>(
    `SELECT run, first, convert_from(data, 'UTF8') AS data FROM ${schema}.log ORDER BY run, first DESC`,
  )
  const { run, first, data } = rows.find((row) => row.data.includes(runWriter.id) && row.data.includes('three'))!
  const records = data.split('\n\n')
  expect(records.length).toBeGreaterThan(3)
  const mixed = records.with(1, records[1]!.replace(runWriter.id, other.id)).join('\n\n')
  await server.query(`UPDATE ${schema}.log SET data = convert_to($3, 'UTF8') WHERE run = $1 AND first = $2`, [
    run,
    first,
    mixed,
  ])
  await expect(readRecords(store, runWriter.id)).rejects.toMatchObject({
    code: 'unavailable',
    internalMessage: expect.stringMatching(`run ${runWriter.id}: .*belongs to another run or index`) as unknown,
  })
  expect(await readRecords(store, other.id)).toEqual(other.records)
})
