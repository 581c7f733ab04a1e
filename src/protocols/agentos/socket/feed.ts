/** Streams a run over a WebSocket: the same view as over HTTP, one message per event, with backpressure (SUB-1). */
import { HoldfastError, isHoldfastError } from '../../../core/model/errors.ts'
import type { Principal } from '../../../core/model/principal.ts'
import type { Slice } from '../../../core/model/slice.ts'
import type { Sink, Subscription } from '../../../core/delivery/subscription.ts'
import type { SocketOutbox } from '../../../http/socket/outbox.ts'
import { type FollowedFrames, type FollowRequest, FollowCursor, noticeOf } from '../routes/follow.ts'
import type { ReferencedState } from '../../../core/delivery/view-memory.ts'
import type { AgentOs } from '../requests/agent-os.ts'
import type { Frame } from '../view/frame-writer.ts'

/** The message of a frame, which all sockets share. */
const messages = new WeakMap<Frame, string>()
/** Longer messages are built per socket: a pause repeats the whole content, and a page may have many. */
const SHARED_CHARS_MAX = 16 * 1024

function messageOf(frame: Frame): string {
  const known = messages.get(frame)
  if (known !== undefined) return known
  const { json } = frame
  if (json.length <= SHARED_CHARS_MAX) messages.set(frame, json)
  return json
}

export class SocketFeed implements Sink {
  readonly #outbox: SocketOutbox
  readonly #os: AgentOs
  readonly #what: FollowRequest
  readonly #cursor: FollowCursor
  readonly #onClose: () => void
  readonly #resume = (): void => this.#goOn()
  /** Unsent frames of the last slice. */
  #rest: FollowedFrames | undefined
  #subscription: Subscription | undefined
  #closed = false

  constructor(outbox: SocketOutbox, os: AgentOs, what: FollowRequest, onClose: () => void) {
    this.#outbox = outbox
    this.#os = os
    this.#what = what
    this.#cursor = new FollowCursor(os, what)
    this.#onClose = onClose
  }

  async open(principal: Principal): Promise<void> {
    const { known } = this.#what
    const subscription = await this.#os.service.subscribe(principal, known.run.id, this.#cursor.after, this)
    if (this.#closed) return subscription.close()
    this.#subscription = subscription
  }

  get referenced(): ReferencedState {
    return this.#cursor.referenced
  }

  write(slice: Slice): boolean {
    if (this.#closed) return false
    this.#rest = this.#cursor.take(slice)
    return this.#sendRest()
  }

  get hasUnsent(): boolean {
    return this.#rest !== undefined
  }

  #goOn(): void {
    try {
      if (this.#closed || this.#sendRest()) this.#subscription?.resume()
    } catch (cause) {
      this.failed(cause)
    }
  }

  /** Returns false if it continues when there is room. */
  #sendRest(): boolean {
    const rest = this.#rest
    for (let index = rest?.begin ?? 0; rest !== undefined && index <= rest.end; index++) {
      if (index > rest.begin && !this.#outbox.hasRoom) {
        this.#rest = { ...rest, begin: index }
        return this.#waitForRoom()
      }
      if (index === rest.live) this.#outbox.send(JSON.stringify(this.#what.caughtUp))
      if (index < rest.end) this.#outbox.send(messageOf(rest.step.frames[index]!))
    }
    this.#rest = undefined
    if (this.#cursor.done) this.close()
    return this.#closed || this.#outbox.hasRoom || this.#waitForRoom()
  }

  #waitForRoom(): false {
    this.#outbox.whenRoom(this.#resume)
    return false
  }

  finished(): void {
    this.close()
  }

  failed(cause: unknown): void {
    const error = isHoldfastError(cause) ? cause : new HoldfastError('internal', 'failed to read the log', { cause })
    this.#sendNotice({ kind: 'failed', error })
    this.close()
  }

  /** Ends the stream because the server shuts down before the run ends. */
  leave(reason: string): void {
    this.#sendNotice({ kind: 'closing', reason, cursor: this.#subscription?.cursor ?? -1 })
    this.close()
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#outbox.forget(this.#resume)
    this.#subscription?.close()
    this.#onClose()
  }

  #sendNotice(notice: Parameters<typeof noticeOf>[1]): void {
    if (this.#closed) return
    for (const meta of noticeOf(this.#what.known.run.id, notice)) this.#outbox.send(JSON.stringify(meta))
  }
}
