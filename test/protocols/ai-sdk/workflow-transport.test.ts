/** `WorkflowChatTransport` of `@ai-sdk/workflow`, unchanged, through bad networks. */
import { WorkflowChatTransport } from '@ai-sdk/workflow/client'
import type { ChatTransport, UIMessage, UIMessageChunk } from 'ai'
import { expect, test } from 'vitest'
import { localPrincipal } from '../../../src/core/model/principal.ts'
import { startFaultProxy } from '../../client/fault-proxy.ts'
import { until } from '../../support/until.ts'
import { TestChat } from './chat.ts'
import { newestLog, newestText, serveChats } from './serve.ts'

/** Its declared types leave out `undefined`, which the chat passes. */
function transportOf(api: string): ChatTransport<UIMessage> {
  return new WorkflowChatTransport({ api }) as ChatTransport<UIMessage>
}

const message: UIMessage = { id: 'u1', role: 'user', parts: [{ type: 'text', text: 'text 30; reason 2' }] }

async function all(stream: ReadableStream<UIMessageChunk> | null): Promise<UIMessageChunk[]> {
  const chunks: UIMessageChunk[] = []
  for await (const chunk of stream!) chunks.push(chunk)
  return chunks
}

test('WorkflowChatTransport: a message that is cut again and again arrives whole, and starts one run', async () => {
  const server = await serveChats()
  let cuts = 0
  const proxy = await startFaultProxy(() => server.url, {
    draw: () => (++cuts % 6 === 0 ? {} : { after: { bytes: 400 * cuts, by: 'close' } }),
  })
  const api = `${proxy.url}/ai/lab/chat`
  const chat = new TestChat({ id: 'c1', transport: transportOf(api) })
  await chat.sendMessage({ text: 'text 40; tool look; text 40' })
  expect([chat.error, chat.text]).toEqual([undefined, await newestText(server)])
  expect((await server.service.list(localPrincipal)).runs).toHaveLength(1)
  expect(cuts).toBeGreaterThan(2)
})

test.each([
  ['text 3; fail it broke', 'run.failed', 'error'],
  ['text 3; reject not today', 'run.rejected', 'error'],
  ['text 3', 'run.completed', 'ready'],
])('WorkflowChatTransport: %s ends with `finish`, so it asks no more', async (text, end, status) => {
  const server = await serveChats()
  let requests = 0
  const proxy = await startFaultProxy(() => server.url, { draw: () => (requests++, {}) })
  const chat = new TestChat({ id: 'c1', transport: transportOf(`${proxy.url}/ai/lab/chat`) })
  await chat.sendMessage({ text })
  expect([chat.status, (await newestLog(server)).at(-1)!.type]).toEqual([status, end])
  expect(requests).toBeLessThanOrEqual(2)
})

test('WorkflowChatTransport: a stopped run ends its stream with `finish`', async () => {
  const server = await serveChats()
  const chat = new TestChat({ id: 'c1', transport: transportOf(server.api('lab')) })
  const sent = chat.sendMessage({ text: 'text 3; hang' })
  await until('there is text', () => chat.text.includes('[2]'))
  const { runs } = await server.service.list(localPrincipal)
  await server.service.stop(localPrincipal, runs[0]!.run.id, 'enough')
  await sent
  expect(chat.finished.at(-1)).toMatchObject({ finishReason: 'interrupted', isError: false })
})

test('WorkflowChatTransport: a negative start gets the last chunks, a positive one what follows', async () => {
  const server = await serveChats()
  const transport = transportOf(server.api('lab'))
  const whole = await all(
    await transport.sendMessages({
      chatId: 'c1',
      messages: [message],
      trigger: 'submit-message',
      abortSignal: undefined,
      messageId: undefined,
    } as never),
  )
  expect(whole.at(-1)).toMatchObject({ type: 'finish' })
  const { runs } = await server.service.list(localPrincipal)
  const chatId = runs[0]!.run.id
  // It drops chunks of a part if it did not receive the part's start.
  for (const startIndex of [-2, -1, whole.length - 1]) {
    const chunks = await all(await transport.reconnectToStream({ chatId, startIndex } as never))
    expect(chunks).toEqual(whole.slice(startIndex))
  }
})
