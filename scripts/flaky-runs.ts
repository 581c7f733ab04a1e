/** Stores the runs of a `npm run flaky` campaign across calls: one line of JSON per run, next to the report. */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import type { FlakyRun } from './flaky-report.ts'

export function readRuns(path: string): FlakyRun[] {
  if (!existsSync(path)) return []
  const lines = readFileSync(path, 'utf8').split('\n').filter(Boolean)
  try {
    return lines.map((line) => runIn(JSON.parse(line)))
  } catch (cause) {
    throw new Error(`${path} does not hold runs of npm run flaky. Remove it or choose another --out.`, { cause })
  }
}

/** Replaces the file atomically, so that a killed call keeps the earlier runs. */
export function keepRuns(path: string, runs: readonly FlakyRun[]): void {
  const temporary = `${path}.${process.pid}`
  writeFileSync(temporary, runs.map((run) => `${JSON.stringify(run)}\n`).join(''))
  renameSync(temporary, path)
}

function runIn(value: unknown): FlakyRun {
  const run = value as FlakyRun
  // Absent in rows of another version, whose figures cannot be compared.
  if (!Array.isArray(run.selected) || typeof run.othersLoad !== 'number') throw new Error(`a row of another version`)
  return run
}
