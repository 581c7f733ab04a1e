/** The AI SDK's own WebSocketChatTransport against a real server. */
import { type UIMessage, WebSocketChatTransport } from 'ai'
import { expect, onTestFinished, test } from 'vitest'
import { WebSocket } from 'ws'
import { agent } from '../../../src/agents/agent.ts'
import { localPrincipal } from '../../../src/core/model/principal.ts'
import { stillClock } from '../../support/still-clock.ts'
import { until } from '../../support/until.ts'
import { TestChat } from './chat.ts'
import { newestLog, newestText, serveChats } from './serve.ts'

function chatOver(
  api: string,
  options: { readonly params?: Record<string, string>; readonly protocols?: string[] } = {},
) {
  const transport = new WebSocketChatTransport<UIMessage>({ url: api, webSocket: WebSocket as never, ...options })
  onTestFinished(() => transport.close())
  return new TestChat({ id: 'c1', transport })
}

/** A socket that the test uses directly, and its received messages. */
async function rawSocket(api: string) {
  const socket = new WebSocket(api.replace('http', 'ws'))
  onTestFinished(() => socket.terminate())
  const received: Record<string, unknown>[] = []
  const closed: number[] = []
  socket.on('message', (data: Buffer) => received.push(JSON.parse(data.toString()) as Record<string, unknown>))
  socket.on('close', (code) => closed.push(code))
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
  return { socket, received, closed, send: (frame: unknown) => socket.send(JSON.stringify(frame)) }
}

const message = { id: 'u1', role: 'user', parts: [{ type: 'text', text: 'text 3; hang' }] }
const about = { headers: {}, body: {} }

test('AI SDK socket: a message is answered with the text of the log, and several chats share the connection', async () => {
  const server = await serveChats()
  const transport = new WebSocketChatTransport<UIMessage>({ url: server.api('lab'), webSocket: WebSocket as never })
  onTestFinished(() => transport.close())
  const chats = ['a', 'b', 'c'].map((id) => new TestChat({ id, transport }))
  await Promise.all(chats.map((chat) => chat.sendMessage({ text: 'text 30; tool look; text 5' })))
  const text = await newestText(server)
  for (const chat of chats) {
    expect([chat.status, chat.text]).toEqual(['ready', text])
    expect(chat.finished).toEqual([{ isAbort: false, isDisconnect: false, isError: false, finishReason: 'stop' }])
  }
})

test('AI SDK socket: a chat resumes with the whole message, or learns that there is nothing', async () => {
  const server = await serveChats()
  const first = chatOver(server.api('lab'))
  void first.sendMessage({ text: 'text 20; hang' }).catch(() => {})
  await until('there is text', () => first.text.includes('[19]'))
  const second = chatOver(server.api('lab'))
  const resumed = second.resumeStream()
  await until('it has caught up', () => second.text === first.text)
  const { runs } = await server.service.list(localPrincipal)
  await server.service.stop(localPrincipal, runs[0]!.run.id, 'enough')
  await resumed
  expect(second.finished[0]?.finishReason).toBe('interrupted')
  const none = new TestChat({
    id: 'unknown',
    transport: new WebSocketChatTransport<UIMessage>({ url: server.api('lab'), webSocket: WebSocket as never }),
  })
  await none.resumeStream()
  expect([none.status, none.messages]).toEqual(['ready', []])
})

test('[RUN-2] AI SDK socket: stop() stops the run, a lost connection does not', async () => {
  const server = await serveChats()
  const lost = await rawSocket(server.api('lab'))
  lost.send({ type: 'send', requestId: 'r1', id: 'c1', trigger: 'submit-message', messages: [message], ...about })
  await until('there are chunks', () => lost.received.some(({ sequence }) => sequence === 4))
  lost.socket.terminate()
  await until('the server has noticed', () => server.service.load().subscribers === 0)
  expect((await newestLog(server)).map(({ type }) => type)).not.toContain('stop.requested')
  const chat = chatOver(server.api('lab'))
  const resumed = chat.resumeStream()
  await until('there is text', () => chat.text.includes('[2]'))
  await chat.stop()
  await resumed
  await until('the run has ended', async () => (await newestLog(server)).at(-1)!.type === 'run.cancelled')
})

test('AI SDK socket: sequences are positions, so that a resume after one gets exactly the rest', async () => {
  const server = await serveChats()
  const first = await rawSocket(server.api('lab'))
  const script = { ...message, parts: [{ type: 'text', text: 'text 10; reason 2' }] }
  first.send({ type: 'send', requestId: 'r1', id: 'c1', trigger: 'submit-message', messages: [script], ...about })
  await until('it has ended', () => first.received.some(({ type }) => type === 'end'))
  const chunks = first.received.filter(({ type }) => type === 'chunk')
  expect(chunks.map(({ sequence }) => sequence)).toEqual(chunks.map((_, index) => index))
  for (const lastSequence of [0, 5, chunks.length - 2]) {
    const requestId = `after ${lastSequence}`
    first.send({ type: 'resume', requestId, id: 'c1', lastSequence, ...about })
    const own = () => first.received.filter((frame) => frame['requestId'] === requestId)
    await until('it has ended', () => own().some(({ type }) => type === 'end'))
    expect(own()[0]).toEqual({ type: 'start', requestId })
    expect(
      own()
        .filter(({ type }) => type === 'chunk')
        .map(({ chunk }) => chunk),
    ).toEqual(chunks.slice(lastSequence + 1).map(({ chunk }) => chunk))
  }
})

test('AI SDK socket: output of earlier steps that is retracted disconnects the client, which resumes without it', async () => {
  const fickle = agent<unknown>({
    id: 'fickle',
    async *run(_input, { stage, tool }) {
      for (let attempt = 1; attempt <= 2; attempt++)
        await stage('draft', async function* () {
          yield `draft ${attempt}`
          await tool({ name: 'look', input: attempt }, () => 'seen') // the next text begins another step
          yield ' more'
          if (attempt === 1) throw new Error('again')
        }).catch(() => {})
    },
  })
  const server = await serveChats({ components: [fickle] })
  const chat = chatOver(server.api('fickle'))
  await chat.sendMessage({ text: 'go' })
  expect(chat.finished[0]).toMatchObject({ isDisconnect: true })
  await chat.resumeStream()
  expect([chat.status, chat.text]).toEqual(['ready', 'draft 2 more'])
})

test.each([
  ['a frame that is not JSON', '{', 1008],
  ['a frame without a request', '{"type":"send"}', 1008],
])('[SEC-2] AI SDK socket: %s ends the connection', async (_, frame, code) => {
  const server = await serveChats()
  const { socket, closed } = await rawSocket(server.api('lab'))
  socket.send(frame)
  await until('it is closed', () => closed.length > 0)
  expect(closed).toEqual([code])
})

test('AI SDK socket: refusals name their request, and the connection goes on', async () => {
  const server = await serveChats()
  const { send, received } = await rawSocket(server.api('lab'))
  send({ type: 'send', requestId: 'bad', id: 'c1', messages: [], ...about })
  send({ type: 'resume', requestId: 'no', id: 'c1', ...about })
  send({ type: 'abort', requestId: 'unknown' })
  send({ type: 'send', requestId: 'good', id: 'c1', trigger: 'submit-message', messages: [message], ...about })
  await until('there are chunks', () => received.some(({ requestId }) => requestId === 'good'))
  send({ type: 'send', requestId: 'good', id: 'c1', trigger: 'submit-message', messages: [message], ...about })
  await until('it is refused', () => received.some(({ type, requestId }) => type === 'error' && requestId === 'good'))
  expect(received.slice(0, 2)).toEqual([
    { type: 'error', requestId: 'bad', errorText: 'messages: the request has no message' },
    { type: 'no-active', requestId: 'no' },
  ])
})

test('[SEC-2] AI SDK socket: it is refused without a credential, and accepts a token in the address or a subprotocol', async () => {
  const server = await serveChats({ auth: { securityKey: 'open-sesame-0123456789' } })
  const api = server.api('lab')
  await expect(rawSocket(api)).rejects.toThrow('401')
  await expect(rawSocket(`${api}?token=wrong`)).rejects.toThrow('401')
  const token = 'open-sesame-0123456789'
  for (const options of [{ params: { token } }, { protocols: ['bearer', token] }]) {
    const chat = chatOver(api, options)
    await chat.sendMessage({ text: 'say hi' })
    expect([chat.error, chat.text]).toEqual([undefined, 'hi'])
  }
})

test('[SEC-2] AI SDK socket: a client that hammers is throttled, and one connection follows at most 64 streams', async () => {
  const server = await serveChats()
  const { send, received } = await rawSocket(server.api('lab'))
  for (let count = 0; count < 70; count++)
    send({
      type: 'send',
      requestId: `r${count}`,
      id: `chat-${count}`,
      trigger: 'submit-message',
      messages: [message],
      ...about,
    })
  const refusals = () => received.filter(({ type }) => type === 'error')
  await until('six are refused', () => refusals().length === 6)
  expect(String(refusals()[0]!['errorText'])).toContain('64 streams')
  const throttled = await serveChats({
    authenticate: () => ({ id: 'alice' }),
    clock: stillClock,
    limits: { maxRequestsPerSecond: 5, maxRequestBurst: 20 },
  })
  const hammer = await rawSocket(throttled.api('lab'))
  for (let count = 0; count < 100; count++) hammer.send({ type: 'resume', requestId: `r${count}`, id: 'c1', ...about })
  await until('all are answered', () => hammer.received.length === 100)
  // The handshake counts too.
  expect(hammer.received.filter(({ type }) => type === 'error')).toHaveLength(81)
})

test('AI SDK socket: a server that stops closes without an end', async () => {
  const server = await serveChats()
  const { send, received, closed } = await rawSocket(server.api('lab'))
  send({ type: 'send', requestId: 'r', id: 'c1', trigger: 'submit-message', messages: [message], ...about })
  await until('there are chunks', () => received.length > 3)
  await server.close()
  await until('it is closed', () => closed.length > 0)
  expect(received.map(({ type }) => type)).not.toContain('end')
})
