/** The durability interface of the npm package `@tanstack/ai`, on a Holdfast store. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { StreamChunk, StreamDurability } from '@tanstack/ai'
import type { RunInfo } from '../client/types.ts'
import { openStreams, type WrittenStreamsOptions } from '../written-stream/open-options.ts'
import { type OpenStream, type WrittenChunk, writtenStreamComponent } from '../written-stream/written-streams.ts'
import { type StreamSource, toStreamSource } from './stream-source.ts'

/** Options of `createStreamDurability`. */
export interface CreateStreamDurabilityOptions extends WrittenStreamsOptions {
  /** How long a reader from the start waits for a run that does not exist yet: its producer may be on another node. Default: 1000. */
  readonly firstChunkDeadlineMs?: number
}

/** Durable streams of one store, made by `createStreamDurability`. */
export interface StreamDurabilities {
  /** The adapter for one request, or for a run that you know: `durability: { adapter: streams.adapter(request) }`. */
  adapter(source: Request | StreamSource): StreamDurability
  /** Waits up to ten seconds for streams in progress, then closes the store unless it belongs to `holdfast`. */
  close(): Promise<void>
}

/** Serves the streams in your own `holdfast()`: add it to its `components`. Without one, they have their own. */
export const tanstackStreams = writtenStreamComponent('tanstack-ai', 'Resumable streams of TanStack AI')

const OPTIONS = ['store', 'holdfast', 'keyPrefix', 'firstChunkDeadlineMs']
const POLL_MS = 20
const FROM_START = '-1'
const FROM_NOW = 'now'

interface Position {
  readonly run: string
  /** Index of the last event that the reader has. */
  readonly after: number
}

/** Opens nothing yet. Throws `invalid_request` for invalid options. */
export function createStreamDurability({
  firstChunkDeadlineMs = 1000,
  ...options
}: CreateStreamDurabilityOptions = {}): StreamDurabilities {
  const { streams, runs, close } = openStreams('createStreamDurability', tanstackStreams, options, OPTIONS)

  const start = async (runId: string): Promise<OpenStream> => {
    const known = await streams.newest(runId)
    // A producer that died may be started again. Otherwise only one producer may have the run.
    const isFree = known === undefined || known.status === 'failed'
    const started = isFree ? await streams.start(runId, { replaces: known?.id }) : undefined
    if (started === undefined) throw new Error(`run ${runId} has a producer already: use another run id`)
    return started
  }

  const untilStarted = async (runId: string, signal: AbortSignal): Promise<RunInfo> => {
    const deadline = performance.now() + firstChunkDeadlineMs
    for (;;) {
      const run = await streams.newest(runId)
      if (run !== undefined) return runs.get(run.id)
      if (performance.now() >= deadline) throw unknownRun(runId)
      await sleep(POLL_MS, undefined, { signal })
    }
  }

  const find = async (runId: string, offset: string, signal: AbortSignal): Promise<Position> => {
    if (offset === FROM_START || offset === FROM_NOW) {
      const { id, events } = await untilStarted(runId, signal)
      return { run: id, after: offset === FROM_NOW ? events - 1 : -1 }
    }
    const [, run = '', index = ''] = /^(\w+):(\d+)$/.exec(offset) ?? []
    // An offset comes from a client: it must not open runs of other components.
    if (run === '' || !(await streams.has(run))) throw unknownRun(offset)
    return { run, after: Number(index) }
  }

  return {
    adapter(source) {
      const { runId, offset: resumeOffset } = toStreamSource(source)
      let opened: Promise<OpenStream> | undefined
      const open = (): Promise<OpenStream> => (opened ??= start(runId))
      return {
        resumeFrom: () => resumeOffset,
        async append(chunks) {
          const { run, writer } = await open()
          return (await writer.append(chunks)).map((index) => offsetOf(run, index))
        },
        async *read(offset, signal = new AbortController().signal) {
          try {
            const { run, after } = await find(runId, offset, signal)
            for await (const chunk of streams.chunks(run, after, signal)) {
              yield entryOf(run, chunk)
              if (signal.aborted) return
            }
          } catch (cause) {
            if (!signal.aborted) throw cause
          }
        },
        async close() {
          const { writer, ended } = await open()
          await writer.end()
          await ended
        },
        async snapshot() {
          const run = await streams.newest(runId)
          return run === undefined ? [] : (await streams.stored(run.id)).map((chunk) => entryOf(run.id, chunk))
        },
      }
    },
    close,
  }
}

function entryOf(run: string, { index, value }: WrittenChunk): { offset: string; chunk: StreamChunk } {
  return { offset: offsetOf(run, index), chunk: value as StreamChunk }
}

function offsetOf(run: string, index: number): string {
  return `${run}:${index}`
}

function unknownRun(name: string): Error {
  return new Error(`Unknown or expired run: ${JSON.stringify(name)}`)
}
