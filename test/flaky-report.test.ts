import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type FlakyRun, flakyReport } from '../scripts/flaky-report.ts'
import { keepRuns, readRuns } from '../scripts/flaky-runs.ts'
import { temporaryFolder } from './support/temporary.ts'

function runOf(number: number, error = ''): FlakyRun {
  const state = error === '' ? 'passed' : 'failed'
  return {
    number,
    commit: 'abc1234',
    startedAt: '2026-01-02T03:04:05.678Z',
    busyProcesses: 2,
    loadAverage: 3.25,
    log: '',
    passed: error === '',
    durationMs: 90_000,
    tests: [
      {
        file: 'a.test.ts',
        title: 'one | two',
        state,
        durationMs: 1500 * number,
        error,
        seeds: error === '' ? [] : ['42'],
      },
    ],
  }
}

test('npm run flaky: the report has each run, each failed test with its seeds, and the slowest tests', () => {
  expect(flakyReport([runOf(1), runOf(2, 'Error: late\n    at x')]).split('\n')).toEqual([
    '| run | commit | started (UTC) | busy | load | result | passed | failed | skipped | minutes |',
    '| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |',
    '| 1 | abc1234 | 2026-01-02 03:04 | 2 | 3.3 | green | 1 | 0 | 0 | 1.5 |',
    '| 2 | abc1234 | 2026-01-02 03:04 | 2 | 3.3 | red | 0 | 1 | 0 | 1.5 |',
    '',
    '| failed | test | runs | seconds | seeds | first error |',
    '| --- | --- | --- | --- | --- | --- |',
    '| 1 of 2 | a.test.ts: one \\| two | 2 | 3.0 | 42 | Error: late |',
    '',
    '| longest s | mean s | test |',
    '| --- | --- | --- |',
    '| 3.0 | 2.3 | a.test.ts: one \\| two |',
  ])
  expect(flakyReport([runOf(1)])).toContain('No test failed.')
})

test('npm run flaky: another call with the same file adds to its runs', () => {
  const path = join(temporaryFolder(), 'report.md.jsonl')
  expect(readRuns(path)).toEqual([])
  keepRuns(path, [runOf(1)])
  keepRuns(path, [...readRuns(path), runOf(2, 'Error: late')])
  expect(readRuns(path)).toEqual([runOf(1), runOf(2, 'Error: late')])
})

test('npm run flaky: a file of another format is rejected', () => {
  const path = join(temporaryFolder(), 'notes.jsonl')
  appendFileSync(path, 'notes\nmore\n')
  expect(() => readRuns(path)).toThrow('does not hold runs')
})
