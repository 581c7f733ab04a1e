/**
 * Delivers a log to a response that stays open. Writes what it is given and keeps nothing: a client that does not read fills
 * its socket's buffer, and from there on the log waits for it, until it reads again or is cut (SUB-1).
 */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { type Clock, elapsedOf } from '../core/ports/clock.ts'
import { HoldfastError, isHoldfastError } from '../core/model/errors.ts'
import type { Limits } from '../core/model/limits.ts'
import { lastOf, type Slice } from '../core/model/record.ts'
import type { Sink, Subscription } from '../core/delivery/subscription.ts'
import { repeatTimer } from '../core/runtime/timer.ts'
import { takesChunks, writeChunk } from './chunk.ts'
import { ISOLATION_HEADERS } from './respond.ts'

/** Why a stream ends before the run does, or what is missing from it. */
export type Notice =
  | { readonly kind: 'gap'; readonly earliest: number }
  | { readonly kind: 'closing'; readonly reason: string; readonly cursor: number }
  | { readonly kind: 'failed'; readonly error: HoldfastError }

/** How a wire writes to a stream. */
export interface StreamFormat {
  readonly contentType: string
  readonly headers?: Readonly<Record<string, string>>
  /** Sent with the headers, so that the client knows at once that it is connected. */
  readonly preamble: string
  readonly heartbeat: string
  /** Empty when nothing of the slice is for this stream. */
  encode(slice: Slice): Uint8Array | string
  /** True once what was encoded ends the stream, though the run goes on. */
  done?(): boolean
  /** Undefined cuts the connection instead: on some wires a clean end without a last word would be taken for success. */
  notice(notice: Notice): string | undefined
}

/** The open streams of a server: one timer for the life of all of them. */
export class Streams {
  readonly #limits: Limits
  readonly #clock: Clock
  readonly #open = new Set<Stream>()
  readonly #stopTending: () => void
  #closing: string | undefined

  constructor(limits: Limits, clock: Clock) {
    this.#limits = limits
    this.#clock = clock
    const everyMs = Math.max(Math.min(limits.heartbeatIntervalMs, limits.subscriberStallTimeoutMs) / 4, 10)
    this.#stopTending = repeatTimer(() => this.#tend(), everyMs, clock)
  }

  get size(): number {
    return this.#open.size
  }

  /** Opens a stream on a response; `first` is said before any event. */
  async serve(
    response: ServerResponse,
    format: StreamFormat,
    subscribe: (stream: Stream) => Promise<Subscription>,
    first?: Notice,
  ): Promise<void> {
    const preamble = first === undefined ? format.preamble : format.preamble + (format.notice(first) ?? '')
    const stream = new Stream(response, { ...format, preamble }, this.#clock, () => this.#open.delete(stream))
    // The subscription comes first: what is wrong with it is still told by status.
    stream.attach(await subscribe(stream))
    if (response.destroyed || response.writableFinished) return
    this.#open.add(stream)
    if (stream.closed) return
    if (this.#closing !== undefined) stream.close(this.#closing)
    else if (response.req.method === 'HEAD') stream.finished()
  }

  /** Ends every stream, saying why and where to come back. */
  closeAll(reason: string): void {
    this.#closing = reason
    this.#stopTending()
    for (const stream of this.#open) stream.close(reason)
  }

  #tend(): void {
    const now = elapsedOf(this.#clock)
    for (const stream of this.#open) stream.tend(now, this.#limits)
  }
}

export class Stream implements Sink {
  readonly #response: ServerResponse
  readonly #format: StreamFormat
  readonly #clock: Clock
  readonly #onClose: () => void
  #subscription: Subscription | undefined
  #opened = false
  #takesChunks = false
  readonly #socket: Socket | null
  #cursor = -1
  /** When it was last seen to be written to, by `tend`, so that a write need not look at the clock. */
  #lastWrite = 0
  #quiet = true
  /** When the client was last seen to take something, while it has not taken all. */
  #fullSince: number | undefined
  #unsent = 0
  #closed = false

  constructor(response: ServerResponse, format: StreamFormat, clock: Clock, onClose: () => void) {
    this.#response = response
    this.#format = format
    this.#clock = clock
    this.#onClose = onClose
    response.on('close', () => this.#release())
    response.on('error', () => this.#release())
    response.on('drain', this.#onDrain)
    this.#socket = response.socket
    this.#socket?.on('drain', this.#onDrain)
  }

  readonly #onDrain = (): void => {
    if (this.#fullSince === undefined || this.#closed) return
    this.#fullSince = undefined
    this.#subscription?.resume()
  }

  get closed(): boolean {
    return this.#closed
  }

  attach(subscription: Subscription): void {
    this.#subscription = subscription
    if (this.#closed) return subscription.close()
    this.#cursor = subscription.cursor
    this.#open()
  }

  write(slice: Slice): boolean {
    this.#open()
    this.#cursor = lastOf(slice)
    const bytes = this.#format.encode(slice)
    const room = bytes.length === 0 || this.#put(bytes)
    if (this.#format.done?.() === true) this.#finish()
    return room
  }

  finished(): void {
    if (!this.#closed) this.#finish()
  }

  failed(cause: unknown): void {
    const error = isHoldfastError(cause) ? cause : new HoldfastError('internal', 'the log cannot be read on', { cause })
    this.#end({ kind: 'failed', error })
  }

  /** Ends the stream while its run goes on: the client is to come back with its cursor. */
  close(reason: string): void {
    this.#end({ kind: 'closing', reason, cursor: this.#cursor })
  }

  /** Shows life in silence, and cuts a client that takes nothing. */
  tend(now: number, limits: Limits): void {
    if (this.#fullSince !== undefined) {
      const unsent = unsentBytes(this.#response)
      if (unsent !== this.#unsent) this.#fullSince = now
      this.#unsent = unsent
      if (now - this.#fullSince >= limits.subscriberStallTimeoutMs) this.#response.destroy()
    } else if (!this.#quiet) {
      this.#quiet = true
      this.#lastWrite = now
    } else if (now - this.#lastWrite >= limits.heartbeatIntervalMs) {
      this.#lastWrite = now
      this.#response.write(this.#format.heartbeat)
    }
  }

  #put(bytes: Uint8Array | string): boolean {
    this.#quiet = false
    const room = this.#send(bytes)
    if (!room) this.#fullSince ??= elapsedOf(this.#clock)
    return room
  }

  #send(bytes: Uint8Array | string): boolean {
    const written = this.#takesChunks && typeof bytes !== 'string' ? writeChunk(this.#response, bytes) : undefined
    return written ?? this.#response.write(bytes)
  }

  #open(): void {
    if (this.#opened) return
    this.#opened = true
    this.#lastWrite = elapsedOf(this.#clock)
    this.#response.writeHead(200, {
      'content-type': this.#format.contentType,
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
      'x-content-type-options': 'nosniff',
      ...ISOLATION_HEADERS,
      ...this.#format.headers,
    })
    this.#response.write(this.#format.preamble)
    this.#takesChunks = this.#socket !== null && takesChunks(this.#response)
  }

  #end(notice: Notice): void {
    if (this.#closed) return
    this.#open()
    const last = this.#format.notice(notice)
    if (last === undefined) this.#response.destroy()
    else this.#finish(last)
  }

  /** The last bytes may still be on their way; a client that does not take them is cut like any other. */
  #finish(last?: string): void {
    this.#closed = true
    this.#subscription?.close()
    this.#fullSince ??= elapsedOf(this.#clock)
    this.#response.end(last)
  }

  #release(): void {
    this.#closed = true
    this.#socket?.off('drain', this.#onDrain)
    this.#subscription?.close()
    this.#onClose()
  }
}

/**
 * Bytes that the client has not taken. A large write counts as a whole in `writableLength` until its last byte is gone; how far
 * it is, only the handle below the socket knows (Node's own socket timeouts look there too).
 */
function unsentBytes(response: ServerResponse): number {
  // oxlint-disable-next-line no-underscore-dangle -- it has no other name
  const handle = (response.socket as { _handle?: { writeQueueSize?: number } | null } | null)?._handle
  return response.writableLength + (handle?.writeQueueSize ?? 0)
}
