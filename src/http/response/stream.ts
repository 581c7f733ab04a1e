/**
 * Streams a log to a response. Buffers nothing itself: when a slow client's socket buffer is full, its subscription pauses until the
 * client reads again or is disconnected (SUB-1).
 */
import type { Socket } from 'node:net'
import { type Clock, elapsedOf } from '../../core/ports/clock.ts'
import { HoldfastError, isHoldfastError } from '../../core/model/errors.ts'
import type { Limits } from '../../core/model/limits.ts'
import { lastOf, type Slice } from '../../core/model/slice.ts'
import type { Sink, Subscription } from '../../core/delivery/subscription.ts'
import { type Encoded, EncodedParts } from '../../core/delivery/encoded.ts'
import { repeatTimer } from '../../core/runtime/timer.ts'
import type { ReferencedState } from '../../core/delivery/view-memory.ts'
import { takesChunks, writeChunk } from './chunk.ts'
import type { HttpResponse } from '../exchange.ts'
import { ISOLATION_HEADERS } from './respond.ts'

/** Why a stream ends before its run, or which events are missing. */
export type Notice =
  | { readonly kind: 'gap'; readonly earliest: number }
  | { readonly kind: 'closing'; readonly reason: string; readonly cursor: number }
  | { readonly kind: 'failed'; readonly error: HoldfastError }

/** How a protocol encodes a stream. */
export interface StreamFormat {
  readonly contentType: string
  readonly headers?: Readonly<Record<string, string>>
  /** Sent with the headers, so that the client knows immediately that it is connected. */
  readonly preamble: string
  readonly heartbeat: string
  /** `encode` returns the unchanged bytes of its slice. */
  readonly copiesRecords?: boolean
  /** Sent instead of the heartbeat. Undefined: send the heartbeat. */
  progress?(): string | undefined
  /** Empty if the slice has nothing for this stream. */
  encode(slice: Slice): Encoded
  /** True once an encoded frame ends the stream before the run ends. `aborted`: end it like a lost connection. */
  done?(): boolean | 'aborted'
  /** View state that the stream references. */
  referenced?(): ReferencedState
  /** Undefined aborts the connection: in some protocols a clean end without a final frame means success. */
  notice(notice: Notice): string | undefined
}

/** The open streams of a server, with one shared timer for heartbeats and stall timeouts. */
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

  /** Opens a stream on a response; `first` is sent before any event. */
  async serve(
    response: HttpResponse,
    format: StreamFormat,
    subscribe: (stream: Stream) => Promise<Subscription>,
    first?: Notice,
  ): Promise<void> {
    const preamble = first === undefined ? format.preamble : format.preamble + (format.notice(first) ?? '')
    const stream = new Stream(response, { ...format, preamble }, this.#clock, () => this.#open.delete(stream))
    // Subscribe before sending headers, so that a failure still sets the status code.
    stream.attach(await subscribe(stream))
    if (response.destroyed || response.writableFinished) return
    this.#open.add(stream)
    if (stream.isClosed) return
    if (this.#closing !== undefined) stream.close(this.#closing)
    else if (response.req.method === 'HEAD') stream.finished()
  }

  /** Ends every stream with a notice: the reason, and the cursor to resume from. */
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
  readonly #response: HttpResponse
  readonly #format: StreamFormat
  readonly #clock: Clock
  readonly #onClose: () => void
  #subscription: Subscription | undefined
  #opened = false
  #takesChunks = false
  readonly #socket: Socket | null
  #cursor = -1
  /** Updated by `tend`, so that a write need not read the clock. */
  #lastWrite = 0
  #quiet = true
  /** When the client last made progress while bytes are unsent. */
  #fullSince: number | undefined
  #unsent = 0
  /** The unsent rest of a slice whose frames exceed one write, and the index of its last record. */
  #rest: { readonly parts: EncodedParts; readonly last: number } | undefined
  #closed = false

  constructor(response: HttpResponse, format: StreamFormat, clock: Clock, onClose: () => void) {
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
    try {
      if (this.#putRest()) this.#subscription?.resume()
    } catch (cause) {
      this.failed(cause)
    }
  }

  get isClosed(): boolean {
    return this.#closed
  }

  get copiesRecords(): boolean {
    return this.#format.copiesRecords === true
  }

  get referenced(): ReferencedState | undefined {
    return this.#format.referenced?.()
  }

  attach(subscription: Subscription): void {
    this.#subscription = subscription
    if (this.#closed) return subscription.close()
    this.#cursor = subscription.cursor
    this.#open()
  }

  get hasUnsent(): boolean {
    return this.#rest !== undefined
  }

  write(slice: Slice): boolean {
    this.#open()
    const last = lastOf(slice)
    const encoded = this.#format.encode(slice)
    if (encoded instanceof EncodedParts) {
      this.#rest = { parts: encoded, last }
      return this.#putRest()
    }
    this.#cursor = last
    const room = encoded.length === 0 || this.#put(encoded, encoded === slice.bytes ? slice.release : undefined)
    this.#endIfDone()
    return room
  }

  /** Returns false if more remains to be sent once the client has read. */
  #putRest(): boolean {
    const rest = this.#rest
    if (rest === undefined) return true
    for (let part = rest.parts.next(); part !== undefined; part = rest.parts.next()) if (!this.#put(part)) return false
    this.#rest = undefined
    this.#cursor = rest.last
    this.#endIfDone()
    return true
  }

  #endIfDone(): void {
    const done = this.#format.done?.() ?? false
    if (done === 'aborted') this.#response.destroy()
    else if (done) this.#finish()
  }

  finished(): void {
    if (!this.#closed) this.#finish()
  }

  failed(cause: unknown): void {
    const error = isHoldfastError(cause) ? cause : new HoldfastError('internal', 'failed to read the log', { cause })
    this.#end({ kind: 'failed', error })
  }

  /** Ends the stream before its run ends. The client resumes with its cursor. */
  close(reason: string): void {
    this.#end({ kind: 'closing', reason, cursor: this.#cursor })
  }

  /** Sends heartbeats, and disconnects a client that reads nothing. */
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
      this.#response.write(this.#format.progress?.() ?? this.#format.heartbeat)
    }
  }

  /** `release`: called when the bytes are no longer needed. */
  #put(bytes: Uint8Array | string, release?: () => void): boolean {
    this.#quiet = false
    const room = this.#send(bytes, release)
    if (!room) this.#fullSince ??= elapsedOf(this.#clock)
    return room
  }

  #send(bytes: Uint8Array | string, release: (() => void) | undefined): boolean {
    const written = this.#takesChunks ? writeChunk(this.#response, bytes) : undefined
    if (written !== undefined) return written
    // Only Node's own socket reports when it no longer needs the bytes.
    return this.#takesChunks && release !== undefined
      ? this.#response.write(bytes, (error) => error ?? release())
      : this.#response.write(bytes)
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

  /** The stall timeout still applies while the last bytes are unsent. */
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
 * Bytes not yet sent. `writableLength` counts a large write in full until its last byte is gone; only the socket's handle knows the
 * progress (Node's own socket timeouts use it too).
 */
function unsentBytes(response: HttpResponse): number {
  // oxlint-disable-next-line no-underscore-dangle -- Node has no public API for it
  const handle = (response.socket as { _handle?: { writeQueueSize?: number } | null } | null)?._handle
  return response.writableLength + (handle?.writeQueueSize ?? 0)
}
