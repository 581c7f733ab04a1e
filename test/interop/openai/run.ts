/** `npm run interop:openai`: OpenAI's Python package, a framework on top of it, and suites for servers of this API. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { splitBytes } from '../../protocols/openai/split-bytes.ts'
import { ensurePython } from '../../support/python.ts'
import { until } from '../../support/until.ts'
import { freePort } from '../../support/free-port.ts'
import { root, Served } from '../served.ts'
import { Tally } from '../tally.ts'
import { runPythonChecks } from '../python-checks.ts'
import { runSuites } from './suites.ts'

/** Each group of those that are written in Python; both run at once. */
const CHECKS_MS = 120_000
const DRAINED_MS = 30_000

const { values } = parseArgs({ options: { 'open-responses': { type: 'string' } } })
// Sources are stripped of their types once, not at each start.
process.env['NODE_COMPILE_CACHE'] ??= join(root, 'node_modules/.cache/holdfast-test-servers')
const tally = new Tally()
const folder = mkdtempSync(join(tmpdir(), 'holdfast-interop-openai-'))
const servers = { answers: await serverFor('answers'), deaths: await serverFor('deaths') }
try {
  const python = await ensurePython(join(import.meta.dirname, 'requirements.txt'))
  await Promise.all([runChecks(python, 'answers'), runChecks(python, 'deaths')])
  const checkout = values['open-responses']
  await runSuites({
    model: servers.answers.url,
    folder,
    tally,
    ...(checkout !== undefined && { openResponses: resolve(checkout) }),
  })
} catch (cause) {
  tally.add('all of it is run', String(cause))
} finally {
  await Promise.all([servers.answers.kill(), servers.deaths.kill()])
  rmSync(folder, { recursive: true, force: true })
}
process.exitCode = tally.report('openai')

async function serverFor(name: string): Promise<Served> {
  const port = await freePort()
  const program = join(import.meta.dirname, 'server.ts')
  return new Served(port, [process.execPath, program, String(port), join(folder, `${name}.db`)])
}

/** A group of checks; those about deaths have a server that they may have killed. */
async function runChecks(python: string, group: keyof typeof servers): Promise<void> {
  const server = servers[group]
  await server.start()
  const relay = await splitBytes(server.url)
  const deeds = { kill: () => server.kill(), drain: () => drain(server), start: () => server.restart() }
  try {
    await runPythonChecks({
      python,
      folder: import.meta.dirname,
      args: [group, server.url, relay.url],
      withinMs: CHECKS_MS,
      name: 'Python',
      tally,
      deeds,
    })
  } finally {
    await relay.close()
  }
}

/** Sends SIGTERM, and waits until the server has exited. */
async function drain({ pid }: Served): Promise<void> {
  process.kill(pid, 'SIGTERM')
  await until('the server is gone', async () => !isAlive(pid), { withinMs: DRAINED_MS })
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
