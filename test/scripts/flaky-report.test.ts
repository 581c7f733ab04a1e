import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type FlakyRun, flakyReport } from '../../scripts/flaky-report.ts'
import { readResults } from '../../scripts/flaky-results.ts'
import { keepRuns, readRuns } from '../../scripts/flaky-runs.ts'
import { temporaryFolder } from '../support/temporary.ts'

const root = join(import.meta.dirname, '../..')

function runOf(number: number, more: Partial<FlakyRun> = {}): FlakyRun {
  return {
    number,
    commit: 'abc1234',
    startedAt: '2026-01-02T03:04:05.678Z',
    selected: [],
    cores: 2,
    othersLoad: 0.05,
    busyProcesses: 0,
    passed: true,
    durationMs: 90_000,
    cpuMs: 120_000,
    counts: { passed: 1, failed: 0, skipped: 0 },
    failures: [],
    slowest: [{ test: 'a.test.ts: one | two', durationMs: 1500 * number }],
    mostCpu: [{ file: 'a.test.ts', cpuMs: 700 * number }],
    ...more,
  }
}

function redRunOf(number: number, more: Partial<FlakyRun> = {}): FlakyRun {
  const failure = { file: 'a.test.ts', title: 'one | two', durationMs: 3000, error: 'Error: late', seeds: ['42'] }
  return runOf(number, { passed: false, counts: { passed: 0, failed: 1, skipped: 0 }, failures: [failure], ...more })
}

function runsOf(count: number, more: Partial<FlakyRun> = {}): FlakyRun[] {
  return Array.from({ length: count }, (_, at) => runOf(at + 1, more))
}

/** The lines of a section. */
function section(report: string, title: string): string[] {
  const [, text = ''] = report.split(`## ${title}\n\n`)
  return text.split('\n\n##')[0]!.split('\n')
}

test('npm run flaky: the report has each run with its load, each failed test with its seeds, and what is slow', () => {
  const report = flakyReport([runOf(1), redRunOf(2, { busyProcesses: 2, selected: ['a.test.ts'] })])
  expect(section(report, 'Runs')).toEqual([
    '| run | commit | started (UTC) | files | load | busy cores | `--load` | result | passed | failed | skipped | minutes | CPU minutes |',
    '| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |',
    '| 1 | abc1234 | 2026-01-02 03:04 | all | quiet | 0.1 of 2 | 0 | green | 1 | 0 | 0 | 1.5 | 2.0 |',
    '| 2 | abc1234 | 2026-01-02 03:04 | a.test.ts | loaded | 0.1 of 2 | 2 | red | 0 | 1 | 0 | 1.5 | 2.0 |',
  ])
  expect(section(report, 'Failures')).toEqual([
    '| failed | test | runs | seconds | seeds | first error |',
    '| --- | --- | --- | --- | --- | --- |',
    '| 1 of 2 | a.test.ts: one \\| two | 2 | 3.0 | 42 | Error: late |',
  ])
  expect(section(report, 'Slowest tests').at(-1)).toBe('| 3.0 | a.test.ts: one \\| two |')
  expect(section(report, 'Files that use the most CPU').at(-1)).toBe('| 1.4 | a.test.ts |')
  expect(section(flakyReport([runOf(1)]), 'Failures')).toEqual(['No test failed.'])
})

test('npm run flaky: the verdict counts full green runs in a row, quiet and loaded ones apart', () => {
  const verdict = (runs: readonly FlakyRun[]): string[] => section(flakyReport(runs), 'Verdict')
  const loaded = { othersLoad: 1.5 }
  expect(verdict([])).toEqual([
    '- 10 full quiet runs in a row: **not met yet** (0 green)',
    '- 5 full loaded runs in a row: **not met yet** (0 green)',
    '',
    'No runs yet.',
  ])
  expect(verdict([...runsOf(10), ...runsOf(5, loaded)])).toEqual([
    '- 10 full quiet runs in a row: **met** (10 green, on abc1234)',
    '- 5 full loaded runs in a row: **met** (5 green, on abc1234)',
  ])
  expect(verdict([...runsOf(9), redRunOf(10), ...runsOf(2, { commit: 'def5678' }), redRunOf(13, loaded)])).toEqual([
    '- 10 full quiet runs in a row: **not met yet** (2 green, on def5678)',
    '- 5 full loaded runs in a row: **not met yet** (0 green)',
  ])
  expect(verdict(runsOf(10, { selected: ['a.test.ts'] }))[0]).toContain('not met yet')
})

test('npm run flaky: another call with the same file adds to its runs, also on another commit', () => {
  const path = join(temporaryFolder(), 'report.md.jsonl')
  expect(readRuns(path)).toEqual([])
  keepRuns(path, [runOf(1)])
  const second = redRunOf(2, { commit: 'def5678' })
  keepRuns(path, [...readRuns(path), second])
  expect(readRuns(path)).toEqual([runOf(1), second])
})

test.each([
  ['text', 'notes\nmore\n'],
  ['rows of an earlier version', '{"number":1,"loadAverage":2,"tests":[]}\n'],
])('npm run flaky: a file with %s is rejected', (_, text) => {
  const path = join(temporaryFolder(), 'notes.jsonl')
  appendFileSync(path, text)
  expect(() => readRuns(path)).toThrow('does not hold runs')
})

test('npm run flaky: results count failed files, and take seeds from the failed file only', () => {
  const folder = temporaryFolder()
  const files = { results: join(folder, '1.json'), log: join(folder, '1.log'), cpu: join(folder, '1.cpu.json') }
  writeFileSync(files.log, 'stdout | a.test.ts > x\nseed 7\nstdout | b.test.ts > y\nseed 8\n')
  writeFileSync(files.cpu, JSON.stringify([{ file: 'a.test.ts', cpuMs: 10 }]))
  const testResults = [
    {
      name: join(root, 'a.test.ts'),
      status: 'failed',
      assertionResults: [
        { fullName: 'x', status: 'failed', duration: 12.4, failureMessages: [`\nError in ${root}/a.ts\n  at z`] },
        { fullName: 'z', status: 'skipped', duration: null },
      ],
    },
    { name: join(root, 'b.test.ts'), status: 'passed', assertionResults: [{ fullName: 'y', status: 'passed' }] },
    { name: join(root, 'c.test.ts'), status: 'failed', message: 'no such module', assertionResults: [] },
  ]
  writeFileSync(files.results, JSON.stringify({ testResults }))
  expect(readResults(files, 1)).toMatchObject({
    counts: { passed: 1, failed: 2, skipped: 1 },
    failures: [
      { file: 'a.test.ts', title: 'x', durationMs: 12, error: 'Error in a.ts', seeds: ['7'] },
      { file: 'c.test.ts', title: '(the file)', error: 'no such module', seeds: [] },
    ],
    slowest: [{ test: 'a.test.ts: x', durationMs: 12 }, {}, {}],
    mostCpu: [{ file: 'a.test.ts', cpuMs: 10 }],
  })
  writeFileSync(files.results, '')
  expect(readResults(files, 'SIGKILL').failures).toMatchObject([{ file: '(the runner)' }])
})

test('docs/test-runs.md is what npm run flaky generates from its data', () => {
  const page = 'docs/test-runs.md'
  const report = flakyReport(readRuns(join(root, `${page}.jsonl`)))
  expect(readFileSync(join(root, page), 'utf8')).toBe(`${report}\n`)
})
