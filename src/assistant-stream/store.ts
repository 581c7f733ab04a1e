/** The store interface of the npm package `assistant-stream`, on a Holdfast store instead of Redis. */
import type { ResumableStreamLease, ResumableStreamStatus, ResumableStreamStore } from 'assistant-stream/resumable'
import { RunError } from '../client/errors.ts'
import type { RunInfo } from '../client/types.ts'
import { openStreams, type WrittenStreamsOptions } from '../written-stream/open-options.ts'
import { isNotFound, type OpenStream, writtenStreamComponent } from '../written-stream/written-streams.ts'
import { toBytes, toPieces } from './chunk-bytes.ts'
import { checkStreamId, StreamStoreError } from './errors.ts'

/** Options of `createResumableStreamStore`. */
export interface CreateResumableStreamStoreOptions extends WrittenStreamsOptions {
  /** How long a stream is kept after the last append, unless `acquire` says otherwise. Default: 24 hours. */
  readonly defaultTtlMs?: number
}

/** A `ResumableStreamStore` whose streams survive the process that writes them. */
export interface DurableResumableStreamStore extends Required<ResumableStreamStore> {
  /** Waits up to ten seconds for streams in progress, then closes the store unless it belongs to `holdfast`. */
  close(): Promise<void>
}

/** Serves the streams in your own `holdfast()`: add it to its `components`. Without one, the store has its own. */
export const assistantStreams = writtenStreamComponent('assistant-stream', 'Resumable streams of assistant-stream')

const DAY_MS = 24 * 60 * 60 * 1000
const TIMER_MS_MAX = 2 ** 31 - 1

/** A stopped run ends immediately; one whose process died ends when its lease has expired. */
const STOP_WAIT_MS = 30_000

/** Why a run was cancelled: its stream is missing from then on. */
const DELETED = 'Stream deleted'
const EXPIRED = 'Stream expired'

const OPTIONS = ['store', 'holdfast', 'keyPrefix', 'defaultTtlMs']

/** A stream that this store writes. */
interface Written extends OpenStream {
  readonly ttlMs: number
  expiresAt: number
  timer: NodeJS.Timeout | undefined
}

interface Found {
  readonly status: ResumableStreamStatus
  readonly run: RunInfo | undefined
}

/** Opens nothing yet. Throws `invalid_request` for invalid options. */
export function createResumableStreamStore(
  options: CreateResumableStreamStoreOptions = {},
): DurableResumableStreamStore {
  return openResumableStreamStore(options, Date.now)
}

/** With a clock for its times to live. */
export function openResumableStreamStore(
  { defaultTtlMs = DAY_MS, ...options }: CreateResumableStreamStoreOptions,
  now: () => number,
): DurableResumableStreamStore {
  const { streams, runs, close } = openStreams('createResumableStreamStore', assistantStreams, options, OPTIONS)
  const written = new Map<string, Written>()

  const cancel = async (run: string, reason: string): Promise<void> => {
    await runs.stop(run, { reason, waitMs: STOP_WAIT_MS })
  }

  const expireOnTime = (stream: Written): void => {
    const wait = Math.min(Math.max(stream.expiresAt - now(), 0), TIMER_MS_MAX)
    stream.timer = setTimeout(() => {
      if (stream.expiresAt > now()) expireOnTime(stream)
      else cancel(stream.run, EXPIRED).catch(() => {}) // the next access repeats it
    }, wait).unref()
  }

  const refresh = (stream: Written): void => void (stream.expiresAt = now() + stream.ttlMs)

  const find = async (streamId: string): Promise<Found> => {
    checkStreamId(streamId)
    const own = written.get(streamId)
    if (own !== undefined && own.expiresAt <= now()) {
      await cancel(own.run, EXPIRED)
      await own.ended
    }
    const run = await streams.newest(streamId)
    return { run, status: run === undefined ? 'missing' : statusOf(run, defaultTtlMs, now()) }
  }

  /** The stream, if this store writes it under the lease. */
  const writtenBy = (streamId: string, lease: ResumableStreamLease | undefined): Written | undefined => {
    checkStreamId(streamId)
    const own = written.get(streamId)
    const isOwner = own !== undefined && (lease === undefined || lease.token === own.run)
    return isOwner && own.expiresAt > now() ? own : undefined
  }

  const acquireLease: DurableResumableStreamStore['acquireLease'] = async (streamId, { ttlMs = defaultTtlMs } = {}) => {
    const { run, status } = await find(streamId)
    if (status !== 'missing') return { role: 'consumer' }
    const started = await streams.start(streamId, { replaces: run?.id, metadata: { ttlMs } })
    if (started === undefined) return { role: 'consumer' }
    const stream: Written = { ...started, ttlMs, expiresAt: now() + ttlMs, timer: undefined }
    written.set(streamId, stream)
    expireOnTime(stream)
    void started.ended.then(() => {
      clearTimeout(stream.timer)
      if (written.get(streamId) === stream) written.delete(streamId)
    })
    return { role: 'producer', lease: { token: started.run } }
  }

  return {
    acquireLease,
    acquire: async (streamId, acquireOptions) => (await acquireLease(streamId, acquireOptions)).role,

    async append(streamId, chunk, lease) {
      const own = writtenBy(streamId, lease)
      if (own === undefined) {
        const { run, status } = await find(streamId)
        if (status === 'missing') throw notFound(streamId)
        if (isSuperseded(run, lease))
          throw new StreamStoreError('missing', `Stream superseded by a new acquisition: ${streamId}`)
        if (status !== 'streaming') throw new StreamStoreError('finalized', `Stream already finalized: ${streamId}`)
        throw writtenElsewhere(streamId)
      }
      refresh(own)
      try {
        await own.writer.append(toPieces(chunk))
      } catch (cause) {
        // A stopped run ends before its writer hears of it.
        if ((await find(streamId)).status === 'streaming') throw cause
        throw new StreamStoreError('finalized', `Stream already finalized: ${streamId}`, { cause })
      }
    },

    async finalize(streamId, status, error, lease) {
      const own = writtenBy(streamId, lease)
      if (own !== undefined) {
        await own.writer.end(status === 'error' ? (error ?? 'Stream errored') : undefined)
        return await own.ended
      }
      const found = await find(streamId)
      if (found.status === 'missing') throw notFound(streamId)
      if (found.status === 'streaming' && !isSuperseded(found.run, lease)) throw writtenElsewhere(streamId)
    },

    async *read(streamId, cursor, signal) {
      const { run, status } = await find(streamId)
      if (status === 'missing') throw notFound(streamId)
      const after = positionIn(run!.id, cursor)
      try {
        for await (const { index, value } of streams.chunks(run!.id, after, signal)) {
          yield { cursor: `${run!.id}:${index}`, chunk: toBytes(value) }
          if (signal.aborted) return
        }
      } catch (cause) {
        if (!signal.aborted && !isDeleted(cause)) throw cause
      }
    },

    status: async (streamId) => (await find(streamId)).status,

    async delete(streamId) {
      const { run } = await find(streamId)
      if (run === undefined) return
      if (run.finishedAt === undefined) await cancel(run.id, DELETED)
      await written.get(streamId)?.ended
      await runs.delete(run.id)
    },

    async close() {
      for (const { timer } of written.values()) clearTimeout(timer)
      await close()
    },
  }
}

function statusOf({ status, reason, finishedAt, metadata }: RunInfo, defaultTtlMs: number, now: number) {
  if (finishedAt === undefined) return 'streaming'
  if (status === 'cancelled' && (reason === DELETED || reason === EXPIRED)) return 'missing'
  const ttlMs = Number(metadata?.['ttlMs'] ?? defaultTtlMs)
  if (Date.parse(finishedAt) + ttlMs <= now) return 'missing'
  return status === 'completed' ? 'done' : 'error'
}

/** A cursor contains the run, so that a cursor of a replaced stream does not skip chunks of the new one. */
function positionIn(run: string, cursor: string): number {
  if (cursor === '') return -1
  const [of, index] = cursor.split(':')
  if (of === run && /^\d+$/.test(index ?? '')) return Number(index)
  throw new StreamStoreError('missing', `The cursor ${cursor} belongs to another stream`)
}

function isSuperseded(run: RunInfo | undefined, lease: ResumableStreamLease | undefined): boolean {
  return lease !== undefined && lease.token !== run?.id
}

function isDeleted(cause: unknown): boolean {
  const isCancelled = cause instanceof RunError && cause.code === 'cancelled'
  return isNotFound(cause) || (isCancelled && cause.message === DELETED)
}

function notFound(streamId: string): StreamStoreError {
  return new StreamStoreError('missing', `Stream not found: ${streamId}`)
}

function writtenElsewhere(streamId: string): Error {
  return new Error(`Stream ${streamId} is written by another process: only the store that acquired it appends to it`)
}
