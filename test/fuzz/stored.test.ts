/** Nodes on a damaged database respond or reject it in bounded time, do not crash, and mix up no runs. */
import { type ChildProcess, fork } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { assertHolds, fuzzSeconds, fuzzTimeoutMs } from './check.ts'
import { Crash } from './server.ts'
import { type Damage, fileDamage, inflict, rowDamage } from './stored-damage.ts'
import type { MadeRun, StoredJob, StoredReply } from './stored-messages.ts'
import { withTimeout } from './timeout.ts'

const seconds = fuzzSeconds(5)
const folder = mkdtempSync(join(tmpdir(), 'holdfast-fuzz-'))
const program = join(import.meta.dirname, 'stored-program.ts')
const JOB_MS_MAX = 90_000
let child: ChildProcess | undefined
let made: { readonly copy: string; readonly runs: readonly MadeRun[] } | undefined
let copies = 0

afterAll(async () => {
  await end()
  rmSync(folder, { recursive: true, force: true })
})

test.each([
  ['rows', rowDamage],
  ['bytes of the file', fileDamage],
] as const)(
  'fuzz: damaged %s of a database end no process and mix up no runs',
  { timeout: fuzzTimeoutMs(seconds) },
  async (what, damage) => {
    await database()
    await assertHolds(`stored ${what}`, damage, seconds, opened)
  },
)

/** Starts a node on a copy with this damage and checks its responses. */
async function opened(damages: readonly Damage[]): Promise<void> {
  const { copy, runs } = await database()
  const path = join(folder, `damaged-${++copies}.db`)
  for (const suffix of ['', '-wal']) if (existsSync(copy + suffix)) cpSync(copy + suffix, path + suffix)
  try {
    inflict(path, damages)
  } catch {
    // The damage before it went so deep that SQLite refuses the file.
  }
  const reply = await ask({ does: 'read', path, runs: runs.map(({ id }) => id) })
  for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true })
  if (!('logs' in reply)) return // refused, which is an answer too
  for (const { id, mark } of runs) {
    const marks = new Set([...(reply.logs[id] ?? '').matchAll(/mark-\d-/g)].map(([found]) => found))
    marks.delete(mark)
    expect([...marks], `marks of other runs in the log of ${id}, ${mark}`).toEqual([])
  }
}

async function database(): Promise<NonNullable<typeof made>> {
  if (made !== undefined) return made
  const copy = join(folder, 'crashed.db')
  const reply = await ask({ does: 'make', path: join(folder, 'whole.db'), copy })
  if (!('made' in reply)) throw new Error(JSON.stringify(reply))
  made = { copy, runs: reply.made }
  return made
}

async function ask(job: StoredJob): Promise<StoredReply> {
  child ??= fork(program, { execArgv: [], stdio: ['ignore', 'ignore', 'pipe', 'ipc'] })
  const asked = child
  const { promise, resolve, reject } = Promise.withResolvers<StoredReply>()
  let output = ''
  const onOutput = (chunk: Buffer): void => void (output = (output + chunk.toString()).slice(-4000))
  const onMessage = (message: unknown): void => resolve(message as StoredReply)
  const onExit = (code: number | null, signal: string | null): void =>
    reject(new Crash(`the node ended (${code ?? signal})\n${output}`))
  asked.stderr!.on('data', onOutput)
  asked.once('message', onMessage).once('exit', onExit)
  asked.send(job)
  try {
    return await withTimeout(promise, JOB_MS_MAX, 'the node did not answer')
  } catch (cause) {
    await end()
    throw cause
  } finally {
    asked.stderr!.off('data', onOutput)
    asked.off('message', onMessage).off('exit', onExit)
  }
}

async function end(): Promise<void> {
  const ended = child
  child = undefined
  if (ended === undefined || ended.exitCode !== null || ended.signalCode !== null) return
  const exited = new Promise((resolve) => ended.once('exit', resolve))
  ended.kill('SIGKILL')
  await exited
}
