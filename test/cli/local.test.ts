/** Commands without a server: they open the store themselves, and change it only if requested. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer as createNetServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, onTestFinished, test } from 'vitest'
import { migrate as migrateTo, SCHEMA_VERSION } from '../../src/stores/sqlite/tables/schema.ts'
import { getRun, startRun, untilFinished, untilStatus } from '../support/http.ts'
import { serveInProcess } from '../support/in-process.ts'
import { temporaryDatabase, temporaryFolder } from '../support/temporary.ts'
import { until } from '../support/until.ts'
import { callWith, NOBODY } from './called.ts'
import { CommandLine, root, run } from './command-line.ts'

const call = callWith(NOBODY)

/** A store with a finished run, a paused one, and one that a shutdown interrupted. */
async function leftBehind(): Promise<{ path: string; store: string; done: string; paused: string; running: string }> {
  const path = temporaryDatabase()
  const server = await serveInProcess({ path })
  const done = (await startRun(server, 'say hello')).id
  const paused = (await startRun(server, 'ask Shall I?; say on', { component: 'lab-resume' })).id
  const running = (await startRun(server, 'text 3; sleep 100000', { component: 'lab-resume' })).id
  await untilFinished(server, done)
  await untilStatus(server, paused, ['paused'])
  await until('it has begun', async () => (await getRun(server, running)).events > 4)
  await server.close()
  return { path, store: `sqlite:${path}`, done, paused, running }
}

describe('the CLI on a store that no server has open', () => {
  test('[RUN-1] reads it without executing or ending any run', async () => {
    const { path, store, done, paused, running } = await leftBehind()
    const { stdout } = await call('runs', '--store', store)
    expect(stdout).toMatch(
      new RegExp(`${running} +lab-resume +running[^]*${paused} +lab-resume +paused[^]*${done} +lab +completed`),
    )
    for (const id of [done, paused, running])
      expect(await call('show', id, '--store', store)).toMatchObject({ code: 0 })
    expect(await call('replay', done, '--speed', '0', '--store', store)).toMatchObject({ code: 0, stdout: 'hello\n' })
    const server = await serveInProcess({ path })
    expect(await getRun(server, paused)).toMatchObject({ status: 'paused' })
    expect(await getRun(server, running)).toMatchObject({ status: 'running' })
  })

  test('finds the default store when no server responds, and the one in HOLDFAST_STORE', async () => {
    const { store, done } = await leftBehind()
    expect((await callWith({ ...NOBODY, HOLDFAST_STORE: store })('runs')).stdout).toContain(done)
  })

  test('[RUN-2] stops its runs', async () => {
    const { path, store, paused, running } = await leftBehind()
    for (const id of [paused, running])
      expect(await call('stop', id, '--store', store)).toMatchObject({ code: 0, stdout: `${id} was stopped\n` })
    const server = await serveInProcess({ path })
    for (const id of [paused, running]) expect(await getRun(server, id)).toMatchObject({ status: 'cancelled' })
  })

  test('explains how to provide the components that executing a run needs', async () => {
    const { store, paused } = await leftBehind()
    for (const argv of [
      ['run', 'lab', 'x'],
      ['answer', paused, 'yes'],
    ]) {
      const { code, stderr } = await call(...argv, '--store', store)
      expect(code).toBe(1)
      expect(stderr).toMatch(/no server is running: .*holdfast serve FILE.*--url.*--file FILE/)
    }
  })

  test('explains what to do if the store is in use or does not exist', async () => {
    const path = temporaryDatabase()
    expect((await call('runs', '--store', `sqlite:${path}`)).stderr).toMatch(
      /there is no store .*: start a server with {2}holdfast serve FILE/,
    )
    expect((await callWith({ ...NOBODY, HOLDFAST_STORE: 'memory:' })('runs')).stderr).toMatch(
      /no server is running at http:\/\/127\.0\.0\.1:1, and a memory store exists only in its server/,
    )
    expect(existsSync(path)).toBe(false)
    await serveInProcess({ path })
    expect((await call('runs', '--store', `sqlite:${path}`)).stderr).toMatch(/in use by another process.*--url/)
  })
})

const AGENTS = `
import { agent } from ${JSON.stringify(join(root, 'src/index.ts'))}
export const echo = agent({ id: 'echo', async *run(input) { yield 'You said ' + input } })
export const asker = agent({ id: 'asker', recovery: 'resume', async *run(_, { ask }) { yield 'well '; yield String(await ask('Sure?')) } })
export const patient = agent({ id: 'patient', recovery: 'resume', async *run(_, { step }) { yield 'begun '; await step('wait', () => new Promise((done) => setTimeout(done, globalThis.process.env.LONG ? 1e8 : 1))); yield 'done' } })
`

describe('holdfast run --file', () => {
  test('executes a run in this process and answers it from another one', async () => {
    const folder = temporaryFolder()
    writeFileSync(join(folder, 'agents.ts'), AGENTS)
    const options = { cwd: folder, env: NOBODY }
    expect(await run(['run', 'echo', 'hello', '--file', 'agents.ts'], options)).toMatchObject({
      code: 0,
      stdout: 'You said hello\n',
    })
    expect(await run(['run', 'echo', 'hello', '--file', 'agents.ts', '--detach'], options)).toMatchObject({ code: 2 })
    const asked = await run(['run', 'asker', 'x', '--file', 'agents.ts'], options)
    expect(asked).toMatchObject({ code: 6, stdout: 'well \n' })
    const id = /run_[0-9a-z]{26}/.exec(asked.stderr)![0]
    expect(await run(['answer', id, 'yes', '--file', 'agents.ts'], options)).toMatchObject({ code: 0, stdout: 'yes\n' })
  })

  test('[SEC-3] redacts the fields named in HOLDFAST_REDACT', async () => {
    const [store, file] = [`sqlite:${temporaryDatabase()}`, join(temporaryFolder(), 'agents.ts')]
    writeFileSync(file, AGENTS)
    const redacting = callWith({ ...NOBODY, HOLDFAST_REDACT: 'card-numbers' })
    const { stdout } = await redacting('run', 'echo', 'my 4242 4242 4242 4242', '--file', file, '--store', store)
    expect(stdout).toBe('You said my [redacted:card-number]\n')
  })

  test('[RUN-1] leaves runs of other workers alone', async () => {
    const { path, store, running } = await leftBehind()
    const file = join(temporaryFolder(), 'agents.ts')
    writeFileSync(file, AGENTS)
    expect(await call('run', 'echo', 'hello', '--file', file, '--store', store)).toMatchObject({ code: 0 })
    const server = await serveInProcess({ path })
    expect(await getRun(server, running)).toMatchObject({ status: 'running' })
  })

  test('[RUN-1] hands the run over on Ctrl-C, and a worker resumes it', async () => {
    const folder = temporaryFolder()
    writeFileSync(join(folder, 'agents.ts'), AGENTS)
    const first = new CommandLine(['run', 'patient', 'x', '--file', 'agents.ts'], {
      cwd: folder,
      env: { ...NOBODY, LONG: '1' },
    })
    await until('it has begun', () => first.stdout.includes('begun'), { withinMs: 180_000 })
    first.kill('SIGINT')
    const ended = await first.ended()
    expect(ended.code).toBe(130)
    expect(ended.stderr).toContain('The next server on this store recovers it')
    const id = /run_[0-9a-z]{26}/.exec(ended.stderr)![0]
    const worker = new CommandLine(['worker', 'agents.ts', '--drain-timeout', '15s'], { cwd: folder })
    await until('it works', () => worker.stdout.includes('executes asker, echo, patient'), { withinMs: 180_000 })
    worker.kill('SIGTERM')
    const left = await worker.ended()
    expect(left.code).toBe(0)
    expect(left.stderr).toMatch(
      /\.holdfast\/holdfast\.db is for one process: while this worker uses it, no server can open it/,
    )
    const tail = await run(['tail', id], { cwd: folder, env: NOBODY })
    expect(tail).toMatchObject({ code: 0, stdout: 'begun done\n' })
    expect(tail.stderr).toContain('started again, attempt 2')
  })
})

test('holdfast worker rejects an in-memory store and one that a server has open', async () => {
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'agents.ts'), AGENTS)
  expect(await run(['worker', 'agents.ts', '--store', 'memory:'], { cwd: folder })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('has no runs for a worker') as string,
  })
  const path = temporaryDatabase()
  await serveInProcess({ path })
  expect(await run(['worker', 'agents.ts', '--store', `sqlite:${path}`], { cwd: folder })).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('is in use by another process') as string,
  })
})

test('holdfast gc trims finished runs now and leaves the others alone', async () => {
  const { store, done, paused } = await leftBehind()
  expect(await call('gc', '--store', store, '--retain', '30d', '--now')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('trimmed 0 runs') as string,
  })
  expect(await call('gc', '--store', store, '--retain', '1ms', '--now')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('trimmed 1 run;') as string,
  })
  expect((await call('show', done, '--store', store)).stdout).toMatch(/Events before \d were trimmed/)
  expect((await call('show', paused, '--store', store)).stdout).toContain('? Shall I?')
  expect(await call('export', done, '--store', store)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('was trimmed') as string,
  })
})

describe('holdfast migrate', () => {
  test('upgrades an older file and prints both versions', async () => {
    const path = temporaryDatabase()
    const old = new DatabaseSync(path)
    migrateTo(old, path, 1)
    old.close()
    const store = `sqlite:${path}`
    expect((await call('doctor', '--store', store)).stdout).toMatch(
      /! store .* has schema 1 of \d+\n +→ migrate it with holdfast migrate/,
    )
    expect(await call('migrate', '--store', store)).toMatchObject({
      code: 0,
      stdout: `${store}: migrated from schema 1 to ${SCHEMA_VERSION}\n`,
    })
    expect(await call('migrate', '--store', store)).toMatchObject({
      code: 0,
      stdout: `${store} is up to date: schema ${SCHEMA_VERSION}\n`,
    })
  })

  test('rejects a file of a newer version, a missing file, and one in use', async () => {
    const { path, store } = await leftBehind()
    expect((await call('migrate', '--store', `sqlite:${path}.none`)).stderr).toContain('there is no store')
    const server = await serveInProcess({ path })
    expect((await call('migrate', '--store', store)).stderr).toContain('is in use by another process')
    await server.close()
    const database = new DatabaseSync(path)
    database.exec('PRAGMA user_version = 99')
    database.close()
    expect(await call('migrate', '--store', store)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('written by a newer Holdfast') as string,
    })
  })
})

describe('holdfast doctor', () => {
  test('reports no problem for a healthy store and a free port', async () => {
    const { store } = await leftBehind()
    const port = await freePort()
    const { code, stdout } = await callWith({ HOLDFAST_PORT: String(port) })('doctor', '--store', store)
    expect(stdout).toMatch(
      /✓ node .*\n✓ store .*schema \d+\n✓ store .*all checksums match.*\n✓ disk .* free\n✓ port +\d+ is free\n[^]*No problems found\.\n$/,
    )
    expect(code).toBe(0)
  })

  test('reports a damaged store and an occupied port, with what to do', async () => {
    const { path, store } = await leftBehind()
    const bytes = readFileSync(path)
    writeFileSync(path, bytes.subarray(0, bytes.length / 2))
    const { port, close } = await listening()
    const { code, stdout } = await callWith({ HOLDFAST_PORT: String(port) })('doctor', '--store', store)
    expect(stdout).toMatch(/✗ store .*is damaged.*\n +→ /)
    expect(stdout).toMatch(
      new RegExp(`✗ port +${port} cannot be used: .*EADDRINUSE.*\\n +→ stop the program that uses it`),
    )
    expect(stdout).toContain('2 problems found.')
    expect(code).toBe(1)
    expect(readFileSync(path).length).toBe(Math.floor(bytes.length / 2))
    close()
  })

  test('checks a server and its streams, and detects proxies', async () => {
    const server = await serveInProcess()
    const { id } = await startRun(server, 'hang')
    await untilStatus(server, id, ['running'])
    const { code, stdout } = await callWith({ HTTPS_PROXY: 'http://proxy:1' })('doctor', '--url', server.url)
    expect(stdout).toMatch(/✓ server .* is up; running runs: 1\n✓ version .*\n✓ streams +not buffered/)
    expect(stdout).toMatch(/! proxy +HTTPS_PROXY: set, but ignored by Node\n +→ set NODE_USE_ENV_PROXY=1/)
    expect(code).toBe(0)
    await server.service.stop({ id: 'local' }, id)
    expect(await call('doctor', '--url', 'http://127.0.0.1:7')).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/✗ server .*is not reachable/) as string,
    })
  })
})

async function listening(): Promise<{ readonly port: number; readonly close: () => void }> {
  const server = createNetServer((socket) => socket.destroy())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return { port: (server.address() as AddressInfo).port, close: () => server.close() }
}

async function freePort(): Promise<number> {
  const { port, close } = await listening()
  close()
  return port
}
