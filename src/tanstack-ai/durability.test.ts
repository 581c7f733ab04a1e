import {
  memoryStream,
  replayRunStream,
  resumeServerSentEventsResponse,
  type StreamChunk,
  toServerSentEventsResponse,
} from '@tanstack/ai'
import { describe, expect, onTestFinished, test } from 'vitest'
import { temporaryDatabase } from '../../test/support/temporary.ts'
import { until } from '../../test/support/until.ts'
import { silentLogger } from '../core/ports/logger.ts'
import { holdfast } from '../mount/holdfast.ts'
import { createMemoryStore } from '../stores/memory.ts'
import { createStreamDurability, tanstackStreams } from './durability.ts'

const url = 'http://localhost/api/chat'

function open() {
  const limits = { drainTimeoutMs: 0 }
  const hf = holdfast({ components: [tanstackStreams], store: createMemoryStore(), limits, logger: silentLogger })
  onTestFinished(() => hf.close())
  return { hf, streams: createStreamDurability({ holdfast: hf, firstChunkDeadlineMs: 50 }) }
}

function text(delta: string): StreamChunk {
  return { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta, timestamp: 0 } as StreamChunk
}

async function* answer(...words: readonly string[]): AsyncGenerator<StreamChunk> {
  yield { type: 'RUN_STARTED', runId: 'r', threadId: 't', timestamp: 0 } as StreamChunk
  for (const word of words) yield text(word)
  yield { type: 'RUN_FINISHED', runId: 'r', threadId: 't', finishReason: 'stop', timestamp: 0 } as StreamChunk
}

/** The events of a response: offset and chunk. */
async function eventsOf(response: Response): Promise<{ id: string; chunk: StreamChunk }[]> {
  const frames = (await response.text()).split('\n\n').filter((frame) => frame.includes('data: {'))
  return frames.map((frame) => ({
    id: /^id: ?(.*)$/m.exec(frame)?.[1] ?? '',
    chunk: JSON.parse(/^data: (.*)$/m.exec(frame)![1]!) as StreamChunk,
  }))
}

function deltasOf(chunks: readonly StreamChunk[]): string {
  return chunks.map((chunk) => ('delta' in chunk ? String(chunk.delta) : '')).join('')
}

describe('TanStack AI durability', () => {
  test('a response can be read again, and resumed after each of its events', async () => {
    const { streams } = open()
    const request = new Request(url, { method: 'POST', headers: { 'x-run-id': 'r' } })
    const adapter = streams.adapter(request)
    const sent = await eventsOf(
      toServerSentEventsResponse(answer('Kelp ', 'is ', 'an alga.'), { durability: { adapter } }),
    )
    expect(deltasOf(sent.map(({ chunk }) => chunk))).toBe('Kelp is an alga.')
    const read = async (headers: Record<string, string>, query: string) =>
      eventsOf(resumeServerSentEventsResponse({ adapter: streams.adapter(new Request(url + query, { headers })) }))
    expect(await read({}, '?runId=r&offset=-1')).toEqual(sent)
    for (const [index, { id }] of sent.entries())
      expect(await read({ 'last-event-id': id }, '')).toEqual(sent.slice(index + 1))
  })

  test('append resolves with one offset for each chunk, in order, and read continues strictly after one', async () => {
    const { streams } = open()
    const adapter = streams.adapter({ runId: 'r' })
    const offsets = [...(await adapter.append([text('a'), text('b')])), ...(await adapter.append([text('c')]))]
    expect(new Set(offsets).size).toBe(3)
    expect(await adapter.append([])).toEqual([])
    await adapter.close()
    const entries = []
    for await (const entry of adapter.read(offsets[0]!)) entries.push(entry)
    expect(entries).toEqual([
      { offset: offsets[1], chunk: text('b') },
      { offset: offsets[2], chunk: text('c') },
    ])
  })

  test('snapshot returns what is stored while the log is open, and nothing for an unknown run', async () => {
    const { streams } = open()
    const adapter = streams.adapter({ runId: 'r' })
    expect(await adapter.snapshot()).toEqual([])
    const [offset] = await adapter.append([text('a')])
    const first = await streams.adapter({ runId: 'r' }).snapshot()
    expect(first).toEqual([{ offset, chunk: text('a') }])
    first.length = 0
    expect(await adapter.snapshot()).toHaveLength(1)
  })

  test('a reader follows a live run from its start, or from now, until close; an abort ends it quietly', async () => {
    const { streams } = open()
    const adapter = streams.adapter({ runId: 'r' })
    await adapter.append([text('a')])
    const joined = streams.adapter({ runId: 'r' })
    const aborted = new AbortController()
    const [all, late, cut] = [
      joined.read('-1')[Symbol.asyncIterator](),
      joined.read('now')[Symbol.asyncIterator](),
      joined.read('-1', aborted.signal)[Symbol.asyncIterator](),
    ]
    expect((await all.next()).value.chunk).toEqual(text('a'))
    expect((await cut.next()).value.chunk).toEqual(text('a'))
    const ends = cut.next()
    aborted.abort()
    expect((await ends).done).toBe(true)
    const next = late.next()
    let isDelivered = false
    void next.then(() => (isDelivered = true))
    await until('the late reader has a chunk', async () => {
      await adapter.append([text('b')])
      return isDelivered
    })
    expect((await next).value.chunk).toEqual(text('b'))
    await adapter.close()
    expect((await all.next()).value.chunk).toEqual(text('b'))
    while ((await all.next()).done !== true);
  })

  test('a run has one producer; one that failed can be started again, and is read from its new start', async () => {
    const { hf, streams } = open()
    const first = streams.adapter({ runId: 'r' })
    await first.append([text('a')])
    await expect(streams.adapter({ runId: 'r' }).append([text('x')])).rejects.toThrow('has a producer already')
    const unserializable = { ...text(''), self: {} }
    unserializable.self = unserializable
    await expect(first.append([unserializable])).rejects.toMatchObject({ code: 'unserializable' })
    await expect(first.close()).rejects.toMatchObject({ code: 'unserializable' })
    const again = streams.adapter({ runId: 'r' })
    await again.append([text('b')])
    await again.close()
    const chunks = []
    for await (const chunk of replayRunStream(streams.adapter({ runId: 'r' }))) chunks.push(chunk)
    expect(chunks).toEqual([text('b')])
    await expect(streams.adapter({ runId: 'r' }).append([text('x')])).rejects.toThrow('has a producer already')
    expect((await hf.runs.list({ session: 'tanstack-ai:r' })).runs.map(({ status }) => status)).toEqual([
      'completed',
      'failed',
    ])
  })

  test('offsets of unknown runs, of other adapters, components and prefixes are refused', async () => {
    const { hf, streams } = open()
    const adapter = createStreamDurability({ holdfast: hf, keyPrefix: 'other' }).adapter({ runId: 'r' })
    const [foreign] = await adapter.append([text('a')])
    const [memory] = await memoryStream({ runId: 'r' }).append([text('a')])
    for (const offset of ['-1', foreign!, memory!, 'run_x:1', 'x']) {
      const read = streams.adapter({ runId: 'r', offset }).read(offset)[Symbol.asyncIterator]()
      await expect(read.next(), offset).rejects.toThrow('Unknown or expired run')
    }
  })

  test('written chunks survive a reopen of the store', async () => {
    const store = `sqlite:${temporaryDatabase()}`
    const first = createStreamDurability({ store })
    const adapter = first.adapter({ runId: 'r' })
    await adapter.append([text('a')])
    await adapter.close()
    await first.close()
    const second = createStreamDurability({ store })
    onTestFinished(() => second.close())
    expect((await second.adapter({ runId: 'r' }).snapshot()).map(({ chunk }) => chunk)).toEqual([text('a')])
  })

  test('invalid run ids, and options that are unknown, are refused', () => {
    const { streams } = open()
    for (const runId of ['', 'a\nb']) expect(() => streams.adapter({ runId })).toThrow('must not be empty')
    expect(() => createStreamDurability({ client: {} } as object)).toThrow('unknown option client')
  })
})
