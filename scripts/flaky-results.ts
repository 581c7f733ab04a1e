/** Reads what one test run left behind: vitest's JSON report, its log, and the CPU times of its files. */
import { existsSync, readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { root } from './command.ts'
import { type FailedTest, type FlakyRun, LISTED_MAX } from './flaky-report.ts'

export interface ResultFiles {
  readonly results: string
  readonly log: string
  readonly cpu: string
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

export type Results = Pick<FlakyRun, 'counts' | 'failures' | 'slowest' | 'mostCpu'>

/** `end`: exit code or signal of vitest. */
export function readResults(files: ResultFiles, end: number | NodeJS.Signals): Results {
  const log = readFileSync(files.log, 'utf8')
  let report: JsonReport
  try {
    report = JSON.parse(readFileSync(files.results, 'utf8')) as JsonReport
  } catch (cause) {
    const error = `vitest ended with ${end}: ${String(cause)}`
    return {
      counts: { passed: 0, failed: 1, skipped: 0 },
      failures: [{ file: '(the runner)', title: 'wrote no results', durationMs: 0, error, seeds: [] }],
      slowest: [],
      mostCpu: [],
    }
  }
  const tests = report.testResults.flatMap(({ name, assertionResults }) =>
    assertionResults.map(({ fullName, status, duration, failureMessages }) => ({
      file: relative(root, name),
      title: fullName,
      status,
      durationMs: Math.round(duration ?? 0),
      error: (failureMessages ?? []).join('\n'),
    })),
  )
  const failedTests = tests.filter(({ status }) => status === 'failed')
  // A file that failed to load, or whose hooks failed, has no failed test.
  const failedFiles = report.testResults.flatMap(({ name, status, message = '' }) => {
    const file = relative(root, name)
    if (status !== 'failed' || failedTests.some((test) => test.file === file)) return []
    return [{ file, title: '(the file)', durationMs: 0, error: message }]
  })
  const failures = [...failedTests, ...failedFiles].map((test) => failureOf(test, log))
  const passed = tests.filter(({ status }) => status === 'passed').length
  return {
    counts: { passed, failed: failures.length, skipped: tests.length - passed - failedTests.length },
    failures,
    slowest: highest(
      tests.map(({ file, title, durationMs }) => ({ test: `${file}: ${title}`, durationMs })),
      ({ durationMs }) => durationMs,
    ),
    mostCpu: highest(readCpu(files.cpu), ({ cpuMs }) => cpuMs),
  }
}

function failureOf(
  { file, title, durationMs, error }: Pick<FailedTest, 'file' | 'title' | 'durationMs' | 'error'>,
  log: string,
): FailedTest {
  const firstLine = error.split('\n').find((line) => line.trim() !== '') ?? ''
  return { file, title, durationMs, error: firstLine.replaceAll(`${root}/`, ''), seeds: seedsOf(error, file, log) }
}

/** Seeds from the failure message and from the test file's output. */
function seedsOf(error: string, file: string, log: string): string[] {
  let printing = false
  const printed = log.split('\n').filter((line) => {
    if (/^std(out|err) \| /.test(line)) printing = line.includes(file)
    return printing
  })
  const found = [error, ...printed].flatMap((text) => [...text.matchAll(/seed\W{1,3}(\d+)/gi)].map(([, seed]) => seed!))
  return [...new Set(found)]
}

function readCpu(path: string): FlakyRun['mostCpu'] {
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as FlakyRun['mostCpu']) : []
}

function highest<Item>(items: readonly Item[], figure: (item: Item) => number): Item[] {
  return items.toSorted((left, right) => figure(right) - figure(left)).slice(0, LISTED_MAX)
}
