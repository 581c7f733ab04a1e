import { describe, expect, test } from 'vitest'
import type { Actor, Event } from '../../../core/model/event.ts'
import { encodeBody, encodeRecord } from '../../../core/model/record.ts'
import { type Slice, sliceOf } from '../../../core/model/slice.ts'
import { EventFilter } from './event-filter.ts'

const RUN = { id: 'run_1', component: 'lead' }
const member: Actor = { component: 'member', run: 'run_1/a', parent: 'run_1', kind: 'agent' }
const bounds = { maxBytes: 1e6, maxDepth: 100 }

function sliceWith(events: readonly Event[]): Slice {
  const records = events.map((event, index) =>
    encodeRecord(RUN.id, index, '2026-01-01T00:00:00.000Z', event.type, encodeBody(event, bounds)),
  )
  return sliceOf(0, records, false)
}

const log = sliceWith([
  { type: 'text.delta', data: { text: '"type":"text.delta","actor":{"run":"run_1/a"}' } },
  { type: 'text.delta', data: { text: 'of the member' }, actor: member },
  { type: 'attempt.discarded', data: { attempt: 1, from: 1, scope: 'all', ledger: 'kept', reason: 'failed' } },
  { type: 'tool.called', data: { call: 'c', name: 'search', input: null }, actor: member },
  { type: 'run.completed', data: {} },
])

function selected(query: string): number[] {
  const filter = EventFilter.read(new URLSearchParams(query), RUN)
  return filter!.recordsOf(log).map(({ index }) => index)
}

describe('native: an event filter', () => {
  test.each([
    ['types=tool.called', [2, 3, 4]],
    ['actors=member', [1, 2, 3, 4]],
    ['actors=run_1/a&types=text.*', [1, 2, 4]],
    ['actors=lead', [0, 2, 4]],
    ['actors=run_1', [0, 2, 4]],
    ['actors=nobody', [2, 4]],
  ])('%s selects these records, the end and every retraction', (query, expected) => {
    expect(selected(query)).toEqual(expected)
  })

  test('gives all who ask for the same slice the same records, and others their own', () => {
    const [one, same, other] = ['types=tool.*', 'types=tool.*', 'types=text.*'].map((query) =>
      EventFilter.read(new URLSearchParams(query), RUN)!,
    )
    expect(same!.recordsOf(log)).toBe(one!.recordsOf(log))
    expect(other!.recordsOf(log)).not.toBe(one!.recordsOf(log))
  })

  test('of an empty query selects everything', () => {
    expect(EventFilter.read(new URLSearchParams('format=sse'), RUN)).toBeUndefined()
  })
})
