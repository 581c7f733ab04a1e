/** Our chat transport under the AI SDK's own chat, through bad networks. */
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

test('AI SDK transport: a refusal is an error with the server’s text', async () => {
  const server = await serveChats()
  const { chat } = chatBehind(server.api('nobody'))
  await chat.sendMessage({ text: 'hi' })
  expect([chat.status, chat.error?.message]).toEqual(['error', 'component "nobody" not found'])
})
