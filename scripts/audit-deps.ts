/**
 * `npm run audit:deps`: known vulnerabilities of the runtime dependencies, as the registry reports them. Fails on any of severity
 * moderate or higher. A registry without an audit endpoint cannot be asked: that is said, and is no failure.
 */
import { spawnSync } from 'node:child_process'
import { auditSummary } from './audit-summary.ts'
import { root } from './command.ts'

const AUDIT_MS_MAX = 120_000

const { stdout, stderr } = spawnSync('npm', ['audit', '--omit=dev', '--json'], {
  cwd: root,
  encoding: 'utf8',
  timeout: AUDIT_MS_MAX,
})
const { lines, failed } = auditSummary(stdout, stderr)
for (const line of lines) console.log(line)
process.exit(failed ? 1 : 0)
