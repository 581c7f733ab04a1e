/** Raw ceiling of a medium: the same bytes in commits of the same size, without Holdfast. */
import type { Meter } from '../meter.ts'
import { textRecord } from '../open-run.ts'

export interface BareLoad {
  readonly address: string
  readonly runs: number
  readonly eventsAtOnce: number
  readonly meter: Meter
}

/** One append of a run, as a store would get it. */
export function textOf(run: number, first: number, events: number): string {
  let text = ''
  for (let index = first; index < first + events; index++) text += textRecord(idOf(run), index)
  return text
}

/** Same length as a run id. */
export function idOf(run: number): string {
  return `run_${String(run).padStart(26, '0')}`
}
