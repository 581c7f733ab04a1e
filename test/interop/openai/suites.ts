/** Third-party suites for servers of this API, against `npm start` with an obedient model. */
import { execFile } from 'node:child_process'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '../../support/free-port.ts'
import { Served } from '../served.ts'
import type { Tally } from '../tally.ts'

export interface Suites {
  /** A server that has the model. */
  readonly model: string
  readonly folder: string
  /** A checkout of Open Responses in a folder with `tsx` and `zod`; skipped if there is none. */
  readonly openResponses?: string
  readonly tally: Tally
}

const COMPATCANARY = 'compatcanary@0.2.2'
const SUITE_MS = 30_000

export async function runSuites(suites: Suites): Promise<void> {
  const port = await freePort()
  const store = join(suites.folder, 'suites.db')
  const place = ['--port', String(port), '--store', `sqlite:${store}`]
  const model = ['--model-url', `${suites.model}/v1`, '--model', 'obedient']
  const server = new Served(port, ['npm', 'start', '--silent', '--', ...place, ...model])
  await server.start()
  try {
    await runCompatcanary(server.url, suites)
    if (suites.openResponses !== undefined) await runOpenResponses(server.url, suites.openResponses, suites.tally)
  } finally {
    await server.kill()
  }
}

interface CanaryReport {
  readonly results: readonly { readonly id: string; readonly status: string; readonly summary: string }[]
}

async function runCompatcanary(url: string, { folder, tally }: Suites): Promise<void> {
  const args = ['exec', '--yes', `--package=${COMPATCANARY}`, '--', 'compatcanary', 'scan']
  const target = ['--base-url', `${url}/v1`, '--model', 'storyteller', '--api-key', 'none', '--profile', 'modern']
  const report = await run<CanaryReport>('npm', [...args, ...target, '--format', 'json', '--fail-on', 'never'], folder)
  for (const { id, status, summary } of report.results)
    tally.add(`${COMPATCANARY}: ${id}`, status === 'pass' ? undefined : `${status}: ${summary}`)
}

interface OpenResponsesReport {
  readonly results: readonly { readonly id: string; readonly status: string; readonly errors?: readonly string[] }[]
}

async function runOpenResponses(url: string, checkout: string, tally: Tally): Promise<void> {
  const tsx = createRequire(join(checkout, 'package.json')).resolve('tsx/cli')
  const args = [tsx, 'bin/compliance-test.ts', '-u', `${url}/v1`, '-k', 'none', '-m', 'storyteller', '--json']
  const report = await run<OpenResponsesReport>(process.execPath, args, checkout)
  for (const { id, status, errors = [] } of report.results)
    tally.add(`Open Responses: ${id}`, status === 'passed' ? undefined : `${status}: ${errors.join('; ')}`)
}

/** JSON output of a suite, also if the suite failed. */
async function run<Report>(program: string, args: readonly string[], cwd: string): Promise<Report> {
  const output = await promisify(execFile)(program, args, { cwd, timeout: SUITE_MS }).then(
    ({ stdout }) => stdout,
    (cause: { readonly stdout?: string; readonly code?: unknown }) => {
      if (typeof cause.code === 'number' && cause.stdout) return cause.stdout
      throw cause
    },
  )
  return JSON.parse(output.slice(output.indexOf('{'))) as Report
}
