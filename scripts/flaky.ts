/**
 * `npm run flaky -- --runs N [--load] [--out FILE] [files…]`: runs the test suite N times and reports whether it is reliable. `--load`
 * keeps every core busy with other processes. `--out` writes the report to FILE and its data to FILE.jsonl; another call with the same
 * FILE adds its runs, also on another commit. `--runs 0` writes the report again.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { createWriteStream, mkdtempSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { cpuTime } from '../test/support/cpu-time.ts'
import { busyCores } from './busy-cores.ts'
import { command, root } from './command.ts'
import { type FlakyRun, flakyReport } from './flaky-report.ts'
import { readResults, type ResultFiles } from './flaky-results.ts'
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
if (!Number.isInteger(runs) || runs < 0 || runs > RUNS_MAX) {
  console.error(`--runs takes a whole number from 0 to ${RUNS_MAX}, not "${values.runs}"`)
  process.exit(2)
}

const folder = mkdtempSync(join(tmpdir(), 'holdfast-flaky-'))
const load: ChildProcess[] = []
process.on('exit', stopLoad)
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

const cores = availableParallelism()
console.log(`${runs} runs${values.load ? ` with ${cores} busy processes beside them` : ''}; logs in ${folder}`)
const kept = values.out === undefined ? undefined : `${values.out}.jsonl`
const finished: FlakyRun[] = kept === undefined ? [] : readRuns(kept)
const first = finished.length
if (first > 0) console.log(`${kept} has ${first} runs; adding to them`)
writeReport()
while (finished.length < first + runs) {
  const run = await runSuite(finished.length + 1)
  finished.push(run)
  if (kept !== undefined) keepRuns(kept, finished)
  writeReport()
  const { passed, failed } = run.counts
  const took = `${(run.durationMs / 60_000).toFixed(1)} min`
  console.log(`run ${run.number}: ${run.passed ? 'green' : 'RED'}, ${passed} passed, ${failed} failed, ${took}`)
}
console.log(`\n${flakyReport(finished)}`)
process.exit(finished.slice(first).every(({ passed }) => passed) ? 0 : 1)

function writeReport(): void {
  if (values.out !== undefined) writeFileSync(values.out, `${flakyReport(finished)}\n`)
}

/** The current commit, if under version control. The report itself does not count as a change. */
function commitNow(): string {
  try {
    const own = values.out === undefined ? [] : [`:!${values.out}`, `:!${values.out}.jsonl`]
    const isChanged = command(['git', 'status', '--porcelain', '--', '.', ...own]).trim() !== ''
    return `${command(['git', 'rev-parse', '--short', 'HEAD']).trim()}${isChanged ? '+' : ''}`
  } catch {
    return 'unknown'
  }
}

function startLoad(): void {
  for (let core = 0; core < cores; core++) load.push(spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }))
}

function stopLoad(): void {
  for (const child of load.splice(0)) child.kill('SIGKILL')
}

async function runSuite(number: number): Promise<FlakyRun> {
  const files = {
    results: join(folder, `${number}.json`),
    log: join(folder, `${number}.log`),
    cpu: join(folder, `${number}.cpu.json`),
  }
  const commit = commitNow()
  const othersLoad = await busyCores()
  if (values.load) startLoad()
  const busyProcesses = load.length
  const startedAt = new Date().toISOString()
  const startMs = performance.now()
  const cpuBefore = cpuTime()
  const end = await runVitest(files)
  const durationMs = Math.round(performance.now() - startMs)
  // Before the busy processes are waited for, which would count as the run's.
  const cpuAfter = cpuTime()
  stopLoad()
  return {
    number,
    commit,
    startedAt,
    selected: positionals,
    cores,
    othersLoad: Number(othersLoad.toFixed(2)),
    busyProcesses,
    passed: end === 0,
    durationMs,
    ...(cpuBefore !== undefined && cpuAfter !== undefined && { cpuMs: cpuAfter.children - cpuBefore.children }),
    ...readResults(files, end),
  }
}

/** The exit code, or the signal that ended it. */
function runVitest({ results, log, cpu }: ResultFiles): Promise<number | NodeJS.Signals> {
  const cpuReporter = join(root, 'scripts/vitest-cpu.ts')
  const reporters = ['default', 'json', cpuReporter].map((name) => `--reporter=${name}`)
  return new Promise((resolve, reject) => {
    const child = spawn(
      join(root, 'node_modules', '.bin', 'vitest'),
      ['run', ...reporters, `--outputFile.json=${results}`, ...positionals],
      {
        cwd: root,
        stdio: ['ignore', 'pipe', 'pipe'],
        env: { ...process.env, CI: 'true', NO_COLOR: '1', HOLDFAST_TEST_CPU_FILE: cpu },
      },
    )
    const output = createWriteStream(log)
    child.stdout.pipe(output, { end: false })
    child.stderr.pipe(output, { end: false })
    child.once('error', reject)
    child.once('close', (code, signal) => output.end(() => resolve(code ?? signal!)))
  })
}
