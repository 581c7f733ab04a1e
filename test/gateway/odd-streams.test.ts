/** Odd streams of OpenAI-compatible servers: unusual but valid bytes, and bytes that are not the protocol. */
import { describe, expect, test } from 'vitest'
import type { OpenAiUpstreamOptions } from '../../src/agents/upstream/openai-source.ts'
import { upstream } from '../../src/agents/upstream/upstream.ts'
import { createMemoryStore } from '../../src/stores/memory.ts'
import { serveInProcess } from '../support/in-process.ts'
import { chunk, playing, type Play, sse, startChatServer } from './chat-server.ts'

async function dataThrough(play: Play, body: object = {}, options: OpenAiUpstreamOptions = {}): Promise<unknown[]> {
  const chat = await startChatServer({ m: play })
  const server = await serveInProcess({ store: createMemoryStore(), components: [upstream.openai(chat.url, options)] })
  const response = await fetch(`${server.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'go' }], stream: true, ...body }),
  })
  return [...(await response.text()).matchAll(/^data: (.*)$/gm)].map(([, data]) =>
    data === '[DONE]' ? data : (JSON.parse(data!) as unknown),
  )
}

const words = [chunk({ role: 'assistant', content: 'så ' }), chunk({ content: '🦊' }), chunk({}, 'stop')]
const plain = sse(...words, '[DONE]')

describe('gateway, odd streams: a client gets the same chunks from', () => {
  test.for<[string, string | Buffer]>([
    ['lines that end with CRLF', plain.replaceAll('\n', '\r\n')],
    ['lines that end with CR', plain.replaceAll('\n', '\r')],
    ['a byte order mark', `\uFEFF${plain}`],
    ['fields without a space', plain.replaceAll('data: ', 'data:')],
    ['comments between events', `: hello\n\n${plain.replaceAll('\n\n', '\n\n: ping\n\n')}`],
    ['ids and retry fields', `retry: 10\n\n${plain.replaceAll('data: {', 'id: 1\ndata: {')}`],
    ['no [DONE]', sse(...words)],
    ['events after [DONE]', plain + sse({ error: { message: 'too late' } })],
  ])('%s', async ([, text]) => {
    expect(await dataThrough(playing(text))).toEqual([...words, '[DONE]'])
  })

  test('bytes that come one by one, also within a character', async () => {
    expect(await dataThrough(playing(plain, 'end', Buffer.byteLength(plain)))).toEqual([...words, '[DONE]'])
  })

  test('a first chunk without choices, as Azure sends it', async () => {
    const filters = { ...chunk({}), choices: [], prompt_filter_results: [{ prompt_index: 0 }] }
    expect(await dataThrough(playing(sse(filters, ...words, '[DONE]')))).toEqual([filters, ...words, '[DONE]'])
  })

  test('a chunk with only usage, which is left out if the client did not ask for it', async () => {
    const usage = { ...chunk({}), choices: [], usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 } }
    const play = playing(sse(...words, usage, '[DONE]'))
    expect(await dataThrough(play)).toEqual([...words, '[DONE]'])
    expect(await dataThrough(play, { stream_options: { include_usage: true } })).toEqual([...words, usage, '[DONE]'])
  })
})

describe('gateway, odd streams: [RUN-3] a run fails, and never ends as success, after', () => {
  const html = '<!doctype html><title>502 Bad Gateway</title>'
  const answering =
    (status: number, type: string, text: string): Play =>
    (response) =>
      void response.writeHead(status, { 'content-type': type }).end(text)
  test.for<[string, Play, string]>([
    ['an HTML page with status 200', answering(200, 'text/html', html), 'upstream_protocol_error'],
    ['an HTML page with status 502', answering(502, 'text/html', html), 'upstream_http_error'],
    ['an HTML page as an event stream', answering(200, 'text/event-stream', html), 'upstream_incomplete'],
    ['an empty answer', answering(200, 'text/event-stream', ''), 'upstream_incomplete'],
    ['an event with the name error', playing(`event: error\ndata: {"message":"no GPU"}\n\n`), 'upstream_error'],
    ['a value that is no chunk', playing(sse('[1]')), 'upstream_protocol_error'],
    ['a frame that is cut', playing(`${sse(words[0]!)}data: {"id":`), 'upstream_incomplete'],
    ['a connection that is cut within a frame', playing(`${sse(words[0]!)}data: {"id":`, 'break'), 'upstream_cut'],
    ['silence before the answer', () => {}, 'upstream_unreachable'],
  ])('%s', async ([, play, code]) => {
    const data = await dataThrough(play, {}, { requestTimeoutMs: 1000 })
    expect(data.at(-1)).toMatchObject({ error: { code } })
    expect(data).not.toContain('[DONE]')
  })
})
