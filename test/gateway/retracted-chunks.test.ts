/** A chat completion through the gateway whose run was recovered with different output. */
import { expect, test } from 'vitest'
import type { Event } from '../../src/core/model/event.ts'
import type { Run } from '../../src/core/model/run.ts'
import { completionProjection, toCompletion } from '../../src/protocols/openai/chat/projection.ts'

const TIME = '2026-01-01T00:00:00.000Z'
const run = { id: 'run_1', component: 'c', session: 's', createdAt: TIME, status: 'queued', attempt: 0 } as Run

function chunk(content: string, finish: string | null = null): Event[] {
  const data = { choices: [{ index: 0, delta: { content }, finish_reason: finish }] }
  const received: Event = {
    type: 'upstream.received',
    data: { protocol: 'openai', name: 'chat.completion.chunk', data },
  }
  return [received, { type: 'text.delta', data: { text: content } }]
}

function contentOf(...events: readonly Event[]): unknown {
  const projection = completionProjection({ part: 0, whole: true })
  const created: Event = { type: 'run.created', data: { component: 'c', input: 'x', session: 's', upstream: 'openai' } }
  let state = projection.initial(run)
  for (const [index, event] of [created, ...events].entries())
    state = projection.apply(state, { ...event, run: run.id, index, time: TIME }).state
  const { choices } = toCompletion(state, { finish: 'stop' }) as { choices: { message: { content: unknown } }[] }
  return choices[0]!.message.content
}

function discarded(from: number, actor?: Event['actor']): Event {
  const data = { attempt: 1, from, scope: 'own', ledger: 'kept', reason: 'diverged' } as const
  return { type: 'attempt.discarded', data, ...(actor !== undefined && { actor }) }
}

const started = (attempt: number): Event => ({ type: 'run.started', data: { attempt } })
const completed: Event = { type: 'run.completed', data: {} }
const first = [started(1), ...chunk('one '), ...chunk('two ')]
/** Index of the second chunk. */
const SECOND = 4

test('[RUN-3] gateway, chat completions: a whole answer has the chunks before the one that is retracted', () => {
  const log = [...first, started(2), discarded(SECOND), ...chunk('TWO '), ...chunk('THREE', 'stop'), completed]
  expect(contentOf(...log)).toBe('one TWO THREE')
})

test('gateway, chat completions: a whole answer that is retracted from its first chunk is the second answer', () => {
  const log = [...first, started(2), discarded(SECOND - 2), ...chunk('TWO '), ...chunk('THREE', 'stop'), completed]
  expect(contentOf(...log)).toBe('TWO THREE')
})

test('gateway, chat completions: a retraction of another component’s text keeps the whole answer', () => {
  const other = { component: 'other', run: 'run_1/other' }
  expect(contentOf(...first, discarded(SECOND, other), ...chunk('three', 'stop'), completed)).toBe('one two three')
})
