/** Summarizes `npm audit --json`. */

export interface AuditSummary {
  readonly lines: readonly string[]
  readonly result: 'clean' | 'vulnerable' | 'not audited'
}

/** Lets a pipeline distinguish a registry without audit endpoint from a vulnerable dependency. */
export const auditExitCodes = { clean: 0, vulnerable: 1, 'not audited': 3 } as const

interface Vulnerability {
  readonly name: string
  readonly severity: string
  readonly range: string
  readonly via: readonly (string | { readonly title: string; readonly url: string })[]
}

interface AuditReport {
  readonly vulnerabilities?: Readonly<Record<string, Vulnerability>>
  readonly metadata?: { readonly dependencies?: { readonly prod?: number } }
  readonly message?: string
  readonly error?: { readonly summary?: string }
}

/** Lower severities are reported but do not fail the command. */
const FAILING: readonly string[] = ['moderate', 'high', 'critical']

export function auditSummary(stdout: string, stderr: string): AuditSummary {
  const report = parsed(stdout)
  if (report?.vulnerabilities === undefined) {
    const why = report?.message ?? report?.error?.summary ?? stderr.trim().split('\n').at(-1) ?? ''
    return {
      lines: [`not audited: the registry gave no audit report${why === '' ? '' : ` (${withoutAddresses(why)})`}`],
      result: 'not audited',
    }
  }
  const found = Object.values(report.vulnerabilities)
  const checked = `${report.metadata?.dependencies?.prod ?? 'all'} runtime dependencies`
  if (found.length === 0) return { lines: [`${checked}: no known vulnerabilities`], result: 'clean' }
  const lines = found.map(({ name, severity, range, via }) => {
    const causes = via.map((cause) => (typeof cause === 'string' ? `through ${cause}` : `${cause.title} ${cause.url}`))
    return `${severity}: ${name} ${range}: ${causes.join('; ')}`
  })
  return {
    lines: [`${checked}: ${found.length} with known vulnerabilities`, ...lines],
    result: found.some(({ severity }) => FAILING.includes(severity)) ? 'vulnerable' : 'clean',
  }
}

function parsed(text: string): AuditReport | undefined {
  try {
    return JSON.parse(text) as AuditReport
  } catch {
    return undefined
  }
}

/** Hides the registry's address. */
function withoutAddresses(text: string): string {
  return text.replaceAll(/https?:\/\/\S+/g, 'the registry').slice(0, 200)
}
