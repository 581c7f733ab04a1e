/** The tables of `npm run flaky`: runs, failures by test, and the slowest tests. */

export interface TestResult {
  readonly file: string
  readonly title: string
  readonly state: 'passed' | 'failed' | 'skipped'
  readonly durationMs: number
  readonly error: string
  readonly seeds: readonly string[]
}

export interface FlakyRun {
  readonly number: number
  /** Tested commit, with a `+` for uncommitted changes. */
  readonly commit: string
  /** ISO time. */
  readonly startedAt: string
  /** Number of load processes. */
  readonly busyProcesses: number
  /** One-minute load average at the end of the run. */
  readonly loadAverage: number
  readonly log: string
  readonly passed: boolean
  readonly durationMs: number
  readonly tests: readonly TestResult[]
}

const SLOWEST = 20
/** Titles may contain long fuzz inputs. */
const CELL_CHARS = 160

export function flakyReport(runs: readonly FlakyRun[]): string {
  return [runTable(runs), failureTable(runs), slowestTable(runs)].join('\n\n')
}

function runTable(runs: readonly FlakyRun[]): string {
  const rows = runs.map(({ number, commit, startedAt, busyProcesses, loadAverage, passed, durationMs, tests }) => {
    const count = (state: TestResult['state']): number => tests.filter((test) => test.state === state).length
    return [
      String(number),
      commit,
      startedAt.slice(0, 'yyyy-mm-ddThh:mm'.length).replace('T', ' '),
      String(busyProcesses),
      loadAverage.toFixed(1),
      passed ? 'green' : 'red',
      ...(['passed', 'failed', 'skipped'] as const).map((state) => String(count(state))),
      (durationMs / 60_000).toFixed(1),
    ]
  })
  const head = ['run', 'commit', 'started (UTC)', 'busy', 'load', 'result', 'passed', 'failed', 'skipped', 'minutes']
  return table(head, rows)
}

function failureTable(runs: readonly FlakyRun[]): string {
  const failures = new Map<string, { run: number; test: TestResult }[]>()
  for (const { number, tests } of runs) {
    for (const test of tests) {
      if (test.state !== 'failed') continue
      const key = `${test.file}: ${test.title}`
      failures.set(key, [...(failures.get(key) ?? []), { run: number, test }])
    }
  }
  if (failures.size === 0) return 'No test failed.'
  const rows = [...failures]
    .toSorted(([, left], [, right]) => right.length - left.length)
    .map(([key, seen]) => [
      `${seen.length} of ${runs.length}`,
      key,
      seen.map(({ run }) => run).join(' '),
      seen.map(({ test }) => seconds(test.durationMs)).join(' '),
      [...new Set(seen.flatMap(({ test }) => test.seeds))].join(' '),
      firstLine(seen[0]!.test.error),
    ])
  return table(['failed', 'test', 'runs', 'seconds', 'seeds', 'first error'], rows)
}

function slowestTable(runs: readonly FlakyRun[]): string {
  const durations = new Map<string, number[]>()
  for (const { tests } of runs) {
    for (const { file, title, durationMs } of tests) {
      const key = `${file}: ${title}`
      durations.set(key, [...(durations.get(key) ?? []), durationMs])
    }
  }
  const rows = [...durations]
    .map(([key, each]) => ({
      key,
      longest: Math.max(...each),
      mean: each.reduce((sum, ms) => sum + ms, 0) / each.length,
    }))
    .toSorted((left, right) => right.longest - left.longest)
    .slice(0, SLOWEST)
    .map(({ key, longest, mean }) => [seconds(longest), seconds(mean), key])
  return table(['longest s', 'mean s', 'test'], rows)
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(1)
}

function firstLine(error: string): string {
  return error.split('\n').find((line) => line.trim() !== '') ?? ''
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map(tableRow).join('\n')
}

function tableRow(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.slice(0, CELL_CHARS).replaceAll(/\s+/g, ' ').replaceAll('|', '\\|')).join(' | ')} |`
}
