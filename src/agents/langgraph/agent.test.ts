/** LangGraph.js graphs, the real package with its own checkpointer. */
import { AIMessage, type BaseMessage } from '@langchain/core/messages'
import { tool } from '@langchain/core/tools'
import { FakeListChatModel } from '@langchain/core/utils/testing'
import {
  Annotation,
  type BaseCheckpointSaver,
  END,
  interrupt,
  MemorySaver,
  MessagesAnnotation,
  START,
  StateGraph,
} from '@langchain/langgraph'
import { ToolNode } from '@langchain/langgraph/prebuilt'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { answered, answeredElsewhere, dataOf, logOf, PATIENCE_MS } from '../../../test/support/adapters.ts'
import { aborted, openNode, textOf, typesOf } from '../../../test/support/node.ts'
import { until } from '../../../test/support/until.ts'
import { World } from '../../../test/support/world.ts'
import type { Component } from '../../core/ports/component.ts'
import { langGraphAgent, type LangGraphAgentDefinition } from './agent.ts'

function subject(graph: unknown, more: Partial<LangGraphAgentDefinition> = {}): Component {
  return langGraphAgent({ id: 'subject', graph: graph as LangGraphAgentDefinition['graph'], ...more })
}

const talker = (text: string): FakeListChatModel => new FakeListChatModel({ responses: [text] })
const say =
  (text: string) =>
  async ({ messages }: { messages: BaseMessage[] }) => ({ messages: [await talker(text).invoke(messages)] })

test('[LOG-1] LangGraph: text is streamed, nodes are steps, and the last message is the output', async () => {
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('greet', say('hello there'))
    .addEdge(START, 'greet')
    .addEdge('greet', END)
    .compile()
  const log = await logOf(subject(graph))
  expect(textOf(log)).toBe('hello there')
  expect(dataOf(log, 'text.delta').length).toBeGreaterThan(5)
  expect(dataOf(log, 'step.completed').map(({ name }) => name)).toContain('greet')
  expect(dataOf(log, 'run.completed')).toMatchObject([{ output: 'hello there' }])
})

test('LangGraph: tool calls, their results and failures are logged, and tokens are counted', async () => {
  const add = tool(({ a }: { a: number }) => String(a + 1), {
    name: 'add',
    description: 'adds one',
    schema: z.object({ a: z.number() }),
  })
  const fields = {
    content: 'let me see',
    tool_calls: [
      { id: 'c1', name: 'add', args: { a: 1 } },
      { id: 'c2', name: 'add', args: { a: 'one' } },
    ],
    usage_metadata: { input_tokens: 3, output_tokens: 4, total_tokens: 7 },
  }
  const plan = new AIMessage(fields as never)
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('plan', () => ({ messages: [plan] }))
    .addNode('tools', new ToolNode([add]))
    .addEdge(START, 'plan')
    .addEdge('plan', 'tools')
    .addEdge('tools', END)
    .compile()
  const log = await logOf(subject(graph))
  expect(dataOf(log, 'tool.called')).toMatchObject([
    { call: 'c1', name: 'add', input: { a: 1 } },
    { call: 'c2', name: 'add' },
  ])
  expect(dataOf(log, 'tool.completed')).toMatchObject([{ call: 'c1', output: '2' }])
  expect(dataOf(log, 'tool.failed')).toMatchObject([{ call: 'c2' }])
  expect(dataOf(log, 'run.completed')[0]!.usage).toEqual({ inputTokens: 3, outputTokens: 4, totalTokens: 7 })
})

test('LangGraph: a graph with custom state takes an object and returns its state', async () => {
  const State = Annotation.Root({ count: Annotation<number> })
  const graph = new StateGraph(State)
    .addNode('add', ({ count }) => ({ count: count + 1 }))
    .addEdge(START, 'add')
    .addEdge('add', END)
    .compile()
  expect(dataOf(await logOf(subject(graph), { count: 1 }), 'run.completed')).toMatchObject([{ output: { count: 2 } }])
  const mapOutput = (state: unknown) => (state as { count: number }).count
  expect(dataOf(await logOf(subject(graph, { mapOutput }), { count: 1 }), 'run.completed')).toMatchObject([
    { output: 2 },
  ])
})

function reviewed(checkpointer: BaseCheckpointSaver, done: string[]): Component {
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('draft', async (state) => {
      done.push('draft')
      return say('a draft. ')(state)
    })
    .addNode('review', () => {
      const verdict = interrupt<object, string>({ question: 'Is it good?' })
      done.push('review')
      return { messages: [new AIMessage(`It is ${verdict}.`)] }
    })
    .addEdge(START, 'draft')
    .addEdge('draft', 'review')
    .addEdge('review', END)
    .compile({ checkpointer })
  return subject(graph)
}

test('LangGraph: an interrupt is a question, and its answer resumes the graph', async () => {
  const log = await answered(reviewed(new MemorySaver(), []), 'good')
  expect(dataOf(log, 'run.paused')[0]!.questions).toMatchObject([{ kind: 'input', prompt: 'Is it good?' }])
  expect(textOf(log)).toBe('a draft. It is good.')
  expect(dataOf(log, 'run.completed')).toMatchObject([{ output: 'It is good.' }])
})

test('[RUN-1] LangGraph: another process continues after an interrupt', async () => {
  const checkpointer = new MemorySaver()
  const done: string[] = []
  const log = await answeredElsewhere(() => reviewed(checkpointer, done), 'good')
  expect(done).toEqual(['draft', 'review'])
  expect(textOf(log)).toBe('a draft. It is good.')
  expect(typesOf(log)).not.toContain('attempt.discarded')
})

test('LangGraph: several nodes may ask at once, and each gets its own answer', async () => {
  const ask = (name: string) => () => ({ messages: [new AIMessage(`${name}: ${interrupt<string, string>(name)}`)] })
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('one', ask('one'))
    .addNode('two', ask('two'))
    .addEdge(START, 'one')
    .addEdge(START, 'two')
    .addEdge('one', END)
    .addEdge('two', END)
    .compile({ checkpointer: new MemorySaver() })
  const node = openNode({ components: [subject(graph)] })
  const id = await node.start('subject', 'hello')
  const { run } = await node.reached(id, 'paused', PATIENCE_MS)
  await node.answer(
    id,
    Object.fromEntries(run.waiting!.map((question) => [question.id, question.prompt.toUpperCase()])),
  )
  expect(
    textOf(await node.ended(id, PATIENCE_MS))
      .match(/\w+: \w+?(?=two:|one:|$)/g)
      ?.toSorted(),
  ).toEqual(['one: ONE', 'two: TWO'])
})

test('LangGraph: a graph with a breakpoint waits for permission to continue', async () => {
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('act', say('done'))
    .addEdge(START, 'act')
    .addEdge('act', END)
    .compile({ checkpointer: new MemorySaver(), interruptBefore: ['act'] })
  const log = await answered(subject(graph), true)
  expect(dataOf(log, 'run.paused')[0]!.questions).toMatchObject([{ kind: 'approval', prompt: 'Go on with act?' }])
  expect(dataOf(log, 'run.completed')).toMatchObject([{ output: 'done' }])
  expect((await answered(subject(graph), false)).at(-1)?.type).toBe('run.rejected')
})

/** Hangs in its second node, the first time. */
function killable(checkpointer: BaseCheckpointSaver | undefined, done: string[]): Component {
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('first', async (state) => {
      done.push('first')
      return say('one. ')(state)
    })
    .addNode('second', async (state, config) => {
      done.push('second')
      const scripted = await say('two. ')(state)
      if (done.filter((name) => name === 'second').length === 1) await aborted(config.signal)
      return scripted
    })
    .addNode('third', say('three.'))
    .addEdge(START, 'first')
    .addEdge('first', 'second')
    .addEdge('second', 'third')
    .addEdge('third', END)
    .compile(checkpointer === undefined ? {} : { checkpointer })
  return subject(graph)
}

test.for([
  ['with a checkpointer goes on at the node that was cut off', true, ['first', 'second', 'second']],
  ['without one begins again', false, ['first', 'second', 'first', 'second']],
] as const)('[RUN-1] LangGraph: a graph whose process dies, %s; no output is repeated', async ([, kept, expected]) => {
  const done: string[] = []
  const world = new World(killable(kept ? new MemorySaver() : undefined, done))
  const first = world.worker()
  const id = await first.start('subject', 'hello')
  await first.emitted(id, 'text.delta', 'one. two. '.length)
  world.kill()
  const log = await world.worker().ended(id, PATIENCE_MS)
  expect(done).toEqual(expected)
  expect(textOf(log)).toBe('one. two. three.')
  expect(log.at(-1)?.type).toBe('run.completed')
})

test('[RUN-1] LangGraph: work that is not in the log is repeated from the thread’s checkpoint', async () => {
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('count', ({ messages }) => ({ messages: [new AIMessage(`${messages.length} so far`)] }))
    .addEdge(START, 'count')
    .addEdge('count', END)
    .compile({ checkpointer: new MemorySaver() })
  let dies = false
  let ran = 0
  const killed: LangGraphAgentDefinition['graph'] = {
    checkpointer: graph.checkpointer,
    getState: (config) => graph.getState(config),
    async stream(input, options) {
      if (!dies) return graph.stream(input, options)
      // The process dies with the graph's work in the checkpoints and nothing of it in the log.
      await graph.invoke(input, { configurable: (options as { configurable: object }).configurable })
      ran++
      return aborted((options as { signal: AbortSignal }).signal)
    },
  }
  const world = new World(subject(killed, { thread: 'session' }))
  for (const expected of ['1 so far', '3 so far']) {
    dies = true
    const first = world.worker()
    const id = await first.start('subject', 'hello', { session: 's' })
    const before = ran
    await until('the graph ran', () => ran > before)
    world.kill()
    dies = false
    const log = await world.worker().ended(id, PATIENCE_MS)
    expect(dataOf(log, 'run.completed')).toMatchObject([{ output: expected }])
  }
})

test('LangGraph: a session has its own thread if configured', async () => {
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('count', ({ messages }) => ({ messages: [new AIMessage(`${messages.length} so far`)] }))
    .addEdge(START, 'count')
    .addEdge('count', END)
    .compile({ checkpointer: new MemorySaver() })
  const outputs = async (thread: 'run' | 'session'): Promise<unknown[]> => {
    const node = openNode({ components: [subject(graph, { thread })] })
    const reply: unknown[] = []
    for (let turn = 0; turn < 2; turn++) {
      const log = await node.ended(await node.start('subject', 'hello', { session: `s-${thread}` }), PATIENCE_MS)
      reply.push(dataOf(log, 'run.completed')[0]!.output)
    }
    return reply
  }
  expect(await outputs('session')).toEqual(['1 so far', '3 so far'])
  expect(await outputs('run')).toEqual(['1 so far', '1 so far'])
})

test('[RUN-3] LangGraph: a node that throws fails the run', async () => {
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('fall', () => {
      throw new Error('it fell')
    })
    .addEdge(START, 'fall')
    .addEdge('fall', END)
    .compile()
  expect(dataOf(await logOf(subject(graph)), 'run.failed')).toMatchObject([{ error: { message: 'it fell' } }])
})

test('[EVT-1] LangGraph: an unserializable state fails the run and names the value', async () => {
  const State = Annotation.Root({ bad: Annotation<unknown> })
  const graph = new StateGraph(State)
    .addNode('break', () => ({ bad: { deep: () => 1 } }))
    .addEdge(START, 'break')
    .addEdge('break', END)
    .compile()
  const [{ error }] = dataOf(await logOf(subject(graph), {}), 'run.failed') as [
    { error: { code: string; message: string } },
  ]
  expect(error.code).toBe('unserializable')
  expect(error.message).toContain('bad.deep is a function')
})

test('[RUN-2] LangGraph: a stop reaches the running node', async () => {
  let reported = false
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('wait', async (_state, config) => {
      config.writer?.('at work')
      await aborted(config.signal).catch(() => (reported = true))
      return {}
    })
    .addEdge(START, 'wait')
    .addEdge('wait', END)
    .compile()
  const node = openNode({ components: [subject(graph)] })
  const id = await node.start('subject', 'hello')
  await node.emitted(id, 'custom.emitted')
  await node.stop(id)
  expect((await node.ended(id, PATIENCE_MS)).at(-1)?.type).toBe('run.cancelled')
  expect(reported).toBe(true)
})
