/** Limits time and message size of a WebSocket before authentication. */
import type { Duplex } from 'node:stream'
import type { WebSocket } from 'ws'
import type { Limits } from '../../../core/model/limits.ts'
import { closeCodes, type SocketOutbox } from '../../../http/socket/outbox.ts'

/** Overhead of a WebSocket frame. */
const FRAME_BYTES_MAX = 14

export class Login {
  readonly #raw: Duplex
  readonly #outbox: SocketOutbox
  readonly #maxBytes: number
  readonly #deadline: ReturnType<typeof setTimeout>
  readonly #onData = (chunk: Buffer): void => this.#count(chunk)
  #pending = true
  /** Bytes of the incomplete message. */
  #partial = 0
  #isWhole = false

  /** `raw` is the socket that `ws` already reads; `ws` emits a chunk's messages before the chunk is counted here. */
  constructor(
    socket: WebSocket,
    raw: Duplex,
    outbox: SocketOutbox,
    {
      socketAuthTimeoutMs,
      maxUnauthenticatedMessageBytes,
    }: Pick<Limits, 'socketAuthTimeoutMs' | 'maxUnauthenticatedMessageBytes'>,
  ) {
    this.#raw = raw
    this.#outbox = outbox
    this.#maxBytes = maxUnauthenticatedMessageBytes
    const tooLate = `authenticate within ${socketAuthTimeoutMs / 1000} s`
    this.#deadline = setTimeout(() => outbox.disconnect(closeCodes.policyViolation, tooLate), socketAuthTimeoutMs)
    raw.on('data', this.#onData)
    socket.once('close', () => this.end())
  }

  /** Whether a message may be handled. Closes the connection if it is too large. */
  admits(message: Buffer): boolean {
    this.#isWhole = true
    if (!this.#pending || message.length <= this.#maxBytes) return true
    this.#refuse()
    return false
  }

  /** Call when the client has authenticated or disconnected. */
  end(): void {
    this.#pending = false
    clearTimeout(this.#deadline)
    this.#raw.off('data', this.#onData)
  }

  #count(chunk: Buffer): void {
    this.#partial = this.#isWhole ? 0 : this.#partial + chunk.length
    this.#isWhole = false
    if (this.#partial > this.#maxBytes + FRAME_BYTES_MAX) this.#refuse()
  }

  #refuse(): void {
    this.#outbox.disconnect(closeCodes.tooBig, `at most ${this.#maxBytes} bytes before authentication`)
  }
}
