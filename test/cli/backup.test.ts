/** `holdfast backup` and `holdfast restore`, with a real server before, during and after. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { openSqliteStore } from '../../src/stores/sqlite/index.ts'
import { newRun } from '../../src/testing/fixtures.ts'
import { call, readLog, startRun, untilFinished } from '../support/http.ts'
import { startServer } from '../support/process.ts'
import { temporaryDatabase, temporaryFolder } from '../support/temporary.ts'
import { run } from './command-line.ts'

test('backup: a restored backup of a live server has every run byte for byte, and resumes the one in progress', async () => {
  const path = temporaryDatabase()
  const store = ['--store', `sqlite:${path}`]
  const backup = join(temporaryFolder(), 'backup.db')
  const server = await startServer({ store: path })
  const finished = (await startRun(server, 'text 20')).id
  await untilFinished(server, finished)
  const log = await readLog(server, finished)
  const underWay = (await startRun(server, 'text 1; sleep 1000; text 5', { component: 'lab-retry' })).id

  const made = await run(['backup', backup, ...store])
  expect(made).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/backup\.db: 2 runs of sqlite:.*, verified\n$/) as string,
  })
  expect(made.stderr).toContain('verifying the copy')
  const later = (await startRun(server, 'text 1')).id
  await untilFinished(server, later)
  expect(await run(['restore', backup, ...store])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('is in use by another process') as string,
  })
  await server.kill()

  const restored = await run(['restore', backup, ...store])
  expect(restored).toMatchObject({ code: 0, stdout: expect.stringContaining('the previous store is') as string })
  const again = await startServer({ store: path })
  expect((await readLog(again, finished)).equals(log)).toBe(true)
  expect(await untilFinished(again, underWay)).toMatchObject({ status: 'completed' })
  expect(await call(again, 'GET', `/runs/${later}`)).toMatchObject({ status: 404 })
})

test('[STO-1] backup: damage of a run is listed, and the exit code says so', async () => {
  const path = temporaryDatabase()
  const store = await openSqliteStore({ path })
  await store.create(newRun('run-1', new Date().toISOString()))
  await store.close()
  {
    using database = new DatabaseSync(path)
    database.exec('UPDATE segments SET crc = crc + 1')
  }
  const backup = join(temporaryFolder(), 'backup.db')
  const made = await run(['backup', backup, '--store', `sqlite:${path}`])
  expect(made).toMatchObject({ code: 1, stdout: expect.stringMatching(/1 runs of .*, damaged\n$/) as string })
  expect(made.stderr).toMatch(/^damaged: .*run-1/m)
  expect(existsSync(backup)).toBe(true)
})

test('gc --vacuum shrinks the SQLite file and changes no run', async () => {
  const path = temporaryDatabase()
  const server = await startServer({ store: path })
  const { id } = await startRun(server, 'text 20')
  await untilFinished(server, id)
  const log = await readLog(server, id)
  await server.terminate()
  expect(await run(['gc', '--vacuum', '--store', `sqlite:${path}`])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('the file now has') as string,
  })
  const again = await startServer({ store: path })
  expect((await readLog(again, id)).equals(log)).toBe(true)
})

test('backup and restore reject a store that is not a file', async () => {
  for (const command of ['backup', 'restore']) {
    const { code, stderr } = await run([command, 'backup.db', '--store', 'postgres://localhost/none'])
    expect(code).toBe(2)
    expect(stderr).toContain('use the tools of the database')
  }
})
