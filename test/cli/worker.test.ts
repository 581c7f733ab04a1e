/** Servers that execute no runs and workers without HTTP, on one store. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { getRun, readLog, eventsIn, startRun, untilFinished } from '../support/http.ts'
import { startPostgres } from '../support/postgres.ts'
import { temporaryFolder } from '../support/temporary.ts'
import { until } from '../support/until.ts'
import { CommandLine } from './command-line.ts'

const postgres = await startPostgres()

test('[RUN-1] holdfast worker executes the runs that a server accepts, and another worker takes over when it is killed', async () => {
  const cwd = temporaryFolder()
  writeFileSync(join(cwd, 'agents.mjs'), `export const silent = { id: 'silent', kind: 'agent', async *run() {} }\n`)
  const shared = ['--store', postgres.url, '--lab']
  const server = new CommandLine(['serve', 'agents.mjs', '--port', '0', '--max-runs', '0', ...shared], { cwd })
  const at = { url: await server.url() }
  // It sleeps for long enough to be killed meanwhile, also on a busy machine.
  const { id } = await startRun(at, 'text 5 every 20; step pay; sleep 10000; text 5', { component: 'lab-resume' })
  expect(await getRun(at, id)).toMatchObject({ status: 'queued' })
  const first = new CommandLine(['worker', 'agents.mjs', ...shared], { cwd })
  await until('it is at work', async () => (await getRun(at, id)).events > 8, { withinMs: 180_000 })
  first.kill('SIGKILL')
  const second = new CommandLine(['worker', 'agents.mjs', ...shared], { cwd })
  await untilFinished(at, id, 60_000)
  const log = eventsIn(await readLog(at, id))
  expect(log.filter(({ type }) => type === 'run.started')).toHaveLength(2)
  expect(log.filter(({ type }) => type === 'text.delta')).toHaveLength(10)
  expect(log.filter(({ type }) => type === 'step.completed')).toHaveLength(1)
  expect(log.at(-1)).toMatchObject({ type: 'run.completed' })
  second.kill('SIGTERM')
  expect((await second.ended()).code).toBe(0)
})
