import { describe, expect, test } from 'vitest'
import { type Event, type EventData, eventTable, type EventType, isTerminal, type LoggedEvent } from './event.ts'
import { isFinished, reduce, type Run, type RunStatus, terminalStatuses } from './run.ts'

const created: Run = {
  id: 'run_1',
  component: 'writer',
  session: 'ses_1',
  owner: 'local',
  status: 'queued',
  createdAt: at(0),
  updatedAt: at(0),
  attempt: 0,
}

const statuses: readonly RunStatus[] = ['queued', 'running', 'paused', ...terminalStatuses]

/** An event of every type that is not content. */
const lifecycle: readonly Event[] = [
  { type: 'run.created', data: { component: 'writer', input: null, session: 'ses_1' } },
  { type: 'run.started', data: { attempt: 1 } },
  { type: 'run.released', data: { reason: 'draining' } },
  { type: 'run.paused', data: { questions: [] } },
  { type: 'run.resumed', data: { answers: {} } },
  { type: 'run.completed', data: {} },
  { type: 'run.failed', data: { error: { code: 'agent_failed', message: 'boom' } } },
  { type: 'run.cancelled', data: {} },
  { type: 'run.rejected', data: { reason: 'no' } },
  { type: 'stop.requested', data: {} },
  { type: 'attempt.discarded', data: { attempt: 1, from: 2, scope: 'all', ledger: 'kept', reason: 'diverged' } },
]

/** Where each event leads from each status. All that is not here is a defect of the runner. */
const expected: Partial<Record<RunStatus, Partial<Record<EventType, RunStatus>>>> = {
  queued: {
    'run.started': 'running',
    'stop.requested': 'queued',
    'run.failed': 'failed',
    'run.cancelled': 'cancelled',
    'run.rejected': 'rejected',
  },
  running: {
    'run.started': 'running',
    'run.released': 'running',
    'run.paused': 'paused',
    'stop.requested': 'running',
    'attempt.discarded': 'running',
    'run.completed': 'completed',
    'run.failed': 'failed',
    'run.cancelled': 'cancelled',
    'run.rejected': 'rejected',
  },
  paused: {
    'run.paused': 'paused',
    'run.resumed': 'running',
    'stop.requested': 'paused',
    'attempt.discarded': 'paused',
    'run.failed': 'failed',
    'run.cancelled': 'cancelled',
  },
}

describe('run status transitions', () => {
  test('are tested for every event that is not content', () => {
    const types = Object.entries(eventTable).flatMap(([type, { effect }]) => (effect === 'content' ? [] : [type]))
    expect(lifecycle.map(({ type }) => type).toSorted()).toEqual(types.toSorted())
  })

  for (const status of statuses) {
    for (const event of lifecycle) {
      const next = expected[status]?.[event.type] ?? 'refused'
      test(`${status}, ${event.type}: ${next}`, () => expect(statusAfter(status, event)).toBe(next))
    }
  }

  test('an invalid transition throws an error with the status and the event', () => {
    const event: Event = { type: 'run.resumed', data: { answers: {} } }
    expect(() => reduce(created, logged(event))).toThrow('run run_1: run.resumed cannot follow queued')
  })

  test('[LOG-3] end with a terminal event, and nothing follows it', () => {
    for (const status of statuses.filter(isFinished)) {
      for (const event of lifecycle)
        expect(() => reduce({ ...created, status }, logged(event))).toThrow('cannot follow')
    }
    for (const event of lifecycle) {
      const ends = statuses.flatMap((status) => expected[status]?.[event.type] ?? []).filter(isFinished)
      expect(ends.length > 0).toBe(isTerminal(event.type))
    }
  })

  test('are not caused by content, which returns the same run', () => {
    const types = Object.entries(eventTable).flatMap(([type, { effect }]) => (effect === 'content' ? [type] : []))
    for (const type of types) {
      for (const status of statuses) {
        const run: Run = { ...created, status }
        expect(reduce(run, logged({ type, data: {} } as unknown as Event))).toBe(run)
      }
    }
  })
})

describe('the run reducer', () => {
  test('records the first start and the last attempt', () => {
    const run = fold(started(1), started(2))
    expect(run).toMatchObject({ attempt: 2, startedAt: at(1), updatedAt: at(2) })
  })

  test('counts interrupted attempts, and not those that were handed over', () => {
    const released: Event = { type: 'run.released', data: { reason: 'draining' } }
    expect(fold(started(1), released)).toMatchObject({ status: 'running', released: true })
    const handedOver = fold(started(1), released, started(2))
    expect(handedOver).not.toHaveProperty('released')
    expect(handedOver).not.toHaveProperty('interruptions')
    expect(fold(started(1), released, started(2), started(3), started(4))).toMatchObject({
      attempt: 4,
      interruptions: 2,
    })
  })

  test('counts a run that its node gave up in a store outage as interrupted once', () => {
    const givenUp: Event = { type: 'run.released', data: { reason: 'store_unavailable' } }
    expect(fold(started(1), givenUp)).toMatchObject({ released: true, interruptions: 1 })
    const again = fold(started(1), givenUp, started(2))
    expect(again).toMatchObject({ attempt: 2, interruptions: 1 })
    expect(again).not.toHaveProperty('released')
  })

  test('does not mutate its argument', () => {
    const run = Object.freeze({ ...created })
    expect(reduce(run, logged(started(1)))).not.toBe(run)
    expect(run).toEqual(created)
  })

  test('records what a paused run waits for, and until when', () => {
    const questions = [
      { id: 'a', kind: 'input', prompt: 'A?' },
      { id: 'b', kind: 'input', prompt: 'B?', deadline: at(90) },
      { id: 'c', kind: 'choice', prompt: 'C?', deadline: at(60) },
    ] as const
    const run = fold(started(1), paused(questions))
    expect(run).toMatchObject({ status: 'paused', waiting: questions, wakeAt: Date.parse(at(60)) })
  })

  test('has no deadline for a question without one', () => {
    const run = fold(started(1), paused([{ id: 'a', kind: 'input', prompt: 'A?' }]))
    expect(run).not.toHaveProperty('wakeAt')
  })

  test('uses the questions and the deadline of the last pause', () => {
    const first = { id: 'a', kind: 'input', prompt: 'A?', deadline: at(60) } as const
    const second = { id: 'b', kind: 'input', prompt: 'B?' } as const
    const run = fold(started(1), paused([first]), paused([second]))
    expect(run.waiting).toEqual([second])
    expect(run).not.toHaveProperty('wakeAt')
  })

  test.each<[string, Event]>([
    ['resumed', { type: 'run.resumed', data: { answers: { a: 1 } } }],
    ['failed', { type: 'run.failed', data: { error: { code: 'deadline_exceeded', message: 'nobody answered' } } }],
    ['cancelled', { type: 'run.cancelled', data: {} }],
  ])('clears the questions of a paused run that is %s', (_, event) => {
    const run = fold(started(1), paused([{ id: 'a', kind: 'input', prompt: 'A?', deadline: at(60) }]), event)
    expect(run).not.toHaveProperty('waiting')
    expect(run).not.toHaveProperty('wakeAt')
  })

  test('keeps questions and outcome when a stop is requested', () => {
    const run = fold(started(1), paused([{ id: 'a', kind: 'input', prompt: 'A?' }]), {
      type: 'stop.requested',
      data: {},
    })
    expect(run).toMatchObject({ status: 'paused', waiting: [{ id: 'a' }] })
  })

  test('records when a run finished, and why it failed', () => {
    const error = { code: 'agent_failed', message: 'boom', retryable: true, details: { type: 'Error' } } as const
    expect(fold(started(1), { type: 'run.failed', data: { error } })).toMatchObject({ finishedAt: at(2), error })
    for (const type of ['run.completed', 'run.cancelled', 'run.rejected'] as const) {
      const run = fold(started(1), { type, data: { reason: 'no' } } as Event)
      expect(run.finishedAt).toBe(at(2))
      expect(run).not.toHaveProperty('error')
    }
  })

  test('records no start for a run that ended before it started', () => {
    expect(fold({ type: 'run.cancelled', data: {} })).not.toHaveProperty('startedAt')
  })
})

function statusAfter(status: RunStatus, event: Event): RunStatus | 'refused' {
  try {
    return reduce({ ...created, status }, logged(event)).status
  } catch {
    return 'refused'
  }
}

function started(attempt: number): Event {
  return { type: 'run.started', data: { attempt } }
}

function paused(questions: EventData['run.paused']['questions']): Event {
  return { type: 'run.paused', data: { questions } }
}

/** The events follow each other by a second, the first a second after the run was created. */
function fold(...events: readonly Event[]): Run {
  return events.reduce((run, event, position) => reduce(run, logged(event, position + 1)), created)
}

function logged(event: Event, second = 1): LoggedEvent {
  return { ...event, run: created.id, index: second, time: at(second) }
}

function at(second: number): string {
  return new Date(Date.UTC(2026, 0, 1) + second * 1000).toISOString()
}
