/** One response on a WebSocket: the same view as over HTTP, one message per event, with backpressure (SUB-1). */
import type { SharedView } from '../../../core/delivery/shared-view.ts'
import type { Sink, Subscription } from '../../../core/delivery/subscription.ts'
import type { ReferencedState } from '../../../core/delivery/view-memory.ts'
import type { Principal } from '../../../core/model/principal.ts'
import type { Slice } from '../../../core/model/slice.ts'
import type { Service } from '../../../core/service.ts'
import type { SocketOutbox } from '../../../http/socket/outbox.ts'
import { ViewCursor } from '../../../http/response/view.ts'
import type { ResponseFrame } from '../responses/projection.ts'
import type { ResponseState } from '../responses/state.ts'

/** The JSON of an event, which all sockets share. */
const encoded = new WeakMap<ResponseFrame, string>()

function encode(frame: ResponseFrame): string {
  let known = encoded.get(frame)
  if (known === undefined) encoded.set(frame, (known = frame.deltaJson ?? JSON.stringify(frame.data)))
  return known
}

/**
 * Whether the frame is sent. A response ends with its last event: what follows it over HTTP would be read as the end of the next
 * response.
 */
function isSent({ data, last }: ResponseFrame): boolean {
  return data !== '[DONE]' && (data.type !== 'error' || last)
}

export interface FeedOptions {
  readonly view: SharedView<ResponseState, ResponseFrame>
  /** `stream_id` of the request; undefined if it names none. */
  readonly streamId: string | undefined
  readonly outbox: SocketOutbox
}

/** `aborted`: the connection or the log ended before the response did. */
export type FeedEnd = 'completed' | 'failed' | 'aborted'

export class ResponseFeed implements Sink {
  /** Resolves when the response has ended, or the feed was closed. */
  readonly ended: Promise<FeedEnd>
  readonly #run: string
  readonly #outbox: SocketOutbox
  readonly #tail: string
  readonly #cursor: ViewCursor<ResponseState, ResponseFrame>
  readonly #end: (end: FeedEnd) => void
  readonly #resume = (): void => this.#subscription?.resume()
  #subscription: Subscription | undefined
  #closed = false

  constructor({ view, streamId, outbox }: FeedOptions) {
    const { promise, resolve } = Promise.withResolvers<FeedEnd>()
    this.ended = promise
    this.#end = resolve
    this.#run = view.run.id
    this.#outbox = outbox
    this.#tail = streamId === undefined ? '}' : `,"stream_id":${JSON.stringify(streamId)}}`
    this.#cursor = new ViewCursor({ view })
  }

  async open(service: Service, principal: Principal): Promise<void> {
    const subscription = await service.subscribe(principal, this.#run, this.#cursor.at.index, this)
    if (this.#closed) return subscription.close()
    this.#subscription = subscription
  }

  get referenced(): ReferencedState {
    return this.#cursor.referenced
  }

  write(slice: Slice): boolean {
    if (this.#closed) return false
    const { step, begin, end } = this.#cursor.take(slice)
    for (const frame of step.frames.slice(begin, end))
      if (isSent(frame)) this.#outbox.send(encode(frame).slice(0, -1) + this.#tail)
    if (this.#cursor.ended) {
      const { status } = this.#cursor.at.state
      this.close(status === 'completed' || status === 'incomplete' ? 'completed' : 'failed')
    }
    if (this.#closed || this.#outbox.hasRoom) return true
    this.#outbox.whenRoom(this.#resume)
    return false
  }

  finished(): void {
    this.close('aborted')
  }

  failed(): void {
    this.close('aborted')
  }

  close(end: FeedEnd): void {
    if (this.#closed) return
    this.#closed = true
    this.#outbox.forget(this.#resume)
    this.#subscription?.close()
    this.#end(end)
  }
}
