/** Reports a write-ahead log that grows because another program keeps reading the database. */
import type { Logger } from '../../../core/ports/logger.ts'

export class PinnedJournal {
  readonly #store: string
  readonly #logger: Logger
  #bytes = 0

  constructor(store: string, logger: Logger) {
    this.#store = store
    this.#logger = logger
  }

  get warning(): string | undefined {
    if (this.#bytes === 0) return undefined
    const megabytes = Math.ceil(this.#bytes / 1e6)
    return `the write-ahead log has ${megabytes} MB and cannot be checkpointed: another program keeps reading the database (a backup, an open SQLite shell)`
  }

  /** Its current size; 0 if nothing blocks it. Logged when it starts, whenever it has doubled, and when it is over. */
  update(bytes: number): void {
    if (bytes > 0 && bytes < 2 * this.#bytes) return
    const wasPinned = this.#bytes > 0
    this.#bytes = bytes
    const store = this.#store
    if (bytes > 0) this.#logger.warn({ store, bytes }, this.warning!)
    else if (wasPinned) this.#logger.info({ store }, 'the write-ahead log can be checkpointed again')
  }
}
