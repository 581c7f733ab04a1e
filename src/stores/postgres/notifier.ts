/**
 * Notifies other nodes about commits. After the commit, not inside it: a transaction with NOTIFY takes a server-wide lock while
 * it commits, and appends should not wait for that. Hints that arrive while a notification is under way are batched into the
 * next.
 */
import type { Database } from './database.ts'
import { encodeNotices, type Notice } from './notices.ts'

export class Notifier {
  readonly #database: Database
  readonly #channel: string
  readonly #node: string
  /** One per run: the latest supersedes earlier ones. */
  readonly #waiting = new Map<string, Notice>()
  #working: Promise<void> | undefined
  #stopped = false

  constructor(database: Database, channel: string, node: string) {
    this.#database = database
    this.#channel = channel
    this.#node = node
  }

  notify(notice: Notice): void {
    if (this.#stopped) return
    const before = this.#waiting.get(notice.run)
    this.#waiting.set(notice.run, before === undefined ? notice : mergeNotices(before, notice))
    this.#working ??= this.#work()
  }

  async close(): Promise<void> {
    this.#stopped = true
    await this.#working
  }

  async #work(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve))
    while (this.#waiting.size > 0) {
      const texts = encodeNotices(this.#node, this.#waiting.values())
      this.#waiting.clear()
      // Not retried: a lost hint does no harm.
      await this.#database
        .once('SELECT pg_notify($1, text) FROM unnest($2::text[]) AS text', [this.#channel, texts])
        .catch(() => {})
    }
    this.#working = undefined
  }
}

function mergeNotices(before: Notice, after: Notice): Notice {
  return {
    run: after.run,
    next: Math.max(before.next, after.next),
    ...((before.stop ?? after.stop) && { stop: true }),
    ...((before.claimable ?? after.claimable) && { claimable: true }),
  }
}
