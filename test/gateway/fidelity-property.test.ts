/** Whatever an upstream sends, with fields and event types that nobody here knows, a client of the same protocol gets it back. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { RemoteRunOutput } from '../../src/agents/remote-agentos/run-output.ts'
import { ChatOutput } from '../../src/agents/upstream/chat-output.ts'
import { agentosProjection } from '../../src/protocols/agentos/view/projection.ts'
import { chatProjection } from '../../src/protocols/openai/chat/projection.ts'
import { framesOf, logged } from './upstream-log.ts'

const extras = fc.dictionary(fc.stringMatching(/^x_[a-z]{1,6}$/), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 })

test('gateway: an AgentOS client gets events of unknown types with all their fields, in order', () => {
  const name = fc.constantFrom(
    'RunContent',
    'ModelRequestStarted',
    'ReasoningStep',
    'MemoryUpdateStarted',
    'FutureEvent',
  )
  const event = fc.record({ name, extras, content: fc.option(fc.string(), { nil: undefined }) })
  fc.assert(
    fc.property(fc.array(event, { maxLength: 12 }), (events) => {
      const shown = new RemoteRunOutput('id', 'run_1', 'agent')
      const all = [
        { name: 'RunStarted', extras: {}, content: undefined },
        ...events,
        { name: 'RunCompleted', extras: { metrics: { n: 1 } }, content: 'x' },
      ]
      const sent = all.map((each) => ({
        event: each.name,
        run_id: 'run_1',
        ...each.extras,
        ...(each.content !== undefined && { content: each.content }),
      }))
      const log = sent.flatMap((data) => logged('agentos', data.event, data, shown.add(data)))
      const frames = framesOf(
        agentosProjection(() => ({ kind: 'agent', name: 'c' })),
        'agentos',
        log,
      )
      expect(frames.map(({ data: { event_index: _index, ...data } }) => data)).toEqual(sent)
      expect(frames.map(({ index }) => index)).toEqual(sent.map((_, index) => index))
    }),
  )
})

test('gateway: a chat client gets chunks and events with names of their own, with all their fields, in order', () => {
  const delta = fc.record({ content: fc.option(fc.string()), extras })
  const item = fc.oneof(
    fc.record({ kind: fc.constant('chunk' as const), delta, extras }),
    fc.record({ kind: fc.constant('named' as const), name: fc.stringMatching(/^[a-z]+\.[a-z]+$/), extras }),
  )
  fc.assert(
    fc.property(fc.array(item, { maxLength: 12 }), (items) => {
      const shown = new ChatOutput('id', 'm')
      const chunkOf = (each: object, finish: string | null, more: object) => ({
        id: 'c1',
        object: 'chat.completion.chunk',
        choices: [{ index: 0, delta: each, finish_reason: finish }],
        ...more,
      })
      const sent = items.map((each) =>
        each.kind === 'named'
          ? { event: each.name, data: each.extras }
          : { data: chunkOf({ content: each.delta.content, ...each.delta.extras }, null, each.extras) },
      )
      const end = { data: chunkOf({}, 'stop', { usage: { completion_tokens: 1 } }) }
      const log = [...sent, end].flatMap((each) =>
        'event' in each
          ? logged('openai', each.event, each.data, [])
          : logged('openai', 'chat.completion.chunk', each.data, shown.add(each.data as never)),
      )
      const frames = framesOf(chatProjection({ part: 0, includeUsage: true }), 'openai', [...log, ...shown.end()])
      expect(frames.map(({ data, event }) => ({ ...(event !== undefined && { event }), data }))).toEqual([
        ...sent,
        end,
        { data: '[DONE]' },
      ])
    }),
  )
})
