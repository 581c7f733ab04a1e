/** `npm run interop:agno`: agno's own client library, and clients as agno writes them, against `npm start`. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { ensurePython } from '../../support/python.ts'
import { runScripts } from './cookbook.ts'
import { drive } from './python.ts'
import { freePort } from '../../support/free-port.ts'
import { npmStart } from '../served.ts'
import { Tally } from '../tally.ts'

/** Both major versions are in use; their packages differ, and so do their clients. */
const versions = { 'agno 3': 'agno-3.txt', 'agno 2': 'agno-2.txt' }
/** All checks of one version. */
const CHECKS_MS = 120_000

const { values } = parseArgs({ options: { 'agno-checkout': { type: 'string', multiple: true } } })
const tally = new Tally()
const folder = mkdtempSync(join(tmpdir(), 'holdfast-interop-agno-'))
try {
  await Promise.all(
    Object.entries(versions).map(([version, requirements]) =>
      runVersion(version, requirements).catch((cause: unknown) => tally.add(`${version}: can be run`, String(cause))),
    ),
  )
  for (const checkout of values['agno-checkout'] ?? []) await runScripts(checkout, folder, tally)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
process.exitCode = tally.report()

interface Checked {
  readonly title: string
  readonly problem?: string
}

async function runVersion(version: string, requirements: string): Promise<void> {
  const python = await ensurePython(join(import.meta.dirname, requirements))
  const server = npmStart(await freePort(), join(folder, `${requirements}.db`))
  await server.start()
  try {
    const args = ['-m', 'checks', server.url]
    const unfinished = await drive({ python, args, server, timeoutMs: CHECKS_MS }, (line) => {
      const { title, problem } = line as Checked
      tally.add(`${version}: ${title}`, problem)
    })
    if (unfinished !== undefined) tally.add(`${version}: all checks are run`, unfinished)
  } finally {
    await server.kill()
  }
}
