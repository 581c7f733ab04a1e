/** Follows a session across its present and future runs, over any number of connections. */
import type { LoggedEvent } from '../core/model/event.ts'
import { eventsIn, piecesOf } from '../sse/read.ts'
import type { OnProblem } from './backoff.ts'
import { ApiError, ClientError, ConnectionError, GapError } from './errors.ts'
import type { OnGap } from './follow.ts'
import { isTransient, connectionFailure, type Request, type Transport } from './transport.ts'
import type { RequestOptions } from './types.ts'
import { Watchdog } from './watchdog.ts'

/** Options of `session.events`. */
export interface FollowSessionOptions extends RequestOptions {
  /** `cursor` of an earlier stream, or `end` for only what is new. Default: from the first run. */
  readonly after?: string
  /** Called when events of a run were trimmed. Default: throw `GapError`. */
  readonly onGap?: OnGap
  /** Called when the connection failed and will be retried, and with `undefined` when it has recovered. Default: only `onProblem` of the client is called. */
  readonly onProblem?: OnProblem
}

/** Events of all runs of a session, each once; those of one run in order. It does not end, and can be read once. */
export class SessionStream implements AsyncIterable<LoggedEvent> {
  readonly #transport: Transport
  readonly #path: string
  readonly #options: FollowSessionOptions
  #cursor: string | undefined
  #isIterated = false

  constructor(transport: Transport, path: string, options: FollowSessionOptions) {
    this.#transport = transport
    this.#path = path
    this.#options = options
    this.#cursor = options.after
  }

  /** The position after the last delivered event: pass it as `after` to continue, from any client and node. */
  get cursor(): string | undefined {
    return this.#cursor
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<LoggedEvent> {
    if (this.#isIterated)
      throw new TypeError('a stream can be read only once; follow the session again with after: stream.cursor')
    this.#isIterated = true
    const { signal, onProblem } = this.#options
    const backoff = this.#transport.newBackoff(onProblem)
    for (;;) {
      try {
        for await (const event of this.#connection()) {
          backoff.progress()
          yield event
        }
        throw new ConnectionError(`${this.#path}: the stream ended`)
      } catch (cause) {
        if (!(cause instanceof ClientError) || !isTransient(cause)) throw cause
        await backoff.pause(cause, signal)
      }
    }
  }

  async *#connection(): AsyncGenerator<LoggedEvent> {
    const { signal } = this.#options
    const watchdog = new Watchdog(this.#transport.idleTimeoutMs, signal)
    const cursor = this.#cursor === undefined ? {} : { after: this.#cursor }
    const headers = { accept: 'text/event-stream' }
    const request: Request = { path: this.#path, query: cursor, headers, signal, validate: () => true }
    try {
      const response = await this.#transport.open(request, watchdog)
      if (response.body === null) return
      const pieces = piecesOf(response.body, (piece) => watchdog.wait(piece))
      for await (const { event, data, id } of eventsIn(pieces, { fatal: true })) {
        const isEvent = !event.startsWith('stream.')
        if (isEvent || event === 'stream.progress' || event === 'stream.gap') this.#cursor = id
        if (isEvent) yield JSON.parse(data) as LoggedEvent
        else this.#notice(event, JSON.parse(data) as Record<string, unknown>)
      }
    } catch (cause) {
      throw connectionFailure(cause, request, watchdog)
    } finally {
      watchdog.close()
    }
  }

  #notice(event: string, message: Readonly<Record<string, unknown>>): void {
    if (event === 'stream.gap') {
      const gap = { run: String(message['run']), earliest: Number(message['earliest']) }
      const { onGap } = this.#options
      if (onGap === undefined) throw new GapError(gap.run, gap.earliest)
      onGap(gap)
    }
    if (event !== 'stream.failed') return
    const { detail, code, status } = message as { detail?: string; code?: string; status?: number }
    throw new ApiError(detail ?? 'the session cannot be followed', {
      code: code ?? 'internal',
      status: status ?? 500,
      retryable: status === 429 || (status ?? 500) >= 500,
    })
  }
}
