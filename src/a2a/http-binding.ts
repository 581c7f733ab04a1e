/** Shared part of the two HTTP bindings: one request per operation, and server-sent event streams. */
import { Watchdog } from '../client/watchdog.ts'
import type { ParsedEvent } from '../sse/index.ts'
import type { Binding, CallOptions, Invocation, StreamInvocation, StreamOptions } from './binding.ts'
import type { A2aInterface } from './card.ts'
import { A2aError } from './errors.ts'
import {
  type Exchange,
  type HttpExchange,
  eventsOf,
  isEventStream,
  readText,
  serviceHeaders,
  type FullResponse,
} from './exchange.ts'
import { type Dialect, Decoder } from './decode.ts'
import type { TaskUpdate } from './types.ts'

/** Encoding of one of the bindings. */
export interface HttpEncoding {
  /** Dialect of 0.3. */
  readonly legacyDialect: Dialect
  /** Media types of non-streaming responses. */
  readonly accept: string
  asked(invocation: Invocation | StreamInvocation): OperationRequest
  /** Decodes a response; throws if it is an error. */
  result(reply: FullResponse, url: string): unknown
  /** Decodes a stream event; throws if it is an error. */
  event(event: ParsedEvent): unknown
}

export interface OperationRequest extends Omit<HttpExchange, 'headers'> {
  readonly contentType?: string
  /** Fallback for agents that refuse the first body. */
  readonly otherBody?: object
}

export class HttpBinding implements Binding {
  readonly reader: Decoder
  readonly #exchange: Exchange
  readonly #words: HttpEncoding
  readonly #headers: Readonly<Record<string, string>>

  constructor(exchange: Exchange, { version }: A2aInterface, extensions: readonly string[], words: HttpEncoding) {
    this.#exchange = exchange
    this.#words = words
    this.#headers = serviceHeaders(version, extensions)
    this.reader = new Decoder(version === '1.0' ? '1.0' : words.legacyDialect)
  }

  async call(invocation: Invocation, options: CallOptions): Promise<unknown> {
    const asked = this.#words.asked(invocation)
    try {
      return await this.#send(asked, options)
    } catch (cause) {
      if (asked.otherBody === undefined || !(cause instanceof A2aError)) throw cause
      return this.#send({ ...asked, body: asked.otherBody }, options)
    }
  }

  async *stream(
    invocation: StreamInvocation,
    { signal, timeoutMs, after }: StreamOptions,
  ): AsyncGenerator<TaskUpdate, void, void> {
    const watchdog = new Watchdog(timeoutMs, signal)
    const asked = this.#words.asked(invocation)
    const { url } = asked
    try {
      const response = await this.#exchange.open(this.#request(asked, 'text/event-stream', after), watchdog)
      // An error before the first event is not a stream.
      if (!isEventStream(response)) {
        const text = await readText(response, url, watchdog)
        yield this.reader.update(this.#words.result({ response, text }, url))
        return
      }
      for await (const event of eventsOf(response, url, watchdog)) yield this.reader.update(this.#words.event(event))
    } finally {
      watchdog.close()
    }
  }

  close(): void {}

  async #send(asked: OperationRequest, { signal, timeoutMs }: CallOptions): Promise<unknown> {
    const reply = await this.#exchange.whole(this.#request(asked, this.#words.accept), timeoutMs, signal)
    return this.#words.result(reply, asked.url)
  }

  #request({ url, method, contentType, body }: OperationRequest, accept: string, after?: string): HttpExchange {
    return {
      url,
      method,
      headers: {
        accept,
        ...(contentType !== undefined && { 'content-type': contentType }),
        ...this.#headers,
        ...(after !== undefined && { 'last-event-id': after }),
      },
      body,
    }
  }
}
