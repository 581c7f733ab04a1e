/** The records of every run of the campaign, as a function of its id: parent and child know each record without exchanging it. */
import { reduce, type Run } from '../../../src/core/model/run.ts'
import type { Event } from '../../../src/core/model/event.ts'
import { newRun, recordOf } from '../../../src/testing/fixtures.ts'

export const TIME = '2026-01-01T00:00:00.000Z'

/** The event at an index: created, started, then numbered texts; `completed` makes it the last one. */
export function eventAt(id: string, index: number, completed = false): Event {
  if (completed) return { type: 'run.completed', data: { output: `${id} is done` } }
  if (index === 1) return { type: 'run.started', data: { attempt: 1 } }
  return { type: 'text.delta', data: { text: `${id} says ${index} ${'.'.repeat(paddingOf(id, index))}` } }
}

export function recordAt(id: string, index: number, completed = false): string {
  return index === 0 ? newRun(id, TIME).record : recordOf(id, index, TIME, eventAt(id, index, completed))
}

/** The run after an event. */
export function runAfter(run: Run, index: number, completed = false): Run {
  return reduce(run, { ...eventAt(run.id, index, completed), run: run.id, index, time: TIME })
}

/** Short mostly; some records fill a segment, a few are larger than one. */
function paddingOf(id: string, index: number): number {
  let hash = 17
  for (const character of `${id}/${index}`) hash = (Math.imul(hash, 31) + character.charCodeAt(0)) >>> 0
  const kind = hash % 200
  return kind === 0 ? 150_000 : kind < 4 ? 20_000 : hash % 90
}
