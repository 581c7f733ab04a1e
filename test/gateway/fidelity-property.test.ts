/** A client of the upstream's protocol gets everything that the upstream sends, including unknown fields and event types. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Decoder } from '../../src/a2a/decode.ts'
import { TaskAssembler } from '../../src/a2a/task-assembler.ts'
import { TaskOutput } from '../../src/agents/remote-a2a/task-output.ts'
import { RemoteRunOutput } from '../../src/agents/remote-agentos/run-output.ts'
import { ChatOutput } from '../../src/agents/upstream/chat-output.ts'
import { taskProjection } from '../../src/protocols/a2a/view/projection.ts'
import { fromStream } from '../../src/protocols/a2a/legacy/result.ts'
import { agentosProjection } from '../../src/protocols/agentos/view/projection.ts'
import { completionProjection } from '../../src/protocols/openai/chat/projection.ts'
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
      const frames = framesOf(completionProjection({ part: 0, includeUsage: true }), 'openai', [...log, ...shown.end()])
      expect(frames.map(({ data, event }) => ({ ...(event !== undefined && { event }), data }))).toEqual([
        ...sent,
        end,
        { data: '[DONE]' },
      ])
    }),
  )
})

const ids = { taskId: 'run_1', contextId: 's' }
/** Contents of a part in both versions. */
const partContent = fc.oneof(
  fc.record({ text: fc.string() }),
  fc.record({ data: fc.dictionary(fc.stringMatching(/^[a-z]{1,4}$/), fc.integer(), { maxKeys: 2 }) }),
)

interface Version {
  readonly dialect: '1.0' | 'kinds'
  readonly role: string
  readonly state: (name: string) => string
  /** An update as this version writes it. */
  readonly kind: (name: string, value: object) => object
  readonly part: (content: object) => object
  readonly marks: (kind: string) => object
}

const versions: readonly Version[] = [
  {
    dialect: '1.0',
    role: 'ROLE_AGENT',
    state: (name) => `TASK_STATE_${name.toUpperCase()}`,
    kind: (name, value) => ({ [name]: value }),
    part: (content) => content,
    marks: () => ({}),
  },
  {
    dialect: 'kinds',
    role: 'agent',
    state: (name) => name,
    kind: (name, value) => ({ kind: name.replace('Update', '-update'), ...value }),
    part: (content) => ({ kind: 'text' in content ? 'text' : 'data', ...content }),
    marks: (kind) => ({ kind }),
  },
]

test.for(versions)(
  'gateway: an A2A client gets updates with all their fields, in order, in the dialect $dialect',
  ({ dialect, role, state, kind, part, marks }) => {
    const parts = fc.array(
      fc.tuple(partContent, extras).map(([content, more]) => part({ ...content, ...more })),
      { minLength: 1, maxLength: 3 },
    )
    const final = dialect === 'kinds' ? { final: false } : {}
    const status = fc.record({ parts, extras, metadata: extras }).map((each) => {
      const message = { messageId: 'm', role, parts: each.parts, ...marks('message'), ...each.extras }
      const own = { state: state('working'), message, ...each.extras }
      return kind('statusUpdate', { ...ids, status: own, metadata: each.metadata, ...final, ...each.extras })
    })
    const chunk = fc
      .record({ id: fc.constantFrom('a', 'b'), parts, extras, metadata: extras, append: fc.boolean() })
      .map((each) => {
        const artifact = { artifactId: each.id, name: 'n', parts: each.parts, metadata: each.metadata, ...each.extras }
        return kind('artifactUpdate', { ...ids, artifact, append: each.append, ...each.extras })
      })
    fc.assert(
      fc.property(fc.array(fc.oneof(status, chunk), { maxLength: 10 }), extras, (updates, more) => {
        const spoken = { messageId: 'h', role, parts: [part({ text: 'x', ...more })], ...marks('message'), ...more }
        const task = kind('task', {
          id: 'run_1',
          contextId: 's',
          status: { state: state('submitted') },
          history: [spoken],
          ...more,
        })
        const done = {
          ...ids,
          status: { state: state('completed'), ...more },
          ...(dialect === 'kinds' && { final: true }),
        }
        const sent = [task, ...updates, kind('statusUpdate', { ...done, ...more })]
        const reader = new Decoder(dialect)
        const assembler = new TaskAssembler()
        const output = new TaskOutput('run_1')
        const log = sent
          .flatMap((update) => assembler.add(reader.update(update)))
          .flatMap((update) => {
            const [[name, value]] = Object.entries(update) as [[string, unknown]]
            return logged('a2a', name, value, output.add(update))
          })
        const frames = framesOf(taskProjection, 'a2a', log).map(({ update }) => update)
        const shown = dialect === '1.0' ? frames : frames.map(fromStream)
        // A repeated status is shown once.
        const isNews = (each: object, at: number): boolean =>
          JSON.stringify(each) !== JSON.stringify(lastStatus(sent, at))
        expect(shown).toEqual(sent.filter(isNews))
      }),
    )
  },
)

/** The status update before a position. */
function lastStatus(updates: readonly object[], at: number): object | undefined {
  return updates
    .slice(0, at)
    .findLast((each) => 'statusUpdate' in each || (each as { kind?: string }).kind === 'status-update')
}
