/** The interface of the npm package `resumable-stream`, on a Holdfast store instead of Redis. */
import { randomUUID } from 'node:crypto'
import type { RunHandle } from '../client/run.ts'
import type { RunInfo } from '../client/types.ts'
import { HoldfastError } from '../core/model/errors.ts'
import type { Holdfast } from '../mount/holdfast.ts'
import { streamInstance, untilEnded } from '../mount/local-streams.ts'
import type { HoldfastOptions } from '../mount/options.ts'
import { keyOf, newestRun, startedByAnother } from '../mount/stream-runs.ts'
import { readStream } from './read-stream.ts'
import { type MakeStream, resumableStreams, sources, type StreamInput } from './stream-component.ts'

/** Options of `createResumableStreamContext`. */
export interface CreateResumableStreamContextOptions {
  /** Keeps the process alive until a promise settles, such as `after` of Next.js. `null` on platforms that keep processes alive. */
  readonly waitUntil: ((promise: Promise<unknown>) => void) | null
  /** Separates the streams of several applications in one store. Default: `resumable-stream`. */
  readonly keyPrefix?: string
  /**
   * As in `holdfast()`. Processes that resume each other's streams at the same time need PostgreSQL or NATS.
   * Default: `sqlite:.holdfast/resumable-streams.db`.
   */
  readonly store?: HoldfastOptions['store']
  /** Instead of `store`: your own instance that has `resumableStreams` among its components. Default: an instance of its own on `store`. */
  readonly holdfast?: Pick<Holdfast, 'runs'>
}

/** Creates and resumes streams, as the npm package `resumable-stream` does. */
export interface ResumableStreamContext {
  /** Creates the stream, or resumes the one with this id. `null` if that is complete. */
  resumableStream(
    streamId: string,
    makeStream: MakeStream,
    skipCharacters?: number,
  ): Promise<ReadableStream<string> | null>
  /** Creates a stream, which replaces one with the same id. It is delivered from its start: `skipCharacters` has no effect. */
  createNewResumableStream(
    streamId: string,
    makeStream: MakeStream,
    skipCharacters?: number,
  ): Promise<ReadableStream<string> | null>
  /** `undefined` if there is no such stream, `null` if it is complete. */
  resumeExistingStream(streamId: string, skipCharacters?: number): Promise<ReadableStream<string> | null | undefined>
  /** `null` if there is no such stream, `DONE` if it is complete, `true` if it can be resumed, even if only to its error. */
  hasExistingStream(streamId: string): Promise<null | true | 'DONE'>
  /** Ends the readers of this context, and closes the store unless it belongs to `holdfast`. Not part of the npm package. */
  close(): Promise<void>
}

const DEFAULT_STORE = 'sqlite:.holdfast/resumable-streams.db'

const NAMES: Readonly<Record<keyof CreateResumableStreamContextOptions, true>> = {
  waitUntil: true,
  keyPrefix: true,
  store: true,
  holdfast: true,
}

/** Opens nothing yet. Throws `invalid_request` for invalid options. */
export function createResumableStreamContext(options: CreateResumableStreamContextOptions): ResumableStreamContext {
  checkContextOptions(options)
  const { waitUntil, keyPrefix = 'resumable-stream' } = options
  const own =
    options.holdfast === undefined ? streamInstance(resumableStreams, options.store ?? DEFAULT_STORE) : undefined
  const { runs } = options.holdfast ?? own!
  const closed = new AbortController()

  const sessionOf = (streamId: string): string => `${keyPrefix}:${streamId}`
  const newest = (streamId: string): Promise<RunInfo | undefined> =>
    newestRun(runs, resumableStreams.id, sessionOf(streamId))
  const resume = ({ id, status }: RunInfo, skip: number): ReadableStream<string> | null =>
    status === 'completed' ? null : readStream(runs.open(id), skip, closed.signal)

  const start = async (streamId: string, makeStream: MakeStream, idempotencyKey?: string): Promise<RunHandle> => {
    const input: StreamInput = { stream: streamId, source: randomUUID() }
    sources().set(input.source, makeStream)
    try {
      const request = { component: resumableStreams.id, session: sessionOf(streamId), input }
      const run = await runs.start(request, { ...(idempotencyKey !== undefined && { idempotencyKey }) })
      const ended = untilEnded(run, closed.signal).finally(() => sources().delete(input.source))
      waitUntil?.(ended)
      return run
    } catch (cause) {
      sources().delete(input.source)
      throw cause
    }
  }

  return {
    async resumableStream(streamId, makeStream, skipCharacters) {
      const skip = checkSkip(skipCharacters)
      const known = await newest(streamId)
      if (known !== undefined) return resume(known, skip)
      try {
        const run = await start(streamId, makeStream, keyOf(sessionOf(streamId)))
        return readStream(run, 0, closed.signal)
      } catch (cause) {
        const other = startedByAnother(cause)
        if (other === undefined) throw cause
        return resume(await runs.get(other), skip)
      }
    },
    async createNewResumableStream(streamId, makeStream) {
      return readStream(await start(streamId, makeStream), 0, closed.signal)
    },
    async resumeExistingStream(streamId, skipCharacters) {
      const skip = checkSkip(skipCharacters)
      const known = await newest(streamId)
      return known && resume(known, skip)
    },
    async hasExistingStream(streamId) {
      const known = await newest(streamId)
      if (known === undefined) return null
      return known.status === 'completed' ? 'DONE' : true
    },
    async close() {
      await own?.close()
      closed.abort(new HoldfastError('unavailable', 'the context was closed: resume the stream in another one'))
    },
  }
}

function checkContextOptions(options: CreateResumableStreamContextOptions): void {
  for (const name of Object.keys(options))
    if (!Object.hasOwn(NAMES, name))
      throw wrong(`unknown option ${name}: use ${Object.keys(NAMES).join(', ')}. There is no Redis to configure`)
  if (options.waitUntil !== null && typeof options.waitUntil !== 'function')
    throw wrong('waitUntil must be a function that takes a promise, or null')
  if (options.store !== undefined && options.holdfast !== undefined)
    throw wrong('store and holdfast cannot be combined: pass one of them')
}

function checkSkip(skipCharacters = 0): number {
  if (Number.isInteger(skipCharacters) && skipCharacters >= 0) return skipCharacters
  throw wrong(`skipCharacters is ${skipCharacters}, but must be a number of characters`)
}

function wrong(message: string): HoldfastError {
  return new HoldfastError('invalid_request', `createResumableStreamContext(): ${message}`)
}
