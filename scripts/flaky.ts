/**
 * `npm run flaky -- --runs N [--load] [--out FILE] [files…]`: runs the test suite N times and reports failures by test, with seeds and
 * durations. `--load` keeps every core busy with other processes. `--out` writes a Markdown report to FILE and the runs to FILE.jsonl;
 * another call with the same FILE adds its runs.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { createWriteStream, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism, loadavg, tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { parseArgs } from 'node:util'
import { command, root } from './command.ts'
import { type FlakyRun, flakyReport, type TestResult } from './flaky-report.ts'
import { keepRuns, readRuns } from './flaky-runs.ts'

const RUNS_MAX = 1000

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    runs: { type: 'string', default: '10' },
    load: { type: 'boolean', default: false },
    out: { type: 'string' },
  },
})
const runs = Number(values.runs)
if (!Number.isInteger(runs) || runs < 1 || runs > RUNS_MAX) {
  console.error(`--runs takes a whole number from 1 to ${RUNS_MAX}, not "${values.runs}"`)
  process.exit(2)
}

const folder = mkdtempSync(join(tmpdir(), 'holdfast-flaky-'))
const load = values.load ? Array.from({ length: availableParallelism() }, busyProcess) : []
const stopLoad = (): void => {
  for (const child of load) child.kill('SIGKILL')
}
process.on('exit', stopLoad)
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

console.log(`${runs} runs${values.load ? ` with ${load.length} busy processes beside them` : ''}; logs in ${folder}`)
const kept = values.out === undefined ? undefined : `${values.out}.jsonl`
const finished: FlakyRun[] = kept === undefined ? [] : readRuns(kept)
const first = finished.length
if (first > 0) console.log(`${kept} has ${first} runs; adding to them`)
while (finished.length < first + runs) {
  const run = await runSuite(finished.length + 1)
  finished.push(run)
  if (kept !== undefined) {
    keepRuns(kept, finished)
    writeFileSync(values.out!, `${flakyReport(finished)}\n`)
  }
  const failed = run.tests.filter(({ state }) => state === 'failed').length
  console.log(
    `run ${run.number}: ${run.passed ? 'green' : 'RED'}, ${run.tests.length} tests, ${failed} failed, ${minutes(run.durationMs)}`,
  )
}
stopLoad()
console.log(`\n${flakyReport(finished)}`)
process.exit(finished.slice(first).every(({ passed }) => passed) ? 0 : 1)

/** The current commit, if under version control. */
function commitNow(): string {
  try {
    const isChanged = command(['git', 'status', '--porcelain']).trim() !== ''
    return `${command(['git', 'rev-parse', '--short', 'HEAD']).trim()}${isChanged ? '+' : ''}`
  } catch {
    return 'unknown'
  }
}

/** Keeps a core busy. */
function busyProcess(): ChildProcess {
  return spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' })
}

async function runSuite(number: number): Promise<FlakyRun> {
  const results = join(folder, `${number}.json`)
  const log = join(folder, `${number}.log`)
  const commit = commitNow()
  const startedAt = new Date().toISOString()
  const startMs = performance.now()
  const end = await new Promise<number | NodeJS.Signals>((resolve, reject) => {
    const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${results}`]
    const child = spawn(join(root, 'node_modules', '.bin', 'vitest'), ['run', ...reporters, ...positionals], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, CI: 'true', NO_COLOR: '1' },
    })
    const output = createWriteStream(log)
    child.stdout.pipe(output, { end: false })
    child.stderr.pipe(output, { end: false })
    child.once('error', reject)
    child.once('close', (code, signal) => output.end(() => resolve(code ?? signal!)))
  })
  return {
    number,
    commit,
    startedAt,
    busyProcesses: load.length,
    loadAverage: loadavg()[0]!,
    log,
    passed: end === 0,
    durationMs: performance.now() - startMs,
    tests: readResults(results, readFileSync(log, 'utf8'), end),
  }
}

interface JsonReport {
  readonly testResults: readonly {
    readonly name: string
    readonly status: string
    readonly message?: string
    readonly assertionResults: readonly {
      readonly fullName: string
      readonly status: string
      readonly duration?: number | null
      readonly failureMessages?: readonly string[] | null
    }[]
  }[]
}

function readResults(path: string, log: string, end: number | NodeJS.Signals): TestResult[] {
  let report: JsonReport
  try {
    report = JSON.parse(readFileSync(path, 'utf8')) as JsonReport
  } catch (cause) {
    return [
      {
        file: '(the runner)',
        title: 'wrote no results',
        state: 'failed',
        durationMs: 0,
        error: `vitest ended with ${end}: ${String(cause)}`,
        seeds: [],
      },
    ]
  }
  return report.testResults.flatMap(({ name, status, message = '', assertionResults }) => {
    const file = relative(root, name)
    const tests = assertionResults.map(({ fullName, status: state, duration, failureMessages }) => {
      const error = (failureMessages ?? []).join('\n')
      return {
        file,
        title: fullName,
        state: stateOf(state),
        durationMs: duration ?? 0,
        error,
        seeds: seedsOf(error, file, log),
      }
    })
    // A file that failed to load, or whose hooks failed, has no failed test.
    if (status !== 'failed' || tests.some(({ state }) => state === 'failed')) return tests
    return [
      ...tests,
      { file, title: '(the file)', state: 'failed', durationMs: 0, error: message, seeds: seedsOf(message, file, log) },
    ]
  })
}

function stateOf(status: string): TestResult['state'] {
  return status === 'passed' || status === 'failed' ? status : 'skipped'
}

/** Seeds from the failure message and from the test file's output. */
function seedsOf(error: string, file: string, log: string): string[] {
  if (error === '') return []
  let printing = false
  const printed = log.split('\n').filter((line) => {
    if (/^std(out|err) \| /.test(line)) printing = line.includes(file)
    return printing
  })
  return [
    ...new Set(
      [error, ...printed].flatMap((text) => [...text.matchAll(/seed\W{1,3}(\d+)/gi)].map(([, seed]) => seed!)),
    ),
  ]
}

function minutes(ms: number): string {
  return `${(ms / 60_000).toFixed(1)} min`
}
