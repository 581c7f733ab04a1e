/** The component whose runs are the streams: it reads a source in this process, and every chunk is logged. */
import type { Component } from '../core/ports/component.ts'
import { localSources, takeSource } from '../mount/local-streams.ts'

export type MakeStream = () => ReadableStream<string>

/** Input of a run: the id of its stream, and the key of its source in the process that started it. */
export interface StreamInput {
  readonly stream: string
  readonly source: string
}

/** Maximum size of a piece, which is one event. A character takes at most six bytes in it, so this is below `maxEventBytes`. */
const PIECE_CHARS_MAX = 512 * 1024

const ID = 'resumable-stream'

export function sources(): Map<string, MakeStream> {
  return localSources(ID)
}

/** Serves the streams in your own `holdfast()`: add it to its `components`. Without one, the context has its own. */
export const resumableStreams: Component = {
  id: ID,
  kind: 'agent',
  description: 'Streams that an application made resumable',
  recovery: 'fail', // the source died with its process
  async *run(input, { signal }) {
    const makeStream = takeSource(sources(), (input as Partial<StreamInput> | null)?.source)
    const reader = makeStream().getReader()
    // A source that cannot be cancelled must not keep the run from ending.
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
