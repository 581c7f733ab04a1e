/** One stream on a WebSocket: the same view as over HTTP, one message per chunk, with backpressure (SUB-1). */
import { isHoldfastError } from '../../../core/model/errors.ts'
import type { Principal } from '../../../core/model/principal.ts'
import type { Slice } from '../../../core/model/slice.ts'
import type { Sink, Subscription } from '../../../core/delivery/subscription.ts'
import type { ReferencedState } from '../../../core/delivery/view-memory.ts'
import type { Service } from '../../../core/service.ts'
import { closeCodes, type SocketOutbox } from '../../../http/socket/outbox.ts'
import type { ChatFrame } from '../../../ai-sdk/view/state.ts'
import { ChatCursor } from '../wire/chat-cursor.ts'
import type { ChatStream } from '../wire/stream.ts'

/** The JSON of a frame's chunk, which all sockets share. */
const encoded = new WeakMap<ChatFrame, string>()

function encode(frame: ChatFrame): string {
  let known = encoded.get(frame)
  if (known === undefined) encoded.set(frame, (known = frame.json ?? JSON.stringify(frame.chunk)))
  return known
}

export class ChatFeed implements Sink {
  readonly run: string
  readonly #outbox: SocketOutbox
  readonly #id: string
  readonly #head: string
  readonly #cursor: ChatCursor
  readonly #onClose: () => void
  readonly #resume = (): void => this.#subscription?.resume()
  #subscription: Subscription | undefined
  #closed = false

  constructor(outbox: SocketOutbox, requestId: string, stream: ChatStream, onClose: () => void) {
    this.run = stream.leg.run
    this.#outbox = outbox
    this.#id = JSON.stringify(requestId)
    this.#head = `{"type":"chunk","requestId":${this.#id},"sequence":`
    this.#cursor = new ChatCursor(stream)
    this.#onClose = onClose
  }

  async open(service: Service, principal: Principal): Promise<void> {
    try {
      const subscription = await service.subscribe(principal, this.run, this.#cursor.after, this)
      if (this.#closed) return subscription.close()
      this.#subscription = subscription
    } catch (cause) {
      this.close()
      throw cause
    }
  }

  get referenced(): ReferencedState {
    return this.#cursor.referenced
  }

  write(slice: Slice): boolean {
    if (this.#closed) return false
    for (const frame of this.#cursor.take(slice).frames)
      if (frame.chunk !== undefined && frame.chunk !== '[DONE]')
        this.#outbox.send(`${this.#head}${frame.position},"chunk":${encode(frame)}}`)
    const { end } = this.#cursor
    // Output that the client has was retracted. It reconnects and gets a replay.
    if (end === 'cut') this.#outbox.disconnect(closeCodes.tryAgainLater, 'output was retracted: resume the stream')
    else if (end !== undefined) this.#outbox.send(`{"type":"end","requestId":${this.#id}}`)
    if (end !== undefined) this.close()
    if (this.#closed || this.#outbox.hasRoom) return true
    this.#outbox.whenRoom(this.#resume)
    return false
  }

  finished(): void {
    this.close()
  }

  failed(cause: unknown): void {
    if (this.#closed) return
    const errorText = isHoldfastError(cause) ? cause.message : 'failed to read the log'
    this.#outbox.send(JSON.stringify({ type: 'error', requestId: JSON.parse(this.#id), errorText }))
    this.close()
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#outbox.forget(this.#resume)
    this.#subscription?.close()
    this.#onClose()
  }
}
