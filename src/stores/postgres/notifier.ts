/**
 * Tells the other nodes what became durable here. After the commit and not within it: a transaction that notifies holds a lock
 * of the whole server while it commits, and nobody's records should wait for that. What gathers while one notice is on its way
 * rides on the next.
 */
import type { Database } from './database.ts'
import { encodeNotices, type Notice } from './notices.ts'

export class Notifier {
  readonly #database: Database
  readonly #channel: string
  readonly #node: string
  /** One for each run: the latest says it all. */
  readonly #waiting = new Map<string, Notice>()
  #working: Promise<void> | undefined
  #stopped = false

  constructor(database: Database, channel: string, node: string) {
    this.#database = database
    this.#channel = channel
    this.#node = node
  }

  tell(notice: Notice): void {
    if (this.#stopped) return
    const before = this.#waiting.get(notice.run)
    this.#waiting.set(notice.run, before === undefined ? notice : merged(before, notice))
    this.#working ??= this.#work()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await this.#working
  }

  async #work(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve))
    while (this.#waiting.size > 0) {
      const texts = encodeNotices(this.#node, this.#waiting.values())
      this.#waiting.clear()
      // A hint that is lost is no harm, so it is not sent again.
      await this.#database
        .once('SELECT pg_notify($1, text) FROM unnest($2::text[]) AS text', [this.#channel, texts])
        .catch(() => {})
    }
    this.#working = undefined
  }
}

function merged(before: Notice, after: Notice): Notice {
  return {
    run: after.run,
    next: Math.max(before.next, after.next),
    ...((before.stop ?? after.stop) && { stop: true }),
    ...((before.claimable ?? after.claimable) && { claimable: true }),
  }
}
