/** A server that cannot start prints one line with the reason, exits, and changes nothing. */
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, onTestFinished, test } from 'vitest'
import { runCommand } from '../../src/cli/run-command.ts'
import { openSqliteStore } from '../../src/stores/sqlite/index.ts'
import { newRun } from '../../src/testing/fixtures.ts'
import { call, startRun, untilFinished } from '../support/http.ts'
import { temporaryDatabase, temporaryFolder } from '../support/temporary.ts'
import { CommandLine, type Ended, run } from './command-line.ts'

function demo(store: string, ...args: string[]): Promise<Ended> {
  return run(['demo', '--port', '0', '--store', `sqlite:${store}`, ...args])
}

function expectRefusal({ code, stdout, stderr }: Ended, output: RegExp): void {
  expect(stderr).toMatch(output)
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
  expect(stderr).toMatch(/^holdfast demo: /)
  expect(stderr).not.toMatch(/^ {4}at /m)
}

function digest(path: string): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex')
}

describe('holdfast serve with a database', () => {
  test('a database that another process uses is left alone', async () => {
    const path = temporaryDatabase()
    const first = new CommandLine(['demo', '--lab', '--port', '0', '--store', `sqlite:${path}`])
    const target = { url: await first.url() }
    expectRefusal(
      await demo(path),
      /runs\.db is in use by another process; stop that one, or give this one another --store/,
    )
    const { id } = await startRun(target, 'text 1')
    expect(await untilFinished(target, id)).toMatchObject({ status: 'completed' })
  })

  test('a database whose process was killed can be opened again', async () => {
    const path = temporaryDatabase()
    const first = new CommandLine(['demo', '--lab', '--port', '0', '--store', `sqlite:${path}`])
    const { id } = await startRun({ url: await first.url() }, 'text 1')
    await untilFinished({ url: await first.url() }, id)
    first.kill('SIGKILL')
    await first.ended()
    const second = new CommandLine(['demo', '--lab', '--port', '0', '--store', `sqlite:${path}`])
    expect(await call({ url: await second.url() }, 'GET', `/runs/${id}`)).toMatchObject({
      body: { status: 'completed' },
    })
  })

  test.each<[string, (path: string) => void, RegExp]>([
    ['is empty', (path) => truncateSync(path, 0), /runs\.db is damaged/],
    ['is cut to half', (path) => truncateSync(path, Math.floor(statSync(path).size / 2)), /runs\.db is damaged/],
    ['is garbage', (path) => writeFileSync(path, 'garbage '.repeat(5000)), /runs\.db is not a SQLite database/],
    [
      'has garbage in its first page',
      (path) => writeFileSync(path, readFileSync(path).fill(7, 100, 4096)),
      /runs\.db is damaged/,
    ],
    [
      'is of a newer version',
      (path) => execute(path, 'PRAGMA user_version = 99'),
      /runs\.db was written by a newer Holdfast \(schema 99; this version knows up to \d+\)/,
    ],
    ['is of another program', replaceByForeign, /runs\.db is a SQLite database of another program/],
  ])('a database that %s is rejected and left unchanged', async (_name, damage, expectedText) => {
    const path = temporaryDatabase()
    await makeDatabase(path)
    damage(path)
    const before = digest(path)
    expectRefusal(await demo(path), expectedText)
    expect(digest(path)).toBe(before)
  })

  test('a database path that is a directory is named in the error', async () => {
    const path = join(temporaryFolder(), 'runs.db')
    mkdirSync(path)
    expectRefusal(await demo(path), /runs\.db/)
  })

  test('a database path that leads through a file is named in the error', async () => {
    const folder = temporaryFolder()
    writeFileSync(join(folder, 'file'), '')
    expectRefusal(await demo(join(folder, 'file', 'runs.db')), /file/)
  })
})

test('holdfast serve exits with an error if the port is taken', async () => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())))
  const { port } = server.address() as AddressInfo
  for (const store of ['memory:', `sqlite:${temporaryDatabase()}`]) {
    expectRefusal(await run(['demo', '--port', String(port), '--store', store]), new RegExp(`in use.*${port}`))
  }
})

test('holdfast serve exits with an error if the address is not available on this machine', async () => {
  const ended = await run(['demo', '--port', '0', '--store', 'memory:', '--host', '192.0.2.1', '--insecure-no-auth'])
  expectRefusal(ended, /192\.0\.2\.1/)
})

test('holdfast serve takes the port from the environment, and a flag overrides it', async () => {
  const server = new CommandLine(['demo', '--port', '0'], {
    env: { HOLDFAST_PORT: '1', HOLDFAST_STORE: 'memory:', HOLDFAST_LAB: 'true' },
  })
  const target = { url: await server.url() }
  expect(server.stdout).toContain('memory (lost when this process ends)')
  const { body } = await call<{ components: { id: string }[] }>(target, 'GET', '/components')
  expect(body.components.map(({ id }) => id)).toEqual(expect.arrayContaining(['storyteller', 'lab']))
})

test('holdfast serve obeys SIGTERM from the moment it prints its address', async () => {
  const before = new Set(process.listeners('SIGTERM'))
  const received: (() => void)[] = []
  const stdout = {
    write(text: string) {
      if (!text.includes('Holdfast listens at')) return
      for (const listener of process.listeners('SIGTERM'))
        if (!before.has(listener)) received.push(() => listener('SIGTERM'))
      setImmediate(() => received.forEach((tell) => tell()))
    },
  }
  const argv = ['demo', '--port', '0', '--store', 'memory:', '--log-level', 'silent']
  const code = await runCommand(argv, { stdout, stderr: { write: () => {} }, env: {} })
  expect(received).toHaveLength(1)
  expect(code).toBe(0)
})

test('holdfast demo prints a command to try, and the command works', async () => {
  const server = new CommandLine(['demo', '--port', '0', '--store', 'memory:'])
  const url = await server.url()
  const [, json] = /--json '(\{.+\})'/.exec(server.stdout)!
  const { status, body } = await call<{ id: string }>({ url }, 'POST', '/runs', { body: JSON.parse(json!) })
  expect(status).toBe(202)
  expect(server.stdout).toContain('last-event-id')
  expect((await call({ url }, 'POST', `/runs/${body.id}/stop?wait=5000`)).status).toBe(200)
})

async function makeDatabase(path: string): Promise<void> {
  const store = await openSqliteStore({ path })
  const time = new Date(0).toISOString()
  for (let count = 0; count < 20; count++) await store.create(newRun(`run-${count}`, time))
  await store.close()
}

function execute(path: string, sql: string): void {
  using database = new DatabaseSync(path)
  database.exec(sql)
}

function replaceByForeign(path: string): void {
  rmSync(path)
  execute(path, 'CREATE TABLE notes (text)')
}
