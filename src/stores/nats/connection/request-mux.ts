/**
 * Request multiplexing: many requests to the servers over one reply subscription. The client library creates an error with a stack and a
 * timer for every request, which costs more than everything else about it.
 */
import type { Msg, MsgHdrs, NatsConnection } from '@nats-io/transport-node'
import { NoResponders } from './failures.ts'

interface PendingRequest {
  readonly until: number
  readonly resolve: (reply: Msg) => void
  readonly reject: (cause: Error) => void
}

const TIMEOUT_CHECK_MS = 50

export class RequestMux {
  readonly #connection: NatsConnection
  readonly #requestTimeoutMs: number
  readonly #inbox = `_INBOX.${crypto.randomUUID()}`
  /** In the order of sending, and so of their deadlines. */
  readonly #waiting = new Map<string, PendingRequest>()
  readonly #timeoutTimer: NodeJS.Timeout
  #sent = 0

  constructor(connection: NatsConnection, requestTimeoutMs: number) {
    this.#connection = connection
    this.#requestTimeoutMs = requestTimeoutMs
    connection.subscribe(`${this.#inbox}.*`, { callback: (_, reply) => this.#receive(reply) })
    this.#timeoutTimer = setInterval(() => this.#checkTimeouts(), TIMEOUT_CHECK_MS).unref()
  }

  request(subject: string, data: Uint8Array | undefined, headers: MsgHdrs | undefined): Promise<Msg> {
    const token = String(++this.#sent)
    return new Promise((resolve, reject) => {
      this.#waiting.set(token, { until: performance.now() + this.#requestTimeoutMs, resolve, reject })
      this.#connection.publish(subject, data, { reply: `${this.#inbox}.${token}`, ...(headers && { headers }) })
    })
  }

  /** Rejects all pending requests. */
  giveUp(reason: string): void {
    for (const [token, { reject }] of this.#waiting) {
      this.#waiting.delete(token)
      reject(new Error(reason))
    }
  }

  close(): void {
    clearInterval(this.#timeoutTimer)
    this.giveUp('the store is closed')
  }

  #receive(reply: Msg): void {
    const token = reply.subject.slice(this.#inbox.length + 1)
    const waiting = this.#waiting.get(token)
    if (waiting === undefined) return
    this.#waiting.delete(token)
    if (reply.data.length === 0 && reply.headers?.code === 503)
      waiting.reject(new NoResponders('no NATS server responds for this stream'))
    else waiting.resolve(reply)
  }

  #checkTimeouts(): void {
    const now = performance.now()
    for (const [token, { until, reject }] of this.#waiting) {
      if (until > now) return
      this.#waiting.delete(token)
      reject(new Error(`no reply within ${this.#requestTimeoutMs} ms`))
    }
  }
}
