/** The component whose runs are the streams: it reads a source of this process, and the log gets every chunk. */
import { RunFailure } from '../core/execution/run-failure.ts'
import type { Component } from '../core/ports/component.ts'

export type MakeStream = () => ReadableStream<string>

/** Input of a run: the id of its stream, and the key of its source in the process that started it. */
export interface StreamInput {
  readonly stream: string
  readonly source: string
}

/** One event holds one piece. A character takes at most six bytes in it, so this is below `eventBytesMax`. */
const PIECE_CHARS_MAX = 512 * 1024

const SOURCES = Symbol.for('holdfast.resumable-stream.sources')

/** Sources that no run has taken yet. Outside of this module, because bundlers and development servers load it more than once. */
export function sources(): Map<string, MakeStream> {
  const shared = globalThis as { [SOURCES]?: Map<string, MakeStream> }
  return (shared[SOURCES] ??= new Map())
}

/** Serves the streams in a `holdfast()` of yours: add it to its `components`. Without one, the context has its own. */
export const resumableStreams: Component = {
  id: 'resumable-stream',
  kind: 'agent',
  description: 'Streams that an application made resumable',
  recovery: 'fail', // the source died with its process
  async *run(input, { signal }) {
    // Clients of an instance may start it with anything.
    const source = (input as Partial<StreamInput> | null)?.source ?? ''
    const makeStream = sources().get(source)
    sources().delete(source)
    if (makeStream === undefined)
      throw new RunFailure('interrupted', 'the process that has the source of the stream did not execute its run')
    const reader = makeStream().getReader()
    signal.addEventListener('abort', () => void reader.cancel(signal.reason).catch(() => {}), { once: true })
    for (;;) {
      const { done, value } = await reader.read()
      signal.throwIfAborted()
      if (done) return
      yield* piecesOf(value)
    }
  },
}

function* piecesOf(chunk: unknown): Generator<string> {
  if (typeof chunk !== 'string')
    throw new TypeError('a resumable stream must consist of strings: pipe bytes through a TextDecoderStream')
  for (let start = 0; start < chunk.length; start += PIECE_CHARS_MAX) yield chunk.slice(start, start + PIECE_CHARS_MAX)
}
