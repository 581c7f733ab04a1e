/** Logs that the golden streams are made from. One file each: the start on the first line, then one event per line. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Event } from '../../src/core/model/event.ts'

export interface GoldenLog {
  readonly name: string
  readonly component: string
  readonly input: unknown
  /** Everything after `run.created`. */
  readonly events: readonly Event[]
}

export const GOLDEN_FOLDER = import.meta.dirname
export const LOGS_FOLDER = join(GOLDEN_FOLDER, 'logs')

/** Id of the run that has a log. Actors of the log name it. */
export function runIdOf(name: string): string {
  return `run_${name}`
}

export function formatLog({ component, input, events }: Omit<GoldenLog, 'name'>): string {
  return `${[{ component, input }, ...events].map((line) => JSON.stringify(line)).join('\n')}\n`
}

export function readLogs(): GoldenLog[] {
  const files = readdirSync(LOGS_FOLDER).filter((file) => file.endsWith('.jsonl'))
  return files.toSorted().map((file) => {
    const [start, ...events] = readFileSync(join(LOGS_FOLDER, file), 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown)
    const { component, input } = start as Pick<GoldenLog, 'component' | 'input'>
    return { name: file.replace('.jsonl', ''), component, input, events: events as Event[] }
  })
}
