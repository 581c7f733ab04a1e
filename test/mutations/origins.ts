/**
 * For each defect of other servers that must not occur here (docs/invariants.md, O-1 to O-23) a change that brings it back, and the test
 * that must then fail: `npm run mutations`.
 */
export interface Mutation {
  readonly id: string
  readonly file: string
  /** Occurs once in the file. */
  readonly find: string
  readonly replace: string
  readonly test: string
  /** A part of the test's title. */
  readonly title: string
}

const FRAMES = 'test/protocols/agentos/frames.test.ts'
const RUNS = 'test/protocols/agentos/runs.test.ts'
const OUTCOMES = 'test/protocols/openai/run-outcomes.test.ts'
const STREAMS = 'test/protocols/a2a/streams.test.ts'

export const mutations: readonly Mutation[] = [
  {
    id: 'O-1',
    file: 'src/core/execution/emission.ts',
    find: '    throw unserializableFailure(type, cause)',
    replace: '    throw cause',
    test: FRAMES,
    title: 'O-1',
  },
  {
    id: 'O-2',
    file: 'src/core/execution/emission.ts',
    find: '...(holder !== undefined && { class: holder })',
    replace: '',
    test: 'src/core/execution/unserializable.test.ts',
    title: 'O-2',
  },
  {
    id: 'O-3',
    file: 'src/protocols/agentos/wire/families.ts',
    find: "failed: 'TeamRunError'",
    replace: "failed: 'RunError'",
    test: FRAMES,
    title: 'O-3',
  },
  {
    id: 'O-4',
    file: 'src/protocols/agentos/view/frame-writer.ts',
    find: "name === '' ? 'message' : 'CustomEvent'",
    replace: "'CustomEvent'",
    test: FRAMES,
    title: 'O-4',
  },
  {
    id: 'O-5',
    file: 'src/sse/encode.ts',
    find: 'data: ${json}\\n\\n`',
    replace: 'data: ${json} \\n\\n`',
    test: FRAMES,
    title: 'O-5',
  },
  {
    id: 'O-6',
    file: 'src/protocols/openai/chat/projection.ts',
    find: '  return frame({ error }, true)',
    replace: "  return frame('[DONE]', error !== undefined)",
    test: OUTCOMES,
    title: 'O-6',
  },
  {
    id: 'O-7',
    file: 'src/protocols/openai/chat/projection.ts',
    find: '  return frame({ error }, true)',
    replace: "  return frame({ error: { ...error, code: 'streamed' } }, true)",
    test: OUTCOMES,
    title: 'O-7',
  },
  {
    id: 'O-8',
    file: 'src/protocols/openai/chat/usage.ts',
    find: '  if (usage?.inputTokens === undefined || usage.outputTokens === undefined) return undefined\n  const { inputTokens, outputTokens, cachedInputTokens, reasoningTokens } = usage',
    replace: '  const { inputTokens = 0, outputTokens = 0, cachedInputTokens, reasoningTokens } = usage ?? {}',
    test: OUTCOMES,
    title: 'O-8',
  },
  {
    id: 'O-9',
    file: 'src/protocols/a2a/requests/operations.ts',
    find: "return { stored, start: { kind: 'start' } }",
    replace: "return { stored, start: { kind: 'index', index: Number.MAX_SAFE_INTEGER } }",
    test: STREAMS,
    title: 'O-9',
  },
  {
    id: 'O-10',
    file: 'src/protocols/a2a/view/projection.ts',
    find: "this.#end('TASK_STATE_FAILED', event.data.error.message)",
    replace: "this.#end('TASK_STATE_CANCELED', event.data.error.message)",
    test: STREAMS,
    title: 'O-10',
  },
  {
    id: 'O-11',
    file: 'src/core/delivery/subscription.ts',
    find: "if (this.#state !== 'tail') return",
    replace: "if (this.#state !== 'tail') throw new Error('a subscriber is slow')",
    test: STREAMS,
    title: 'O-11',
  },
  {
    id: 'O-12',
    file: 'src/protocols/a2a/view/states.ts',
    find: "TASK_STATE_REJECTED: { ...terminal, legacy: 'rejected' }",
    replace: "TASK_STATE_REJECTED: { ...working, legacy: 'rejected' }",
    test: STREAMS,
    title: 'O-12',
  },
  {
    id: 'O-13',
    file: 'src/protocols/a2a/view/projection.ts',
    find: "      case 'run.failed':\n",
    replace: '',
    test: STREAMS,
    title: 'O-13',
  },
  {
    id: 'O-14',
    file: 'src/protocols/a2a/view/task.ts',
    find: 'slice(-(historyLength ?? 0))',
    replace: 'slice(-(historyLength ?? 1))',
    test: 'test/protocols/a2a/send.test.ts',
    title: 'O-14',
  },
  {
    id: 'O-15',
    file: 'src/protocols/a2a/requests/operations.ts',
    find: '      metadata: { ...metadata, a2a: toAbout(',
    replace: '      metadata: { ...(follows ? {} : metadata), a2a: toAbout(',
    test: 'test/protocols/a2a/send.test.ts',
    title: 'O-15',
  },
  {
    id: 'O-16',
    file: 'src/protocols/a2a/wire/cards.ts',
    find: 'streaming: about.streaming ?? true',
    replace: 'streaming: about.streaming ?? false',
    test: 'test/protocols/a2a/cards.test.ts',
    title: 'O-16',
  },
  {
    id: 'O-17',
    file: 'src/protocols/a2a/view/projection.ts',
    find: '{ statusUpdate: { taskId: run.id, contextId: run.session, status } }',
    replace: '{ statusUpdate: { taskId: run.id, context_id: run.session, status } as never }',
    test: STREAMS,
    title: 'O-17',
  },
  {
    id: 'O-18',
    file: 'src/protocols/a2a/requests/operations.ts',
    find: '    if (!resumed && isFinished(stored.run.status))',
    replace: '    if (!resumed)',
    test: 'test/protocols/a2a/official-client.test.ts',
    title: 'O-18',
  },
  {
    id: 'O-19',
    file: 'src/protocols/agentos/routes/index.ts',
    find: 'respondJson(response, 200, os.components(family).map(componentSummary))',
    replace: 'respondJson(response, 200, { data: os.components(family).map(componentSummary) })',
    test: RUNS,
    title: 'O-19',
  },
  {
    id: 'O-20',
    file: 'src/protocols/agentos/view/frame-writer.ts',
    find: '{ ...this.#build(), event_index: this.index }',
    replace: 'this.#build()',
    test: RUNS,
    title: 'O-20',
  },
  {
    id: 'O-21',
    file: 'src/protocols/agentos/routes/respond-run.ts',
    find: '  if (leaves) stopWhenGone',
    replace: '  if (leaves || modes.stream) stopWhenGone',
    test: RUNS,
    title: 'O-21',
  },
  {
    id: 'O-22',
    file: 'src/protocols/agentos/view/meta-events.ts',
    find: ': { opening: catchUp, caughtUp: live }',
    replace: ': { opening: [live] }',
    test: RUNS,
    title: 'O-22',
  },
  {
    id: 'O-23',
    file: 'src/protocols/agentos/view/stream-position.ts',
    find: 'Math.max(-1, Math.min(requested, next - 1))',
    replace: 'Math.max(-1, Math.min(requested + 1, next - 1))',
    test: RUNS,
    title: 'O-23',
  },
]
