/** Logs of runs behind the gateway, and what a protocol shows of them. */
import { withReceived } from '../../src/agents/shared/received.ts'
import type { Event } from '../../src/core/model/event.ts'
import type { Run } from '../../src/core/model/run.ts'
import type { Projection } from '../../src/core/ports/projection.ts'

const TIME = '2026-01-01T00:00:00.000Z'
const run = {
  id: 'run_1',
  component: 'c',
  session: 's',
  createdAt: TIME,
  updatedAt: TIME,
  owner: 'o',
  status: 'queued',
  attempt: 0,
} as Run

/** A log of a run behind the gateway, as its frames. */
export function framesOf<State, Frame>(
  projection: Projection<State, Frame>,
  upstream: string,
  events: readonly Event[],
  id = run.id,
): Frame[] {
  const created: Event = { type: 'run.created', data: { component: 'c', input: 'x', session: 's', upstream } }
  const started: Event = { type: 'run.started', data: { attempt: 1 } }
  const completed: Event = { type: 'run.completed', data: {} }
  let state = projection.initial({ ...run, id })
  return [created, started, ...events, completed].flatMap((event, index) => {
    const step = projection.apply(state, { ...event, run: id, index, time: TIME })
    state = step.state
    return step.frames
  })
}

/** An upstream's event and the events derived from it, as they are logged. */
export function logged(protocol: string, name: string, data: unknown, derived: Iterable<Event>): Event[] {
  return ([...withReceived({ protocol }, name, data, derived)] as unknown as Event[][]).flat()
}
