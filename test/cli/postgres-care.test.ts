/** Maintenance commands on PostgreSQL, also while servers use it. */
import { describe, expect, test } from 'vitest'
import { SCHEMA_VERSION } from '../../src/stores/postgres/schema.ts'
import { openPostgresStore } from '../../src/stores/postgres/index.ts'
import { call as request, getRun, startRun, untilFinished, untilStatus } from '../support/http.ts'
import { serveInProcess } from '../support/in-process.ts'
import { startPostgres } from '../support/postgres.ts'
import { callWith, NOBODY } from './called.ts'

const postgres = await startPostgres()
const call = callWith(NOBODY)

test('holdfast gc on PostgreSQL trims finished runs beside a running server and leaves the others alone', async () => {
  const store = `${postgres.url}?schema=gc`
  const server = await serveInProcess({ store: await openPostgresStore({ url: postgres.url, schema: 'gc' }) })
  const { id: finished } = await startRun(server, 'text 200')
  const { id: paused } = await startRun(server, 'text 200; ask Sure?')
  await untilFinished(server, finished)
  await untilStatus(server, paused, ['paused'])
  expect(await call('gc', '--store', store, '--retain', '30d', '--now')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('trimmed 0 runs') as string,
  })
  expect(await call('gc', '--store', store, '--retain', '1ms', '--now')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/trimmed 1 run; the store had \d\S* \wB, now \d\S* \wB\n/) as string,
  })
  expect(await getRun(server, finished)).toMatchObject({ status: 'completed', earliest: 202, events: 203 })
  expect(await getRun(server, paused)).toMatchObject({ earliest: 0 })
  expect((await request(server, 'GET', `/runs/${finished}/events?after=3`)).status).toBe(410)
  expect((await call('gc', '--store', store, '--retain-size', '1B')).stdout).toContain('trimmed 0 runs')
})

describe('holdfast migrate on PostgreSQL', () => {
  test('creates the tables once, even if called concurrently, and prints what it did', async () => {
    const store = `${postgres.url}?schema=migrated`
    const made = await Promise.all([1, 2, 3].map(() => call('migrate', '--store', store)))
    const reported = made.map(({ stdout }) => stdout.split('/postgres')[1]!)
    expect(reported.toSorted((a, b) => a.length - b.length)).toEqual([
      ` is up to date: schema ${SCHEMA_VERSION}\n`,
      ` is up to date: schema ${SCHEMA_VERSION}\n`,
      `: migrated from schema 0 to ${SCHEMA_VERSION}\n`,
    ])
  })

  test('rejects a schema of a newer version', async () => {
    const store = `${postgres.url}?schema=newer`
    await call('migrate', '--store', store)
    await postgres.query('UPDATE newer.version SET version = 1000')
    expect(await call('migrate', '--store', store)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('was made by a newer Holdfast (version 1000') as string,
    })
  })

  test('prints one line if the server is unreachable', async () => {
    const { code, stderr } = await call('migrate', '--store', 'postgres://holdfast:secret@127.0.0.1:1/app')
    expect(code).toBe(1)
    expect(stderr).toMatch(/^holdfast migrate: [^\n]*ECONNREFUSED[^\n]*\n$/)
    expect(stderr).not.toContain('secret')
  })
})
