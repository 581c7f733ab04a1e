/** The component whose runs are the UI message streams of routes: every chunk is logged before a client gets it. */
import type { UIMessageChunk } from 'ai'
import { RunFailure } from '../../core/execution/run-failure.ts'
import { type Component, createEvent, type Emission, emitTogether } from '../../core/ports/component.ts'
import { localSources, takeSource } from '../../mount/local-streams.ts'
import type { Chunk } from '../chunks.ts'
import { derivedEvents, type ToolNames } from './derive.ts'

/** Creates the stream. The signal is aborted when the run is stopped. */
export type MakeChunks = (signal: AbortSignal) => Promise<ReadableStream<UIMessageChunk>>

const ID = 'durable-chat'

export function sources(): Map<string, MakeChunks> {
  return localSources(ID)
}

/** Metadata of a run: the key of its source in the process that started it. */
export const SOURCE = 'durableSource'

/** Characters of a delta in one event. A character takes at most six bytes, and each delta is in the log twice. */
const DELTA_CHARS_MAX = 256 * 1024

/** Serves durable chats in your own `holdfast()`: add it to its `components`. */
export const durableChatComponent: Component = {
  id: ID,
  kind: 'agent',
  description: 'Streams of routes that were made durable',
  upstream: { protocol: 'ai-sdk', name: 'route', id: ID },
  recovery: 'fail', // the source died with its process
  async *run(_input, { metadata, signal }) {
    const makeChunks = takeSource(sources(), metadata[SOURCE])
    const reader = (await makeChunks(signal)).getReader()
    // A source that cannot be cancelled must not keep the run from ending.
    signal.addEventListener('abort', () => void reader.cancel(signal.reason).catch(() => {}), { once: true })
    const tools: ToolNames = new Map()
    for (;;) {
      const { done, value } = await reader.read()
      signal.throwIfAborted()
      if (done) return
      yield* emissionsOf(value as Chunk, tools)
    }
  },
}

function* emissionsOf(chunk: Chunk, tools: ToolNames): Generator<Emission> {
  if (typeof chunk !== 'object' || chunk === null || typeof chunk.type !== 'string')
    throw new TypeError(
      'a durable stream must consist of UI message chunks: pass the result of streamText, or toUIMessageStream()',
    )
  if (chunk.type === 'error') throw new RunFailure('agent_failed', chunk.errorText)
  if (chunk.type === 'abort')
    throw new RunFailure(
      'interrupted',
      `the stream was aborted${chunk.reason === undefined ? '' : `: ${chunk.reason}`}`,
    )
  for (const piece of piecesOf(chunk))
    yield emitTogether([
      createEvent('upstream.received', { protocol: 'ai-sdk', name: piece.type, data: piece }),
      ...derivedEvents(piece, tools),
    ])
}

function* piecesOf(chunk: Chunk): Generator<Chunk> {
  if (!('delta' in chunk) || chunk.delta.length <= DELTA_CHARS_MAX) return yield chunk
  for (let start = 0; start < chunk.delta.length; start += DELTA_CHARS_MAX)
    yield { ...chunk, delta: chunk.delta.slice(start, start + DELTA_CHARS_MAX) }
}
