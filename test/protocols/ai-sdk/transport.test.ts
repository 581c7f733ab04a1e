/** Our chat transport under the AI SDK's own chat, through bad networks. */
import { lastAssistantMessageIsCompleteWithApprovalResponses } from 'ai'
import { expect, test } from 'vitest'
import { HoldfastChatTransport } from '../../../src/ai-sdk/index.ts'
import { localPrincipal } from '../../../src/core/model/principal.ts'
import { startFaultProxy } from '../../client/fault-proxy.ts'
import { until } from '../../support/until.ts'
import { TestChat } from './chat.ts'
import { newestLog, newestText, serveChats } from './serve.ts'

function chatBehind(api: string): { readonly chat: TestChat; readonly transport: HoldfastChatTransport } {
  const transport = new HoldfastChatTransport({ api, retryDelayMs: 1, retries: 50 })
  return { chat: new TestChat({ id: 'c1', transport }), transport }
}

test('AI SDK transport: a message is whole and arrives once though its connections are cut again and again', async () => {
  const server = await serveChats()
  let cuts = 0
  const proxy = await startFaultProxy(() => server.url, {
    draw: () => (++cuts % 8 === 0 ? {} : { after: { bytes: 150 * cuts, by: cuts % 2 === 0 ? 'cut' : 'close' } }),
  })
  const { chat } = chatBehind(`${proxy.url}/ai/lab/chat`)
  await chat.sendMessage({ text: 'text 40; reason 3; tool look; text 40' })
  expect(chat.error).toBeUndefined()
  expect(chat.finished.at(-1)?.finishReason).toBe('stop')
  expect(chat.text).toBe(await newestText(server))
  expect(cuts).toBeGreaterThan(3)
})

test('[RUN-4] AI SDK transport: a request whose answer is lost starts one run', async () => {
  const server = await serveChats()
  let requests = 0
  const proxy = await startFaultProxy(() => server.url, { draw: () => (++requests <= 2 ? { loses: true } : {}) })
  const { chat } = chatBehind(`${proxy.url}/ai/lab/chat`)
  await chat.sendMessage({ text: 'text 3' })
  expect(chat.text).toBe(await newestText(server))
  expect((await server.service.list(localPrincipal)).runs).toHaveLength(1)
})

test('AI SDK transport: after a reload it loads, resumes and stops the chat', async () => {
  const server = await serveChats()
  const first = chatBehind(server.api('lab'))
  const sent = first.chat.sendMessage({ text: 'text 5; hang' })
  await until('there is text', () => first.chat.text.includes('[4]'))
  const { transport } = chatBehind(server.api('lab'))
  const chat = new TestChat({ id: 'c1', transport, messages: await transport.messages('c1') })
  expect(chat.messages).toHaveLength(2)
  const resumed = chat.resumeStream()
  await transport.stop('c1')
  await Promise.all([sent, resumed])
  expect(chat.text).toBe(first.chat.text)
  expect((await newestLog(server)).at(-1)!.type).toBe('run.cancelled')
  expect(await transport.reconnectToStream({ chatId: 'unknown' })).toBeNull()
})

/** Pauses the replay of a chat after `bytes` bytes until it is released. */
function heldReplay(bytes: number): { readonly fetch: typeof fetch; letGo(): void; readonly held: Promise<void> } {
  const go = Promise.withResolvers<void>()
  const held = Promise.withResolvers<void>()
  return {
    held: held.promise,
    letGo: () => go.resolve(),
    async fetch(input, init) {
      const response = await fetch(input, init)
      if (!response.url.endsWith('/stream')) return response
      const body = new Uint8Array(await response.arrayBuffer())
      const slow = new ReadableStream<Uint8Array>({
        async start(controller) {
          controller.enqueue(body.slice(0, bytes))
          held.resolve()
          await go.promise
          controller.enqueue(body.slice(bytes))
          controller.close()
        },
      })
      return new Response(slow, response)
    },
  }
}

for (const { when, bytes } of [
  { when: 'before the replay has begun', bytes: 0 },
  { when: 'midway through the replay', bytes: 400 },
])
  test(`AI SDK transport: an approval given after a reload, ${when}, is not lost`, async () => {
    const server = await serveChats()
    const api = server.api('clerk')
    await chatBehind(api).chat.sendMessage({ text: 'send 25 to Ada' })
    const replay = heldReplay(bytes)
    const transport = new HoldfastChatTransport({ api, fetch: replay.fetch })
    const messages = await transport.messages('c1')
    const sendAutomaticallyWhen = lastAssistantMessageIsCompleteWithApprovalResponses
    const chat = new TestChat({ id: 'c1', transport, messages, sendAutomaticallyWhen })
    const parts = (): readonly ToolPart[] => chat.messages.at(-1)!.parts as readonly ToolPart[]
    const requested = parts().find(({ state }) => state === 'approval-requested')!
    const resumed = chat.resumeStream()
    await replay.held
    await chat.addToolApprovalResponse({ id: requested.approval.id, approved: true })
    await until('the run has ended', async () => (await newestLog(server)).at(-1)!.type === 'run.completed')
    await until('the chat shows the result', () => parts().some(({ output }) => output !== undefined))
    replay.letGo()
    await resumed
    await until('the answer has ended', () => chat.finished.some(({ finishReason }) => finishReason === 'stop'))
    expect(parts().find(({ toolCallId }) => toolCallId === requested.toolCallId)).toMatchObject({
      state: 'output-available',
      output: { sent: 25, to: 'Ada' },
    })
    expect(chat.text).toBe(await newestText(server))
  })

interface ToolPart {
  readonly state?: string
  readonly toolCallId: string
  readonly approval: { readonly id: string }
  readonly output?: unknown
}

/** Delivers the bodies of responses in small pieces. */
const slowly: typeof fetch = async (input, init) => {
  const response = await fetch(input, init)
  const pieces = new TransformStream<Uint8Array, Uint8Array>({
    async transform(bytes, controller) {
      for (let at = 0; at < bytes.length; at += 200) {
        await new Promise(setImmediate)
        controller.enqueue(bytes.slice(at, at + 200))
      }
    },
  })
  return new Response(response.body?.pipeThrough(pieces) ?? null, response)
}

test('AI SDK transport: a replay arrives whole, so that a page does not show less than before', async () => {
  const server = await serveChats()
  const api = server.api('lab')
  const first = chatBehind(api)
  const sent = first.chat.sendMessage({ text: 'text 40; hang' })
  await until('there is text', () => first.chat.text.includes('[39]'))
  const transport = new HoldfastChatTransport({ api, fetch: slowly })
  const stream = await transport.reconnectToStream({ chatId: 'c1' })
  let text = ''
  const reader = stream!.getReader()
  // Nothing but microtasks passes between the chunks of a replay.
  const late = new Promise<'late'>((resolve) => setImmediate(() => resolve('late')))
  for (;;) {
    const read = await Promise.race([reader.read(), late])
    if (read === 'late') break
    if (read.value?.type === 'text-delta') text += read.value.delta
  }
  expect(text).toBe(await newestText(server))
  await reader.cancel()
  await transport.stop('c1')
  await sent
})

test('AI SDK transport: a refusal is an error with the server’s text', async () => {
  const server = await serveChats()
  const { chat } = chatBehind(server.api('nobody'))
  await chat.sendMessage({ text: 'hi' })
  expect([chat.status, chat.error?.message]).toEqual(['error', 'component "nobody" not found'])
})
