/** Streams that an application writes chunk by chunk. Each is a run of one component, and its chunks are events. */
import { randomUUID } from 'node:crypto'
import { ApiError } from '../client/errors.ts'
import type { RunInfo } from '../client/types.ts'
import type { LoggedEvent } from '../core/model/event.ts'
import type { Component } from '../core/ports/component.ts'
import type { Holdfast } from '../mount/holdfast.ts'
import { localSources, takeSource } from '../mount/local-streams.ts'
import { keyOf, newestRun, startedByAnother } from '../mount/stream-runs.ts'
import { CHUNK, StreamWriter } from './stream-writer.ts'

/** A chunk of a stream, at its position in the log. */
export interface WrittenChunk {
  readonly index: number
  readonly value: unknown
}

/** A stream that this process writes. */
export interface OpenStream {
  readonly run: string
  readonly writer: StreamWriter
  /** Settles when its run has ended. */
  readonly ended: Promise<void>
}

export interface StartOptions {
  /** Newest run of the stream, which the new one replaces. Of concurrent starts that replace the same run, one succeeds. */
  readonly replaces: string | undefined
  readonly metadata?: Readonly<Record<string, unknown>>
}

/** A component whose runs emit the chunks that the process that started them appends. */
export function writtenStreamComponent(id: string, description: string): Component {
  return {
    id,
    kind: 'agent',
    description,
    recovery: 'fail', // the producer died with its process
    run: (input, { signal }) =>
      takeSource(localSources<StreamWriter>(id), (input as { source?: unknown } | null)?.source).emissions(signal),
  }
}

export class WrittenStreams {
  readonly #component: string
  readonly #runs: Holdfast['runs']
  readonly #keyPrefix: string
  readonly #closed = new AbortController()

  constructor(component: Component, runs: Holdfast['runs'], keyPrefix: string) {
    this.#component = component.id
    this.#runs = runs
    this.#keyPrefix = keyPrefix
  }

  newest(stream: string): Promise<RunInfo | undefined> {
    return newestRun(this.#runs, this.#component, this.#sessionOf(stream))
  }

  /** Undefined if another process has started the stream. */
  async start(stream: string, { replaces = '', metadata = {} }: StartOptions): Promise<OpenStream | undefined> {
    const source = randomUUID()
    const sources = localSources<StreamWriter>(this.#component)
    const writer = new StreamWriter()
    sources.set(source, writer)
    const session = this.#sessionOf(stream)
    const request = { component: this.#component, session, input: { stream, source }, metadata }
    try {
      const run = await this.#runs.start(request, { idempotencyKey: keyOf(`${session} ${replaces}`) })
      const ended = this.#acknowledge(run.id, writer).finally(() => sources.delete(source))
      return { run: run.id, writer, ended }
    } catch (cause) {
      sources.delete(source)
      if (startedByAnother(cause) === undefined) throw cause
      return undefined
    }
  }

  /** The chunks after an index, to the end of the stream. Throws `RunError` unless it has completed. */
  async *chunks(run: string, after: number, signal: AbortSignal): AsyncGenerator<WrittenChunk, void, void> {
    const handle = this.#runs.open(run)
    const either = AbortSignal.any([signal, this.#closed.signal])
    for await (const event of handle.events({ after, types: ['custom.emitted'], signal: either })) {
      const chunk = chunkIn(event)
      if (chunk !== undefined) yield chunk
    }
    await handle.result({ signal: either })
  }

  /** The chunks that are logged now, without waiting for more. */
  async stored(run: string): Promise<WrittenChunk[]> {
    const handle = this.#runs.open(run)
    const { events } = await handle.get()
    const chunks: WrittenChunk[] = []
    for await (const event of handle.events({ after: -1, signal: this.#closed.signal })) {
      const chunk = chunkIn(event)
      if (chunk !== undefined) chunks.push(chunk)
      if (event.index >= events - 1) break
    }
    return chunks
  }

  /** Whether a run is one of these streams: an id may come from anybody. */
  async has(run: string): Promise<boolean> {
    try {
      const { component, session } = await this.#runs.get(run)
      return component === this.#component && session.startsWith(this.#sessionOf(''))
    } catch (cause) {
      if (isNotFound(cause)) return false
      throw cause
    }
  }

  /** Ends the readers and writers of this object. */
  close(reason: Error): void {
    this.#closed.abort(reason)
  }

  /** Acknowledges chunks that the log delivers: they are durable. Never rejects. */
  async #acknowledge(run: string, writer: StreamWriter): Promise<void> {
    try {
      for await (const { index } of this.chunks(run, -1, this.#closed.signal)) writer.acknowledge(index)
      writer.close(undefined)
    } catch (cause) {
      writer.close(cause)
    }
  }

  #sessionOf(stream: string): string {
    return `${this.#keyPrefix}:${stream}`
  }
}

function chunkIn(event: LoggedEvent): WrittenChunk | undefined {
  if (event.type !== 'custom.emitted' || event.data.name !== CHUNK) return undefined
  return { index: event.index, value: event.data.value }
}

/** Whether the run does not exist or was deleted. */
export function isNotFound(cause: unknown): boolean {
  return cause instanceof ApiError && cause.code === 'not_found'
}
