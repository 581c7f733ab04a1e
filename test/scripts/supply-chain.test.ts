/** Output of `npm run audit:deps` and `npm run sbom`. */
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { auditSummary } from '../../scripts/audit-summary.ts'
import { temporaryFolder } from '../support/temporary.ts'

const root = join(import.meta.dirname, '../..')

describe('npm run audit:deps', () => {
  test('reports a registry without an audit endpoint, and does not print its address', () => {
    const refusal = JSON.stringify({ message: '405 Method Not Allowed - POST https://mirror.example/audit' })
    const { lines, result } = auditSummary(refusal, '')
    expect(result).toBe('not audited')
    expect(lines.join('\n')).toMatch(/^not audited: /)
    expect(lines.join('\n')).not.toContain('mirror.example')
  })

  test('treats npm without output as no audit', () => {
    expect(auditSummary('', '')).toEqual({ lines: [expect.stringMatching(/^not audited/)], result: 'not audited' })
  })

  test('reports how many dependencies a report without vulnerabilities covers', () => {
    const report = JSON.stringify({ vulnerabilities: {}, metadata: { dependencies: { prod: 17 } } })
    expect(auditSummary(report, '')).toEqual({
      lines: ['17 runtime dependencies: no known vulnerabilities'],
      result: 'clean',
    })
  })

  test.each([
    ['low', 'clean', 0],
    ['moderate', 'vulnerable', 1],
    ['critical', 'vulnerable', 1],
  ])('exits for a vulnerability of severity %s with %s and the code %i', (severity, result, code) => {
    const via = [{ title: 'denial of service', url: 'https://advisories.example/1' }]
    const report = JSON.stringify({ vulnerabilities: { ws: { name: 'ws', severity, range: '<9', via } } })
    const summary = auditSummary(report, '')
    expect(summary.result).toBe(result)
    expect(summary.lines[1]).toBe(`${severity}: ws <9: denial of service https://advisories.example/1`)
    const path = join(temporaryFolder(), 'audit.json')
    writeFileSync(path, report)
    expect(spawnSync(process.execPath, ['scripts/audit-deps.ts', '--report', path], { cwd: root }).status).toBe(code)
  })

  test.each([
    ['that answers audits', 200, 0, /^\d+ runtime dependencies: no known vulnerabilities/],
    ['without an audit endpoint', 405, 3, /^not audited: /],
  ])('the audit reports its result for a registry %s', { timeout: 120_000 }, async (_name, status, code, says) => {
    const requested: string[] = []
    const registry = createServer((request, response) => {
      requested.push(request.url!)
      request.resume().once('end', () => response.writeHead(status, { 'content-type': 'application/json' }).end('{}'))
    }).listen(0, '127.0.0.1')
    onTestFinished(() => void registry.close())
    await once(registry, 'listening')
    const url = `http://127.0.0.1:${(registry.address() as AddressInfo).port}/`
    const child = spawn(process.execPath, ['scripts/audit-deps.ts', '--registry', url], { cwd: root })
    let output = ''
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
    const [exit] = (await once(child, 'close')) as [number]
    expect(output).toMatch(says)
    expect(exit).toBe(code)
    expect(requested[0]).toMatch(/security/)
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
