/** Hears what other nodes tell: one connection that listens, opened again whenever it breaks. */
import { pause } from '../shared/pause.ts'
import { connectionConfig, type Pg } from './database.ts'

export interface ListenerOptions {
  readonly pg: Pg
  /** Must lead to the server itself, or through a proxy that pools sessions: LISTEN belongs to a session. */
  readonly url: string
  readonly channel: string
  readonly onNotice: (text: string) => void
  /** It listens again: what was told in between was not heard. */
  readonly onGap: () => void
}

const RETRY_MIN_MS = 50
const RETRY_MAX_MS = 5000
/** A connection that died without a word is noticed by asking. */
const ASK_EVERY_MS = 15_000
const ANSWER_MS = 10_000

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
    let delay = RETRY_MIN_MS
    for (let isFirst = true; !signal.aborted; isFirst = false) {
      try {
        await this.#listen(() => {
          delay = RETRY_MIN_MS
          if (!isFirst) this.#options.onGap()
        })
      } catch {
        // Meanwhile the log is polled.
      }
      await pause(delay, signal)
      delay = Math.min(delay * 2, RETRY_MAX_MS)
    }
  }

  /** For as long as the connection lives, and nobody closes. */
  async #listen(onListening: () => void): Promise<void> {
    const { pg, url, channel, onNotice } = this.#options
    const client = new pg.default.Client({ ...connectionConfig(url), query_timeout: ANSWER_MS })
    const over = new AbortController()
    const { signal } = over
    client.on('error', () => over.abort()) // more than once: what the server says, and that the socket broke
    client.once('end', () => over.abort())
    client.on('notification', ({ payload = '' }) => onNotice(payload))
    const onClose = (): void => over.abort()
    this.#closing.signal.addEventListener('abort', onClose)
    try {
      const listening = client.connect().then(() => client.query(`LISTEN ${channel}`))
      await Promise.race([listening, aborted(signal)])
      if (!signal.aborted) onListening()
      while (!signal.aborted) {
        await pause(ASK_EVERY_MS, signal)
        if (!signal.aborted) await Promise.race([client.query('SELECT'), aborted(signal)])
      }
    } finally {
      this.#closing.signal.removeEventListener('abort', onClose)
      // Not awaited: the end of a connection that broke while it was being made is never told.
      client.end().catch(() => {})
    }
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
