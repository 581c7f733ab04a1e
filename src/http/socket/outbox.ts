/** Outbound backpressure for one WebSocket client: bounds its unsent bytes and disconnects it when it stops reading. */
import type { WebSocket } from 'ws'

/** Unsent bytes above which producers wait. */
const UNSENT_BYTES_MAX = 256 * 1024

/** Time for a disconnected client to read the close frame. */
const CLOSE_GRACE_MS = 1000

/** Close codes of RFC 6455 and its registry. */
export const closeCodes = { policyViolation: 1008, tooBig: 1009, tryAgainLater: 1013 } as const

export class SocketOutbox {
  readonly #socket: WebSocket
  readonly #stallMs: number
  readonly #waiting = new Set<() => void>()
  readonly #onSent = (): void => this.#sent()
  #stall: ReturnType<typeof setTimeout> | undefined
  #grace: ReturnType<typeof setTimeout> | undefined

  constructor(socket: WebSocket, stallMs: number) {
    this.#socket = socket
    this.#stallMs = stallMs
    socket.on('close', () => {
      clearTimeout(this.#stall)
      clearTimeout(this.#grace)
      this.#wake()
    })
  }

  get hasRoom(): boolean {
    return this.#socket.bufferedAmount <= UNSENT_BYTES_MAX
  }

  get isOpen(): boolean {
    return this.#socket.readyState === this.#socket.OPEN
  }

  /** Drops the message if the connection is closed. */
  send(message: string): void {
    if (!this.isOpen) return
    this.#socket.send(message, this.#onSent)
    if (!this.hasRoom)
      this.#stall ??= setTimeout(
        () => this.disconnect(closeCodes.tryAgainLater, 'the client does not read'),
        this.#stallMs,
      )
  }

  /** Calls back once, when there is room or the connection closes, unless the callback was removed. */
  whenRoom(callback: () => void): void {
    this.#waiting.add(callback)
    if (this.hasRoom || !this.isOpen) queueMicrotask(this.#onSent)
  }

  forget(callback: () => void): void {
    this.#waiting.delete(callback)
  }

  /** Stops reading, sends a close frame, and ends the connection even if the client does not close its side. */
  disconnect(code: number, reason: string): void {
    this.#socket.pause()
    this.#socket.close(code, reason)
    this.#grace ??= setTimeout(() => this.#socket.terminate(), CLOSE_GRACE_MS)
  }

  #sent(): void {
    if (this.#stall === undefined && this.#waiting.size === 0) return
    if (this.isOpen && !this.hasRoom) return
    clearTimeout(this.#stall)
    this.#stall = undefined
    this.#wake()
  }

  #wake(): void {
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    for (const callback of waiting) callback()
  }
}
