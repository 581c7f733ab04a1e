/** Inbound backpressure for one WebSocket client: handles requests in sequence and pauses reading while too many are queued. */
import type { WebSocket } from 'ws'
import { paceRequests } from '../../core/runtime/share-event-loop.ts'
import { closeCodes, type SocketOutbox } from './outbox.ts'

/** Queued requests, and their bytes, above which reading pauses. */
const WAITING_MAX = 64
const WAITING_BYTES_MAX = 256 * 1024

/** Requests that may still arrive after the pause, from one socket read. More than that is a flood. */
const FLOOD_MAX = 1024

export class SocketInbox {
  readonly #socket: WebSocket
  readonly #outbox: SocketOutbox
  readonly #handle: (request: Buffer) => Promise<void>
  readonly #waiting: Buffer[] = []
  #bytes = 0
  #working = false

  /** `handle` must not throw. It is called only while the outbox has room. */
  constructor(socket: WebSocket, outbox: SocketOutbox, handle: (request: Buffer) => Promise<void>) {
    this.#socket = socket
    this.#outbox = outbox
    this.#handle = handle
  }

  push(request: Buffer): void {
    if (!this.#outbox.isOpen) return
    this.#waiting.push(request)
    this.#bytes += request.length
    if (this.#waiting.length > FLOOD_MAX) return this.#refuse()
    if (this.#isFull) this.#socket.pause()
    if (!this.#working) void this.#work()
  }

  get #isFull(): boolean {
    return this.#waiting.length >= WAITING_MAX || this.#bytes >= WAITING_BYTES_MAX || !this.#outbox.hasRoom
  }

  #refuse(): void {
    this.#clear()
    this.#outbox.disconnect(closeCodes.tryAgainLater, 'too many requests')
  }

  async #work(): Promise<void> {
    this.#working = true
    while (this.#waiting.length > 0 && this.#outbox.isOpen) {
      if (!this.#outbox.hasRoom) await new Promise<void>((resolve) => this.#outbox.whenRoom(resolve))
      const request = this.#waiting.shift()
      if (request === undefined) break
      this.#bytes -= request.length
      await paceRequests()
      await this.#handle(request)
      if (this.#socket.isPaused && this.#outbox.isOpen && !this.#isFull) this.#socket.resume()
    }
    if (!this.#outbox.isOpen) this.#clear()
    this.#working = false
  }

  #clear(): void {
    this.#waiting.length = 0
    this.#bytes = 0
  }
}
