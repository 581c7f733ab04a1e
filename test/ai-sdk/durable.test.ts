/** `durable(streamText(…))` in a route, used by the AI SDK's own chat. */
import {
  convertToModelMessages,
  createUIMessageStream,
  DefaultChatTransport,
  isStepCount,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  streamText,
  tool,
  type UIMessage,
  type UIMessageChunk,
} from 'ai'
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { type ScriptedOutput, scriptedModel } from '../../src/agents/model/scripted/scripted.ts'
import {
  createDurableChats,
  type DurableChat,
  type DurableInput,
  type DurableChats,
  type DurableChatsOptions,
  durableChatComponent,
} from '../../src/ai-sdk/server/index.ts'
import { localPrincipal } from '../../src/core/model/principal.ts'
import { holdfast } from '../../src/mount/holdfast.ts'
import { createMemoryStore } from '../../src/stores/memory.ts'
import { TestChat, textOf } from '../protocols/ai-sdk/chat.ts'
import { until } from '../support/until.ts'

type Make = (body: DurableChat & { readonly messages: UIMessage[] }) => DurableInput | Promise<DurableInput>

/** The routes of an application: `POST /api/chat` and `GET /api/chat/{id}/stream`. */
function application(make: Make, options: DurableChatsOptions = {}) {
  const streams = createDurableChats({
    ...(options.holdfast === undefined && { store: createMemoryStore() }),
    ...options,
  })
  onTestFinished(() => streams.close())
  const route = async (request: Request): Promise<Response> => {
    const [, , , id] = new URL(request.url).pathname.split('/')
    if (request.method === 'GET') return streams.resume(id!)
    const body = (await request.json()) as DurableChat & { messages: UIMessage[] }
    return streams.durable(await make(body), body)
  }
  const chat = (init: { readonly messages?: UIMessage[] } = {}): TestChat =>
    new TestChat({
      id: 'c1',
      transport: new DefaultChatTransport<UIMessage>({
        api: 'http://app/api/chat',
        fetch: (input, given) => route(new Request(input, given)),
      }),
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
      ...init,
    })
  return { streams, route, chat }
}

function says(...turns: ScriptedOutput[]) {
  return scriptedModel({ script: ({ turn }) => turns[Math.min(turn, turns.length) - 1]! })
}

/** A stream that the test writes. */
function source() {
  let controller!: ReadableStreamDefaultController<UIMessageChunk>
  const stream = new ReadableStream<UIMessageChunk>({ start: (own) => void (controller = own) })
  const write = (...chunks: UIMessageChunk[]): void => chunks.forEach((chunk) => controller.enqueue(chunk))
  return { stream, write, end: () => controller.close(), fail: (error: unknown) => controller.error(error) }
}

const begin: UIMessageChunk[] = [
  { type: 'start', messageId: 'm1' },
  { type: 'start-step' },
  { type: 'text-start', id: 't' },
]
const say = (delta: string): UIMessageChunk => ({ type: 'text-delta', id: 't', delta })

async function chunksOf(response: Response): Promise<UIMessageChunk[]> {
  const lines = (await response.text()).split('\n').filter((line) => line.startsWith('data: {'))
  return lines.map((line) => JSON.parse(line.slice('data: '.length)) as UIMessageChunk)
}

async function logOf(
  options: DurableChatsOptions,
  make: Make,
  use: (app: ReturnType<typeof application>) => Promise<void>,
) {
  const hf = holdfast({ components: [durableChatComponent], store: createMemoryStore() })
  onTestFinished(() => hf.close())
  const app = application(make, { ...options, holdfast: hf })
  await use(app)
  const { runs } = await hf.runs.list()
  const events = []
  for await (const event of hf.runs.open(runs[0]!.id).events()) events.push(event)
  return { hf, runs, events, app }
}

test('durable: a chat gets what streamText says, and the log has its text, tools and chunks', async () => {
  const add = tool({ inputSchema: z.object({ a: z.number() }), execute: ({ a }) => a + 1 })
  const model = says([{ type: 'tool', name: 'add', input: { a: 1 } }], 'It is 2')
  const { events, runs } = await logOf(
    {},
    async ({ messages }) =>
      streamText({ model, tools: { add }, messages: await convertToModelMessages(messages), stopWhen: isStepCount(3) }),
    async ({ chat }) => {
      const shown = chat()
      await shown.sendMessage({ text: 'add 1 to 1' })
      expect([shown.status, shown.text, shown.error]).toEqual(['ready', 'It is 2', undefined])
      expect(shown.messages.at(-1)!.parts).toContainEqual(
        expect.objectContaining({ type: 'tool-add', state: 'output-available', output: 2 }),
      )
      expect(shown.finished[0]).toMatchObject({ isError: false, finishReason: 'stop' })
    },
  )
  expect(runs[0]).toMatchObject({ session: 'c1', status: 'completed', component: 'durable-chat' })
  expect(events[0]!.data).toMatchObject({ input: 'add 1 to 1', upstream: 'ai-sdk' })
  const types = events.map(({ type }) => type)
  expect(types).toEqual(expect.arrayContaining(['upstream.received', 'tool.called', 'tool.completed', 'text.delta']))
})

test('[RUN-2] durable: a stream survives its reader, and is resumed whole with the same message', async () => {
  const { stream, write, end } = source()
  const { route, chat } = application(() => stream)
  const body = { id: 'c1', messages: [{ id: 'u1', role: 'user', parts: [{ type: 'text', text: 'go' }] }] }
  const response = await route(new Request('http://app/api/chat', { method: 'POST', body: JSON.stringify(body) }))
  write(...begin, say('one '))
  const reader = response.body!.getReader()
  await reader.read()
  await reader.cancel()
  write(say('two'))
  const second = chat()
  const resumed = second.resumeStream()
  await until('it has caught up', () => second.text === 'one two')
  write({ type: 'text-end', id: 't' }, { type: 'finish-step' }, { type: 'finish', finishReason: 'length' })
  end()
  await resumed
  expect([second.text, second.messages.at(-1)!.id, second.finished[0]!.finishReason]).toEqual([
    'one two',
    'm1',
    'length',
  ])
  expect((await route(new Request('http://app/api/chat/unknown/stream'))).status).toBe(204)
})

test('[LOG-5] durable: chunks of every kind come back as they were, live and replayed', async () => {
  const chunks: UIMessageChunk[] = [
    { type: 'start', messageId: 'm1', messageMetadata: { model: 'kelp-1' } },
    { type: 'start-step' },
    { type: 'reasoning-start', id: 'r', providerMetadata: { kelp: { depth: 3 } } },
    { type: 'reasoning-delta', id: 'r', delta: 'hm' },
    { type: 'reasoning-end', id: 'r' },
    { type: 'source-url', sourceId: 's', url: 'https://example.com', title: 'Example' },
    { type: 'source-document', sourceId: 'd', mediaType: 'text/plain', title: 'Notes', filename: 'n.txt' },
    { type: 'file', mediaType: 'text/plain', url: 'data:text/plain;base64,aGk=' },
    { type: 'data-weather', id: 'w', data: { loading: true } },
    { type: 'data-weather', id: 'w', data: { degrees: 12 } },
    { type: 'data-notice', data: 'soon gone', transient: true },
    { type: 'tool-input-start', toolCallId: 'c', toolName: 'look', title: 'Look' },
    { type: 'tool-input-delta', toolCallId: 'c', inputTextDelta: '{}' },
    { type: 'tool-input-available', toolCallId: 'c', toolName: 'look', input: {}, title: 'Look' },
    { type: 'tool-output-available', toolCallId: 'c', output: 'half', preliminary: true },
    { type: 'tool-output-available', toolCallId: 'c', output: 'whole' },
    { type: 'tool-input-available', toolCallId: 'd', toolName: 'fall', input: { x: 1 }, dynamic: true },
    { type: 'tool-output-error', toolCallId: 'd', errorText: 'it fell', dynamic: true },
    { type: 'finish-step' },
    { type: 'start-step' },
    { type: 'text-start', id: 't' },
    { type: 'text-delta', id: 't', delta: 'done' },
    { type: 'text-end', id: 't' },
    { type: 'finish-step' },
    { type: 'message-metadata', messageMetadata: { tokens: 12 } },
    { type: 'finish', finishReason: 'stop', messageMetadata: { cost: 3 } },
  ]
  const { stream, write, end } = source()
  const { route, chat, streams } = application(() => stream)
  write(...chunks)
  end()
  const shown = chat()
  await shown.sendMessage({ text: 'go' })
  expect(shown.messages.at(-1)!.metadata).toMatchObject({ model: 'kelp-1', tokens: 12, cost: 3 })
  const replayed = await chunksOf(await route(new Request('http://app/api/chat/c1/stream')))
  const inner = (list: readonly UIMessageChunk[]) =>
    list.filter(({ type }) => type !== 'start' && type !== 'finish' && type !== 'message-metadata')
  expect(inner(replayed)).toEqual(inner(chunks))
  const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value))
  const [user, answer] = await streams.load('c1')
  expect(user).toMatchObject({ role: 'user', parts: [{ type: 'text', text: 'go' }], id: shown.messages[0]!.id })
  expect(plain(answer)).toEqual(plain(shown.messages[1]))
})

test.each([
  [
    'an error chunk',
    (each: ReturnType<typeof source>) => each.write({ type: 'error', errorText: 'no model today' }),
    'no model today',
  ],
  ['a source that throws', (each: ReturnType<typeof source>) => each.fail(new Error('it broke')), 'it broke'],
  ['an abort chunk', (each: ReturnType<typeof source>) => each.write({ type: 'abort', reason: 'timeout' }), 'timeout'],
])('[RUN-3] durable: %s ends the chat with an error, after what was said', async (_, break_, message) => {
  const each = source()
  const { chat } = application(() => each.stream)
  const shown = chat()
  const sent = shown.sendMessage({ text: 'go' })
  each.write(...begin, say('half'))
  await until('there is text', () => shown.text === 'half')
  break_(each)
  await sent
  expect([shown.status, shown.text]).toEqual(['error', 'half'])
  expect(shown.error?.message).toContain(message)
  expect(shown.finished[0]).toMatchObject({ isError: true })
})

test('durable: a stop aborts the model call, and the chat says that it was interrupted', async () => {
  let aborted = false
  const each = source()
  const { chat, streams } = application(() => (signal) => {
    signal.addEventListener('abort', () => (aborted = true))
    return each.stream
  })
  const shown = chat()
  const sent = shown.sendMessage({ text: 'go' })
  each.write(...begin, say('half'))
  await until('there is text', () => shown.text === 'half')
  await streams.stop('c1')
  await sent
  expect([aborted, shown.status, shown.finished[0]!.finishReason]).toEqual([true, 'ready', 'interrupted'])
})

test('durable: an approval continues the message, and the history has one', async () => {
  const send = tool({ inputSchema: z.object({}), execute: () => 'sent' })
  const model = scriptedModel({
    script: ({ results }) => (results.length === 0 ? [{ type: 'tool', name: 'send', input: {} }] : 'done'),
  })
  const { chat, streams } = application(async ({ messages }) =>
    streamText({
      model,
      tools: { send },
      toolApproval: { send: 'user-approval' },
      messages: await convertToModelMessages(messages),
      stopWhen: isStepCount(3),
    }),
  )
  const shown = chat()
  await shown.sendMessage({ text: 'send it' })
  const requested = shown.messages.at(-1)!.parts.find((part) => part.type === 'tool-send') as {
    approval: { id: string }
  }
  await shown.addToolApprovalResponse({ id: requested.approval.id, approved: true })
  await until('the second stream has ended', () => shown.finished.length === 2 && shown.status === 'ready')
  expect(shown.error).toBeUndefined()
  expect(shown.messages.map(({ role }) => role)).toEqual(['user', 'assistant'])
  const loaded = await streams.load('c1')
  expect(loaded.map(({ id }) => id)).toEqual(shown.messages.map(({ id }) => id))
  expect(textOf(loaded[1])).toBe('done')
  expect(loaded[1]!.parts).toContainEqual(expect.objectContaining({ type: 'tool-send', state: 'output-available' }))
})

test('durable: createUIMessageStream keeps its own data parts', async () => {
  const { chat } = application(() =>
    createUIMessageStream({
      execute({ writer }) {
        writer.write({ type: 'data-mood', data: 'calm' })
      },
    }),
  )
  const shown = chat()
  await shown.sendMessage({ text: 'go' })
  expect(shown.messages.at(-1)!.parts).toContainEqual({ type: 'data-mood', data: 'calm' })
  expect(shown.finished[0]).toMatchObject({ isError: false, finishReason: 'stop' })
})

test('[SEC-1] durable: the chats of a principal do not exist for others', async () => {
  const streams: DurableChats = application(() => source().stream).streams
  const { stream, write, end } = source()
  write(...begin, say('secret'))
  end()
  const alice = { id: 'alice' }
  await (await streams.durable(stream, { id: 'c1', principal: alice })).text()
  expect((await streams.resume('c1')).status).toBe(204)
  expect(await streams.load('c1', { principal: localPrincipal })).toEqual([])
  expect(await (await streams.resume('c1', { principal: alice })).text()).toContain('secret')
})

test('durable: a stream that is no UI message stream, and options that do not exist, are refused', async () => {
  const { streams } = application(() => source().stream)
  const texts = new ReadableStream({
    start(controller) {
      controller.enqueue('text')
      controller.close()
    },
  })
  const response = await streams.durable(texts as never, { id: 'c1' })
  expect(await response.text()).toContain('must consist of UI message chunks')
  await expect(streams.durable(texts as never, {} as never)).rejects.toThrow('the id of the chat')
  expect(() => createDurableChats({ redis: 'x' } as never)).toThrow('unknown option redis')
})
