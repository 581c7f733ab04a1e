/**
 * `npm run audit:deps [-- --registry URL | --report FILE]`: known vulnerabilities of the runtime dependencies, as a registry reports
 * them. Exits with 1 on any of severity moderate or higher, and with 3 when nothing was audited: mirrors often have no audit endpoint.
 * Then ask another registry, or, without a network, give a report that `npm audit --omit=dev --json` wrote elsewhere.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { auditExitCodes, auditSummary } from './audit-summary.ts'
import { root } from './command.ts'

const AUDIT_MS_MAX = 120_000

const { values } = parseArgs({ options: { registry: { type: 'string' }, report: { type: 'string' } } })
const { stdout, stderr } = values.report === undefined ? askRegistry() : { stdout: read(values.report), stderr: '' }
const { lines, result } = auditSummary(stdout, stderr)
for (const line of lines) console.log(line)
if (result === 'not audited')
  console.log(
    'use another registry with --registry URL, or pass a report of npm audit --omit=dev --json with --report FILE',
  )
process.exit(auditExitCodes[result])

function askRegistry(): { readonly stdout: string; readonly stderr: string } {
  const where = values.registry === undefined ? [] : [`--registry=${values.registry}`]
  return spawnSync('npm', ['audit', '--omit=dev', '--json', ...where], {
    cwd: root,
    encoding: 'utf8',
    timeout: AUDIT_MS_MAX,
  })
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    console.error(`the report cannot be read: ${String(cause)}`)
    process.exit(2)
  }
}
