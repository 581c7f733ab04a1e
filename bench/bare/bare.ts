/** The ceiling of a medium: the bytes of a store's load in commits of the same size, with nothing of Holdfast. */
import type { Meter } from '../meter.ts'
import { textRecord } from '../open-run.ts'

export interface BareLoad {
  readonly address: string
  readonly runs: number
  readonly eventsAtOnce: number
  readonly meter: Meter
}

/** What a run appends at once, as a store would be given it. */
export function textOf(run: number, first: number, events: number): string {
  let text = ''
  for (let index = first; index < first + events; index++) text += textRecord(idOf(run), index)
  return text
}

/** As long as the id of a run is. */
export function idOf(run: number): string {
  return `run_${String(run).padStart(26, '0')}`
}
