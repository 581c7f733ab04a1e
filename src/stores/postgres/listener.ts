/** Receives hints from other nodes: one connection with LISTEN, reopened whenever it breaks. */
import { delayUntilAbort } from '../shared/delay.ts'
import { connectionConfig, type Pg } from './database.ts'

export interface ListenerOptions {
  readonly pg: Pg
  /** Must reach the server directly or through a session-pooling proxy: LISTEN belongs to a session. */
  readonly url: string
  readonly channel: string
  readonly onNotice: (text: string) => void
  /** Called when it listens again: notifications in between were lost. */
  readonly onGap: () => void
}

const RETRY_MIN_MS = 50
const RETRY_MAX_MS = 5000
/** Keepalive query that detects a dead connection. */
const ASK_EVERY_MS = 15_000
const REPLY_TIMEOUT_MS = 10_000

export class Listener {
  readonly #options: ListenerOptions
  readonly #closing = new AbortController()
  readonly #working: Promise<void>

  constructor(options: ListenerOptions) {
    this.#options = options
    this.#working = this.#work()
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#working
  }

  async #work(): Promise<void> {
    const { signal } = this.#closing
    let delayMs = RETRY_MIN_MS
    for (let isFirst = true; !signal.aborted; isFirst = false) {
      try {
        await this.#listen(() => {
          delayMs = RETRY_MIN_MS
          if (!isFirst) this.#options.onGap()
        })
      } catch {
        // Until it is back, followers poll the log.
      }
      await delayUntilAbort(delayMs, signal)
      delayMs = Math.min(delayMs * 2, RETRY_MAX_MS)
    }
  }

  /** Resolves when the connection ends or the listener is closed. */
  async #listen(onListening: () => void): Promise<void> {
    const { pg, url, channel, onNotice } = this.#options
    const client = new pg.default.Client({ ...connectionConfig(url), query_timeout: REPLY_TIMEOUT_MS })
    const over = new AbortController()
    const { signal } = over
    client.on('error', () => over.abort()) // may fire twice: for the server's message and for the broken socket
    client.once('end', () => over.abort())
    client.on('notification', ({ payload = '' }) => onNotice(payload))
    const onClose = (): void => over.abort()
    this.#closing.signal.addEventListener('abort', onClose)
    try {
      const listening = client.connect().then(() => client.query(`LISTEN ${channel}`))
      await Promise.race([listening, untilAborted(signal)])
      if (!signal.aborted) onListening()
      while (!signal.aborted) {
        await delayUntilAbort(ASK_EVERY_MS, signal)
        if (!signal.aborted) await Promise.race([client.query('SELECT'), untilAborted(signal)])
      }
    } finally {
      this.#closing.signal.removeEventListener('abort', onClose)
      // Not awaited: `pg` never settles this for a connection that broke while connecting.
      client.end().catch(() => {})
    }
  }
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
