/** The AI SDK's own chat against a real server. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
  type UIMessage,
} from 'ai'
import { describe, expect, onTestFinished, test } from 'vitest'
import { localPrincipal } from '../../../src/core/model/principal.ts'
import { until } from '../../support/until.ts'
import { chatAt, TestChat, textOf } from './chat.ts'
import { newestLog, newestText, serveChats } from './serve.ts'

test('AI SDK: a message starts a run in the session of the chat, and its text is that of the log', async () => {
  const server = await serveChats()
  const chat = chatAt(server.api('lab'))
  await chat.sendMessage({ text: 'text 5; reason 2; tool look; text 3' })
  expect(chat.status).toBe('ready')
  expect(chat.finished).toEqual([{ isAbort: false, isDisconnect: false, isError: false, finishReason: 'stop' }])
  expect(chat.text).toBe(await newestText(server))
  const { runs } = await server.service.list(localPrincipal, { session: 'c1' })
  expect(runs).toHaveLength(1)
  expect(runs[0]!.run).toMatchObject({ component: 'lab', protocol: 'ai-sdk' })
  expect(chat.messages.at(-1)).toMatchObject({
    id: runs[0]!.run.id.replace('run_', 'msg_'),
    role: 'assistant',
    metadata: { holdfast: { run: runs[0]!.run.id, session: 'c1', status: 'completed' } },
  })
})

test('AI SDK: a second message continues the conversation of the session', async () => {
  const server = await serveChats()
  const chat = chatAt(server.api('forecaster'))
  await chat.sendMessage({ text: 'hello' })
  await chat.sendMessage({ text: 'and again' })
  const created = (await newestLog(server))[0]!
  expect(created).toMatchObject({ type: 'run.created', data: { session: 'c1', input: 'and again' } })
  expect(chat.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant'])
  expect(new Set(chat.messages.map(({ id }) => id)).size).toBe(4)
})

describe('AI SDK: the body of a request', () => {
  const message = { id: 'u1', role: 'user', parts: [{ type: 'text', text: 'say hi' }] }

  test.each([
    ['all messages', { id: 'c1', messages: [message] }, 'application/json'],
    ['the last message alone', { id: 'c1', message }, 'application/json'],
    ['no id, and a content type of text', { messages: [message] }, 'text/plain;charset=UTF-8'],
  ])('may have %s', async (_, body, type) => {
    const server = await serveChats()
    const init = { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': type } }
    const response = await fetch(server.api('lab'), init)
    const text = await response.text()
    expect(response.status, text).toBe(200)
    expect(response.headers.get('x-vercel-ai-ui-message-stream')).toBe('v1')
    expect(response.headers.get('x-workflow-run-id')).toMatch(/^run_/)
    expect(text).toContain('"delta":"hi"')
    expect(text.startsWith(': stream-open\n\n')).toBe(true)
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true)
  })

  test.each([
    ['{}', 'messages: the request has no message'],
    ['{"messages":[]}', 'messages: the request has no message'],
    ['{"id":1,"messages":[]}', 'id: '],
    ['[', 'the body is not JSON'],
    ['{"messages":[{"role":"nobody","parts":[]}]}', 'messages.0.role: '],
    ['{"messages":[{"role":"user","parts":[]}]}', 'messages.0: the message has no text and no file'],
    ['{"messages":[{"role":"system","parts":[]}]}', 'the last message must be of the user'],
    [
      '{"messages":[{"role":"user","parts":[{"type":"file","url":"file:///x"}]}]}',
      'must be an http(s) URL or a base64',
    ],
  ])('is refused with a text for the user: %s', async (body, reason) => {
    const server = await serveChats()
    const response = await fetch(server.api('lab'), {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json' },
    })
    expect(response.status).toBe(400)
    expect(await response.text()).toContain(reason)
    expect((await server.service.list(localPrincipal)).runs).toEqual([])
  })

  test('is refused if it has too many messages', async () => {
    const server = await serveChats()
    const body = JSON.stringify({ messages: Array.from({ length: 2001 }, () => message) })
    const response = await fetch(server.api('lab'), { method: 'POST', body })
    expect([response.status, await response.text()]).toEqual([400, expect.stringContaining('messages: ')])
  })
})

test('AI SDK: an unknown component is a 404 whose text the chat shows', async () => {
  const server = await serveChats()
  const chat = chatAt(server.api('nobody'))
  await chat.sendMessage({ text: 'hi' })
  expect(chat.status).toBe('error')
  expect(chat.error?.message).toBe('component "nobody" not found')
})

describe('AI SDK: a chat resumes', () => {
  test('empty when its session has no run, or none that ended within a minute', async () => {
    let now = Date.now()
    const server = await serveChats({ clock: { now: () => now } })
    const chat = chatAt(server.api('lab'))
    await chat.resumeStream()
    expect([chat.status, chat.messages]).toEqual(['ready', []])
    await chat.sendMessage({ text: 'say hi' })
    const late = chatAt(server.api('lab'))
    await late.resumeStream()
    expect(late.messages).toEqual([chat.messages.at(-1)])
    now += 60_001
    const tooLate = await fetch(`${server.api('lab')}/c1/stream`)
    expect(tooLate.status).toBe(204)
  })

  test('in the middle of an answer, with the whole of it and the same message', async () => {
    const server = await serveChats()
    const first = chatAt(server.api('lab'))
    const sent = first.sendMessage({ text: 'text 20; hang' })
    await until('the first chat has some text', () => first.text.includes('[19]'))
    const second = chatAt(server.api('lab'))
    const resumed = second.resumeStream()
    await until('the second chat has caught up', () => second.text.includes('[19]'))
    const { runs } = await server.service.list(localPrincipal)
    await server.service.stop(localPrincipal, runs[0]!.run.id, 'enough')
    await Promise.all([sent, resumed])
    expect(second.messages.at(-1)).toEqual(first.messages.at(-1))
    expect(second.text).toBe(await newestText(server))
    expect(first.finished[0]?.finishReason).toBe('interrupted')
  })

  test('in a chat that has the beginning of the answer already, without repeating it', async () => {
    const server = await serveChats()
    const chat = chatAt(server.api('lab'))
    await chat.sendMessage({ text: 'text 5' })
    const whole = chat.messages.at(-1)!
    const partial: UIMessage = { ...whole, parts: [{ type: 'step-start' }, { type: 'text', text: '[0]' }] }
    const back = chatAt(server.api('lab'), { messages: [chat.messages[0]!, partial] })
    await back.resumeStream()
    expect(back.messages).toEqual(chat.messages)
  })
})

describe('AI SDK: a stop', () => {
  const stop = async (api: string, chat: string, body?: object): Promise<Response> =>
    fetch(`${api}/${chat}/stop`, { method: 'POST', ...(body !== undefined && { body: JSON.stringify(body) }) })

  test('ends the run of a chat, also after a reload, and can be repeated', async () => {
    const server = await serveChats()
    const chat = chatAt(server.api('lab'))
    const sent = chat.sendMessage({ text: 'text 3; hang' })
    await until('the chat has text', () => chat.text !== '')
    for (let count = 0; count < 2; count++)
      expect(await (await stop(server.api('lab'), 'c1')).json()).toEqual({ success: true })
    await sent
    expect(chat.finished).toEqual([
      { isAbort: false, isDisconnect: false, isError: false, finishReason: 'interrupted' },
    ])
    expect(await (await stop(server.api('lab'), 'c1', { activeStreamId: null })).json()).toEqual({ success: true })
    expect((await newestLog(server)).at(-1)!.type).toBe('run.cancelled')
  })

  test('changes nothing if it names another run', async () => {
    const server = await serveChats()
    const chat = chatAt(server.api('lab'))
    void chat.sendMessage({ text: 'text 3; hang' })
    await until('the chat has text', () => chat.text !== '')
    expect((await stop(server.api('lab'), 'c1', { activeStreamId: 'run_01other' })).status).toBe(200)
    expect((await newestLog(server)).map(({ type }) => type)).not.toContain('stop.requested')
    const { runs } = await server.service.list(localPrincipal)
    expect((await stop(server.api('lab'), 'c1', { activeStreamId: runs[0]!.run.id })).status).toBe(200)
    await until('the run ends', async () => (await newestLog(server)).at(-1)!.type === 'run.cancelled')
  })
})

describe('AI SDK: a run that asks', () => {
  test('for an approval continues in the same message when the chat sends it', async () => {
    const server = await serveChats()
    const chat = chatAt(server.api('clerk'), {
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
    })
    await chat.sendMessage({ text: 'send 25 to Ada' })
    const asked = toolParts(chat).find(({ state }) => state === 'approval-requested')!
    expect(asked).toMatchObject({ toolName: 'send', approval: { requestReason: 'May send be called?' } })
    expect(chat.finished.at(-1)?.finishReason).toBe('tool-calls')
    await chat.addToolApprovalResponse({ id: asked.approval!.id, approved: true })
    await until('the run has ended', () => chat.finished.length === 2 && chat.status === 'ready')
    expect(chat.messages).toHaveLength(2)
    const [again, ...others] = toolParts(chat).filter(({ toolName }) => toolName === 'send')
    expect(again).toMatchObject({ state: 'output-available', output: { sent: 25, to: 'Ada' } })
    expect(others).toEqual([])
    expect(chat.text).toBe(await newestText(server))
    const back = chatAt(server.api('clerk'))
    await back.resumeStream()
    expect(textOf(back.messages.at(-1))).toBe(chat.text)
    expect(toolParts(back).map(({ state, toolCallId }) => [toolCallId, state])).toEqual(
      toolParts(chat).map(({ state, toolCallId }) => [toolCallId, state]),
    )
  })

  test('for an approval that is denied shows the denial and continues', async () => {
    const server = await serveChats()
    const chat = chatAt(server.api('clerk'), {
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
    })
    await chat.sendMessage({ text: 'send 25 to Ada' })
    const asked = toolParts(chat).find(({ state }) => state === 'approval-requested')!
    await chat.addToolApprovalResponse({ id: asked.approval!.id, approved: false, reason: 'too much' })
    await until('the run has ended', () => chat.finished.length === 2 && chat.status === 'ready')
    expect(toolParts(chat).find(({ toolName }) => toolName === 'send')).toMatchObject({ state: 'output-denied' })
    expect((await newestLog(server)).find(({ type }) => type === 'run.resumed')).toMatchObject({
      data: { answers: { [asked.approval!.id]: { approved: false, reason: 'too much' } } },
    })
  })

  test('in words takes the next message as its answer, and continues in a new message', async () => {
    const server = await serveChats()
    const chat = chatAt(server.api('lab'))
    await chat.sendMessage({ text: 'say before; ask Which town?; say after' })
    expect(chat.messages.at(-1)!.parts.at(-1)).toMatchObject({
      type: 'data-holdfast-question',
      data: { kind: 'input', prompt: 'Which town?' },
    })
    expect(chat.finished.at(-1)?.finishReason).toBe('other')
    await chat.sendMessage({ text: 'Rome' })
    expect((await server.service.list(localPrincipal)).runs).toHaveLength(1)
    expect(chat.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant'])
    expect(new Set(chat.messages.map(({ id }) => id)).size).toBe(4)
    const spoken = chat.messages.filter(({ role }) => role === 'assistant').map(textOf)
    expect(spoken.join('')).toBe(await newestText(server))
    const back = chatAt(server.api('lab'))
    await back.resumeStream()
    expect(back.messages).toEqual([chat.messages.at(-1)])
  })

  test('is answered once when two clients answer, and both get the rest', async () => {
    const server = await serveChats()
    const chat = chatAt(server.api('clerk'))
    await chat.sendMessage({ text: 'send 25 to Ada' })
    const asked = toolParts(chat).find(({ state }) => state === 'approval-requested')!
    await chat.addToolApprovalResponse({ id: asked.approval!.id, approved: true })
    const other = chatAt(server.api('clerk'), { messages: structuredClone(chat.messages) })
    await Promise.all([chat.sendMessage(), other.sendMessage()])
    expect(chat.text).toBe(await newestText(server))
    expect(other.messages.at(-1)).toEqual(chat.messages.at(-1))
    expect((await newestLog(server)).filter(({ type }) => type === 'run.resumed')).toHaveLength(1)
  })

  test('refuses an answer with a text after its question was answered', async () => {
    const server = await serveChats()
    const chat = chatAt(server.api('lab'), { sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls })
    await chat.sendMessage({ text: 'tool look' })
    expect(chat.status).toBe('ready')
    expect(chat.finished).toHaveLength(1)
    await chat.sendMessage()
    expect(chat.error?.message).toBe('the message does not answer an open question: reload the chat')
  })
})

test('AI SDK: a regenerated answer is a new run with the conversation before it', async () => {
  const server = await serveChats()
  const chat = chatAt(server.api('forecaster'))
  await chat.sendMessage({ text: 'hello' })
  const before = chat.messages.at(-1)!.id
  await chat.regenerate()
  expect(chat.messages).toHaveLength(2)
  expect(chat.messages.at(-1)!.id).not.toBe(before)
  expect((await newestLog(server))[0]).toMatchObject({
    data: { input: { messages: [{ role: 'user', content: 'hello' }], continues: false } },
  })
})

interface Ending {
  readonly how: string
  readonly chunks: readonly (object | 'cut')[]
  readonly status: string
  readonly finished: object
  /** Of its last part. */
  readonly last?: object
}

const half = [
  { type: 'start', messageId: 'm' },
  { type: 'start-step' },
  { type: 'text-start', id: 't' },
  { type: 'text-delta', id: 't', delta: 'half' },
]
const reported = { isAbort: false, isDisconnect: false, isError: false, finishReason: undefined }

/** Why this protocol ends its streams as it does. */
const endings: readonly Ending[] = [
  { how: 'a clean end without finish', chunks: [], status: 'ready', finished: reported },
  { how: 'abort alone', chunks: [{ type: 'abort' }], status: 'ready', finished: reported },
  {
    how: 'abort and finish',
    chunks: [{ type: 'abort' }, { type: 'finish', finishReason: 'interrupted' }],
    status: 'ready',
    finished: { ...reported, finishReason: 'interrupted' },
  },
  {
    how: 'error alone',
    chunks: [{ type: 'error', errorText: 'it broke' }],
    status: 'error',
    finished: { ...reported, isError: true },
  },
  {
    how: 'a request for approval',
    chunks: [
      { type: 'tool-input-available', toolCallId: 'call', toolName: 'refund', input: {}, dynamic: true },
      { type: 'tool-approval-request', approvalId: 'question', toolCallId: 'call' },
      { type: 'finish', finishReason: 'tool-calls' },
    ],
    status: 'ready',
    finished: { ...reported, finishReason: 'tool-calls' },
    last: { state: 'approval-requested' },
  },
  {
    how: 'error and finish',
    chunks: [
      { type: 'error', errorText: 'it broke' },
      { type: 'finish', finishReason: 'error' },
    ],
    status: 'error',
    finished: { ...reported, isError: true },
  },
  {
    how: 'reset-step and other text',
    chunks: [{ type: 'reset-step' }, ...half.slice(2), { type: 'finish', finishReason: 'stop' }],
    status: 'ready',
    finished: { ...reported, finishReason: 'stop' },
  },
  { how: 'a cut connection', chunks: ['cut'], status: 'error', finished: { ...reported, isError: true } },
]

test.each(endings)('AI SDK: the chat has the expected state after $how', async ({ chunks, status, finished, last }) => {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const chunk of [...half, ...chunks]) if (chunk !== 'cut') response.write(`data: ${JSON.stringify(chunk)}\n\n`)
    if (chunks.includes('cut')) setImmediate(() => response.destroy())
    else response.end('data: [DONE]\n\n')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const chat: TestChat = chatAt(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
  await chat.sendMessage({ text: 'hi' })
  expect(chat.status).toBe(status)
  expect(chat.text).toBe('half')
  expect(chat.finished).toEqual([finished])
  expect(chat.messages.at(-1)?.parts.at(-1)).toMatchObject(last ?? {})
})

test.each([
  ['Chromium', 'network error', true],
  ['Safari', 'Load failed', true],
  ['Node', 'terminated', false],
])(
  'AI SDK: the chat treats a broken connection as such, with the error text of %s',
  async (_, message, isDisconnect) => {
    const bytes = half.map((chunk) => new TextEncoder().encode(`data: ${JSON.stringify(chunk)}\n\n`))
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        const next = bytes.shift()
        if (next === undefined) controller.error(new TypeError(message))
        else controller.enqueue(next)
      },
    })
    const transport = new DefaultChatTransport<UIMessage>({ fetch: () => Promise.resolve(new Response(body)) })
    const chat = chatAt('', { transport })
    await chat.sendMessage({ text: 'hi' })
    expect(chat.status).toBe('error')
    expect(chat.finished).toEqual([{ ...reported, isError: true, isDisconnect }])
  },
)

describe('[RUN-3] AI SDK: the chat gets how its run ended:', () => {
  test.each([
    ['completed', 'text 3', { status: 'ready', finishReason: 'stop' }],
    ['failed', 'text 3; fail it broke', { status: 'error', error: 'it broke' }],
    ['rejected', 'text 3; reject not mine', { status: 'error', error: 'not mine' }],
    ['failed by a throw', 'text 3; throw boom', { status: 'error', error: 'boom' }],
  ])('%s', async (_, script, expected) => {
    const server = await serveChats()
    const chat = chatAt(server.api('lab'))
    await chat.sendMessage({ text: script })
    const { finishReason } = chat.finished[0]!
    const error = chat.error?.message
    expect({ status: chat.status, ...(error === undefined ? { finishReason } : { error }) }).toEqual(expected)
    expect(chat.text).toBe(await newestText(server))
  })

  test('a server that stops cuts the stream, so that a chat does not take it for the end', async () => {
    const server = await serveChats()
    const chat = chatAt(server.api('lab'))
    const sent = chat.sendMessage({ text: 'text 3; hang' })
    await until('the chat has text', () => chat.text !== '')
    await server.close()
    await sent
    expect(chat.status).toBe('error')
    expect(chat.finished[0]?.isError).toBe(true)
  })
})

describe('AI SDK: the messages of a chat', () => {
  const load = async (api: string): Promise<UIMessage[]> => {
    const { messages } = (await (await fetch(`${api}/c1/messages`)).json()) as { messages: UIMessage[] }
    return messages
  }
  /** As JSON: without fields that are undefined. The end of a stream adds metadata. */
  const plain = (messages: readonly UIMessage[]): unknown =>
    JSON.parse(JSON.stringify(messages.map(({ metadata: _metadata, ...message }) => message)))

  test('are those that its client has, after tools, an approval, an answer in words and an error', async () => {
    const server = await serveChats()
    for (const [component, spoken] of [
      ['clerk', ['send 25 to Ada', 'approve', 'and again']],
      [
        'lab',
        ['text 3; reason 2; tool look; custom c; artifact a 1; ask Which town?; say after', 'Rome', 'text 2; fail no'],
      ],
    ] as const) {
      const chat = chatAt(server.api(component))
      for (const text of spoken) {
        const asked = toolParts(chat).find(({ state }) => state === 'approval-requested')
        if (asked === undefined) await chat.sendMessage({ text })
        else {
          await chat.addToolApprovalResponse({ id: asked.approval!.id, approved: true })
          await chat.sendMessage()
        }
      }
      const loaded = await load(server.api(component))
      expect(textsOf(loaded)).toEqual(textsOf(chat.messages))
      const answers = ({ role }: UIMessage): boolean => role === 'assistant'
      expect(plain(loaded.filter(answers))).toEqual(plain(chat.messages.filter(answers)))
    }
  })

  test('have a regenerated answer instead of the one before it', async () => {
    const server = await serveChats()
    const chat = chatAt(server.api('echo'))
    await chat.sendMessage({ text: 'one' })
    await chat.sendMessage({ text: 'two' })
    await chat.regenerate()
    expect(plain(await load(server.api('echo')))).toEqual(plain(chat.messages))
  })

  test('of a run that has not ended are replaced when the page resumes it', async () => {
    const server = await serveChats()
    const chat = chatAt(server.api('lab'))
    const sent = chat.sendMessage({ text: 'text 5; hang' })
    await until('the chat has text', () => chat.text.includes('[4]'))
    const back = chatAt(server.api('lab'), { messages: await load(server.api('lab')) })
    expect(back.text).toBe(chat.text)
    const resumed = back.resumeStream()
    await fetch(`${server.api('lab')}/c1/stop`, { method: 'POST' })
    await Promise.all([sent, resumed])
    expect(plain(back.messages)).toEqual(plain(chat.messages))
  })

  const textsOf = (messages: readonly UIMessage[]): string[] => messages.map(textOf)
})

describe('AI SDK: a client that counts chunks', () => {
  const chunksIn = (text: string): string[] => text.split('\n\n').filter((frame) => frame.startsWith('data: {'))

  test('resumes after any of them, or with the last ones, by the id of its stream', async () => {
    const server = await serveChats()
    const api = server.api('lab')
    const body = JSON.stringify({ messages: [{ role: 'user', parts: [{ type: 'text', text: 'text 10' }] }] })
    const sent = await fetch(api, { method: 'POST', body })
    const whole = chunksIn(await sent.text())
    const stream = `${api}/${sent.headers.get('x-workflow-run-id')}/stream`
    for (const startIndex of [0, 1, 7, whole.length - 1])
      expect(chunksIn(await (await fetch(`${stream}?startIndex=${startIndex}`)).text())).toEqual(
        whole.slice(startIndex),
      )
    for (const startIndex of [-1, -4, -1000]) {
      const response = await fetch(`${stream}?startIndex=${startIndex}`)
      expect(response.headers.get('x-workflow-stream-tail-index')).toBe(String(whole.length - 1))
      expect(chunksIn(await response.text())).toEqual(whole.slice(startIndex))
    }
    const beyond = await fetch(`${stream}?startIndex=${whole.length + 1}`)
    expect([beyond.status, await beyond.text()]).toEqual([400, expect.stringContaining('beyond its end')])
    expect((await fetch(`${stream}?startIndex=x`)).status).toBe(400)
    expect((await fetch(`${api}/run_01nobody/stream`)).status).toBe(404)
  })

  test('is refused with 429 if it asks too often', async () => {
    const burst = 5
    const server = await serveChats({
      authenticate: () => ({ id: 'alice' }),
      limits: { maxRequestsPerSecond: 1e-6, maxRequestBurst: burst }, // nothing is refilled meanwhile
    })
    const statuses: number[] = []
    for (let count = 0; count < 2 * burst; count++)
      statuses.push((await fetch(`${server.api('lab')}/c1/stream?startIndex=0`)).status)
    expect(statuses.slice(0, burst)).not.toContain(429)
    expect(new Set(statuses.slice(burst))).toEqual(new Set([429]))
  })
})

interface ToolPart {
  readonly toolName: string
  readonly toolCallId: string
  readonly state: string
  readonly output?: unknown
  readonly approval?: { readonly id: string }
}

function toolParts(chat: TestChat): ToolPart[] {
  return (chat.messages.at(-1)?.parts ?? []).filter(({ type }) => type === 'dynamic-tool') as unknown as ToolPart[]
}
