/** `npm run interop:a2a`, row 9 of the matrix: the official Python client with our server, and our client with the official Python server. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { A2aClient } from '../../../src/a2a/index.ts'
import { ensurePython, startPythonServer } from '../../support/python.ts'
import { runPython } from '../python-lines.ts'
import { freePort } from '../../support/free-port.ts'
import { npmStart } from '../served.ts'
import { Tally } from '../tally.ts'
import { checks, checksOverHttp } from './checks.ts'

const CHECKS_MS = 120_000
const python = await ensurePython(join(import.meta.dirname, 'python/requirements.txt'))
const tally = new Tally()
const folder = mkdtempSync(join(tmpdir(), 'holdfast-interop-a2a-'))
try {
  await theirClient()
  await ourClient()
} catch (cause) {
  tally.add('all of it is run', String(cause))
} finally {
  rmSync(folder, { recursive: true, force: true })
}
process.exitCode = tally.report('a2a')

async function theirClient(): Promise<void> {
  const grpc = ['--a2a-default', 'lab', '--a2a-grpc-port', String(await freePort())]
  const server = npmStart(await freePort(), join(folder, 'runs.db'), ...grpc)
  await server.start()
  try {
    for (const binding of ['JSONRPC', 'HTTP+JSON', 'GRPC']) {
      const args = ['python/client.py', `${server.url}/a2a/lab`, binding]
      const problem = await runPython(
        { python, args, folder: import.meta.dirname, withinMs: CHECKS_MS },
        async (line) => {
          const { title, problem: why } = line as { readonly title: string; readonly problem?: string }
          tally.add(`row 9: the Python client over ${title}`, why)
          return undefined
        },
      )
      if (problem !== undefined) tally.add(`row 9: the Python client over ${binding}: all checks are run`, problem)
    }
  } finally {
    await server.kill()
  }
}

async function ourClient(): Promise<void> {
  const server = await startPythonServer(python, [join(import.meta.dirname, 'python/agent.py')])
  try {
    for (const [version, binding] of [
      ['1.0', 'JSONRPC'],
      ['1.0', 'HTTP+JSON'],
      ['1.0', 'GRPC'],
      ['0.3', 'JSONRPC'],
      ['0.3', 'HTTP+JSON'],
    ] as const) {
      const options = { bindings: [binding], versions: [version], retryDelayMs: 20, pollIntervalMs: 50 }
      for (const [title, check] of Object.entries({ ...checks, ...(binding !== 'GRPC' && checksOverHttp) })) {
        const client = await A2aClient.connect(server.url, options)
        const problem = await check(client, server.url, options).then(
          () => undefined,
          (cause: unknown) => String((cause as Error).stack ?? cause),
        )
        client.close()
        tally.add(`row 9: our client of ${version} over ${binding} and the Python server: ${title}`, problem)
      }
    }
  } finally {
    await server.kill()
  }
}
