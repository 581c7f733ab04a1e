/**
 * `npm run interop:mount [-- --only frameworks|templates|agno]`: Next.js itself, the templates of `holdfast new` that need it
 * or Vite, and agno's client against an instance inside Express. Other frameworks are in `npm test`:
 * their packages are small.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { freePort } from '../../support/free-port.ts'
import { ensurePython } from '../../support/python.ts'
import { drive } from '../agno/python.ts'
import { Served } from '../served.ts'
import { Tally } from '../tally.ts'
import { checkNext } from './next.ts'
import { checkNextChat } from './next-chat.ts'
import { ensureProject } from './project.ts'
import { checkTemplates } from './templates.ts'

/** All checks of agno. */
const CHECKS_MS = 120_000

const parts = { frameworks, templates: () => checkTemplates(tally), agno }
const { values } = parseArgs({ options: { only: { type: 'string' } } })

const tally = new Tally()
const folder = mkdtempSync(join(tmpdir(), 'holdfast-interop-mount-'))
try {
  const wanted = Object.entries(parts).filter(([name]) => (values.only ?? name) === name)
  for (const [, check] of wanted) await check()
} catch (cause) {
  tally.add('all of it is run', String(cause))
} finally {
  rmSync(folder, { recursive: true, force: true })
}
process.exitCode = tally.report('mount')

async function frameworks(): Promise<void> {
  const project = await ensureProject()
  await checkNext(project, tally)
  await checkNextChat(project, tally)
}

async function agno(): Promise<void> {
  const python = await ensurePython(join(import.meta.dirname, '../agno/agno-3.txt'))
  const port = await freePort()
  const program = join(import.meta.dirname, 'lab-in-express.ts')
  const server = new Served(port, ['node', program, String(port), join(folder, 'agno.db')], '/api/agents')
  await server.start()
  try {
    const args = ['-m', 'checks', server.url]
    const unfinished = await drive({ python, args, server, timeoutMs: CHECKS_MS }, (line) => {
      const { title, problem } = line as { readonly title: string; readonly problem?: string }
      tally.add(`agno, inside Express at /api/agents: ${title}`, problem)
    })
    if (unfinished !== undefined) tally.add('agno, inside Express: all checks are run', unfinished)
  } finally {
    await server.kill()
  }
}
