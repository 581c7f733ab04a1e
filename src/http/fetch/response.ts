/**
 * Adapts the output of the server's handlers to a web `Response`. Buffers at most `BUFFER_BYTES` plus one write: `write` then
 * returns false, and `drain` follows when the reader has consumed the buffer (SUB-1).
 */
import { EventEmitter } from 'node:events'
import type { OutgoingHttpHeaders } from 'node:http'
import type { HttpResponse } from '../exchange.ts'

/** The size of Node's socket buffer. */
const BUFFER_BYTES = 64 * 1024

/** Responses with these statuses have no body, not even an empty one. */
const BODILESS: readonly number[] = [101, 204, 205, 304]

/** Status for a client that has disconnected. Not registered: no client sees it. */
const CLIENT_CLOSED = 499

export class FetchResponse extends EventEmitter implements HttpResponse {
  readonly req: { readonly method: string }
  readonly socket = null
  readonly chunkedEncoding = false
  readonly shouldKeepAlive = true
  headersSent = false
  destroyed = false
  writableEnded = false
  writableFinished = false
  writableNeedDrain = false
  writableLength = 0
  /** Resolves with the first bytes of the body, or without them if there are none. */
  readonly answer: Promise<Response>
  readonly #resolve: (response: Response) => void
  readonly #headers = new Headers()
  #status = 200
  #isAnswered = false
  #chunks: Uint8Array[] = []
  #reader: ReadableStreamDefaultController<Uint8Array> | undefined
  /** Whether the reader waits for bytes. */
  #isWanted = false
  #idle: { readonly timer: NodeJS.Timeout } | undefined

  constructor(req: { readonly method: string }, gone: AbortSignal) {
    super()
    this.req = req
    const { promise, resolve } = Promise.withResolvers<Response>()
    this.answer = promise
    this.#resolve = resolve
    if (gone.aborted) queueMicrotask(() => this.#abort())
    else {
      const abort = (): void => this.#abort()
      gone.addEventListener('abort', abort, { once: true })
      this.once('close', () => gone.removeEventListener('abort', abort))
    }
  }

  setHeader(name: string, value: number | string | readonly string[]): this {
    if (name.toLowerCase() === 'connection') return this // the connection belongs to the host
    this.#headers.delete(name)
    for (const each of [value].flat()) this.#headers.append(name, String(each))
    return this
  }

  writeHead(status: number, headers: OutgoingHttpHeaders = {}): this {
    this.headersSent = true
    this.#status = status
    for (const [name, value] of Object.entries(headers)) if (value !== undefined) this.setHeader(name, value)
    return this
  }

  write(chunk: string | Uint8Array): boolean {
    if (this.destroyed || this.writableEnded) return false
    this.#open()
    this.#put(chunk)
    this.#flush()
    this.writableNeedDrain ||= this.writableLength >= BUFFER_BYTES
    return !this.writableNeedDrain
  }

  end(chunk?: string | Uint8Array): this {
    if (this.destroyed || this.writableEnded) return this
    this.writableEnded = true
    if (chunk !== undefined) this.#put(chunk)
    // A large body stays here until its reader consumes it, so that a stalled reader can be disconnected.
    if (this.writableLength > BUFFER_BYTES) this.#open()
    if (this.#isAnswered) this.#flush()
    else {
      const body = this.#takesBody && this.writableLength > 0 ? this.#take() : null
      this.#answerWith(body)
      this.#finish()
    }
    return this
  }

  /** Aborts an incomplete response, so that its reader cannot consider it complete. */
  destroy(): this {
    if (this.destroyed || this.writableFinished) return this
    this.#reader?.error(new Error('the response was cut off'))
    this.#leave()
    return this
  }

  /** Drops the rest after the client has disconnected: hosts would print an error. */
  #abort(): void {
    if (this.destroyed || this.writableFinished) return
    this.#reader?.close()
    this.#leave()
  }

  #leave(): void {
    if (!this.#isAnswered) this.#resolve(new Response(null, { status: CLIENT_CLOSED }))
    this.#close()
  }

  setTimeout(ms: number, callback: () => void): this {
    const timer = setTimeout(callback, ms)
    timer.unref()
    this.#idle = { timer }
    return this
  }

  get #takesBody(): boolean {
    return this.req.method !== 'HEAD' && !BODILESS.includes(this.#status)
  }

  #open(): void {
    if (this.#isAnswered) return
    const body = this.#takesBody
      ? new ReadableStream<Uint8Array>(
          {
            start: (reader) => void (this.#reader = reader),
            pull: () => {
              this.#isWanted = true
              this.#flush()
            },
            cancel: () => this.#close(),
          },
          { highWaterMark: 0 },
        )
      : null
    this.#answerWith(body)
  }

  #answerWith(body: ReadableStream<Uint8Array> | Uint8Array<ArrayBuffer> | null): void {
    this.headersSent = true
    this.#isAnswered = true
    this.#resolve(new Response(body, { status: this.#status, headers: this.#headers }))
  }

  #put(chunk: string | Uint8Array): void {
    if (chunk.length === 0 || !this.#takesBody) return
    const bytes = typeof chunk === 'string' ? encoder.encode(chunk) : chunk
    this.#chunks.push(bytes)
    this.writableLength += bytes.length
  }

  #flush(): void {
    if (this.writableLength > 0) {
      if (!this.#isWanted) return
      this.#isWanted = false
      this.#reader?.enqueue(this.#take())
      if (this.writableLength > 0) return
    }
    if (this.writableEnded) return this.#finish()
    if (!this.writableNeedDrain) return
    this.writableNeedDrain = false
    this.emit('drain')
  }

  /** Returns the bytes for one read. Always a copy: other subscribers get the same bytes, and a reader may transfer its buffer. */
  #take(): Uint8Array<ArrayBuffer> {
    const bytes = new Uint8Array(Math.min(this.writableLength, BUFFER_BYTES))
    let at = 0
    let taken = 0
    for (const chunk of this.#chunks) {
      if (at === bytes.length) break
      const part = chunk.length > bytes.length - at ? chunk.subarray(0, bytes.length - at) : chunk
      bytes.set(part, at)
      at += part.length
      if (part === chunk) taken++
      else this.#chunks[taken] = chunk.subarray(part.length)
    }
    this.#chunks = this.#chunks.slice(taken)
    this.writableLength -= bytes.length
    this.#idle?.timer.refresh()
    return bytes
  }

  #finish(): void {
    if (this.writableFinished || this.destroyed) return
    this.writableFinished = true
    this.#reader?.close()
    this.#close()
  }

  #close(): void {
    if (this.destroyed) return
    this.destroyed = true
    this.#chunks = []
    this.writableLength = 0
    clearTimeout(this.#idle?.timer)
    queueMicrotask(() => this.emit('close'))
  }
}

const encoder = new TextEncoder()
