/** What `npm run audit:deps` and `npm run sbom` say. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { auditSummary } from '../scripts/audit-summary.ts'

const root = join(import.meta.dirname, '..')

describe('npm run audit:deps', () => {
  test('a registry without an audit endpoint is no failure, and its address is not printed', () => {
    const refusal = JSON.stringify({ message: '405 Method Not Allowed - POST https://mirror.example/audit' })
    const { lines, failed } = auditSummary(refusal, '')
    expect(failed).toBe(false)
    expect(lines.join('\n')).toMatch(/^not audited: /)
    expect(lines.join('\n')).not.toContain('mirror.example')
  })

  test('npm that prints nothing is no failure', () => {
    expect(auditSummary('', '')).toEqual({ lines: [expect.stringMatching(/^not audited/)], failed: false })
  })

  test('a report without vulnerabilities says how many dependencies it covers', () => {
    const report = JSON.stringify({ vulnerabilities: {}, metadata: { dependencies: { prod: 17 } } })
    expect(auditSummary(report, '')).toEqual({
      lines: ['17 runtime dependencies: no known vulnerabilities'],
      failed: false,
    })
  })

  test.each([
    ['low', false],
    ['moderate', true],
    ['critical', true],
  ])('a vulnerability of severity %s: the command fails: %s', (severity, failed) => {
    const via = [{ title: 'denial of service', url: 'https://advisories.example/1' }]
    const report = JSON.stringify({ vulnerabilities: { ws: { name: 'ws', severity, range: '<9', via } } })
    const summary = auditSummary(report, '')
    expect(summary.failed).toBe(failed)
    expect(summary.lines[1]).toBe(`${severity}: ws <9: denial of service https://advisories.example/1`)
  })
})

interface Bom {
  readonly bomFormat: string
  readonly metadata: { readonly component: { readonly name: string } }
  readonly components: readonly { readonly name: string; readonly version: string }[]
}

test('npm run sbom lists the runtime dependencies, no others, and no registry', () => {
  const text = execFileSync(process.execPath, ['scripts/sbom.ts', '--stdout'], { cwd: root, encoding: 'utf8' })
  const { bomFormat, metadata, components } = JSON.parse(text) as Bom
  const { name, dependencies, devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly name: string
    readonly dependencies: Record<string, string>
    readonly devDependencies: Record<string, string>
  }
  const names = components.map((component) => component.name)
  expect(bomFormat).toBe('CycloneDX')
  expect(metadata.component.name).toBe(name)
  expect(names).toEqual(expect.arrayContaining(Object.keys(dependencies)))
  expect(names.filter((each) => Object.hasOwn(devDependencies, each))).toEqual([])
  expect(text).not.toMatch(/\.tgz|registry/)
})
