/**
 * The instance token: which process the file belongs to. Whoever opens the file writes its own token, and every transaction
 * checks that the token is still there. So a second opener fences the first, whatever became of the lock file.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'

/** Another process has opened the file: this one must never write to it again, nor open it anew. */
export class FencedError extends Error {
  override readonly name = 'FencedError'

  constructor() {
    super(
      'another process has opened the database file: this one is fenced and writes nothing more; stop one of the two',
    )
  }
}

export class Instance {
  readonly #token: string
  readonly #select: StatementSync
  readonly #replace: StatementSync

  constructor(database: DatabaseSync, token: string) {
    this.#token = token
    this.#select = database.prepare('SELECT token FROM instance')
    this.#replace = database.prepare('INSERT OR REPLACE INTO instance (slot, token) VALUES (1, ?)')
  }

  /** Takes the file over. */
  take(): void {
    this.#replace.run(this.#token)
  }

  /** Who opened the file last. */
  current(): string | undefined {
    return this.#select.get()?.['token'] as string | undefined
  }

  /** Call inside a write transaction: nobody can take the file over before it ends. */
  assertCurrent(): void {
    if (this.current() !== this.#token) throw new FencedError()
  }
}
