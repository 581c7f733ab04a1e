/**
 * Instance token: which process owns the file. Every opener writes its own token, and every transaction checks that it is still
 * there. So a second opener fences the first, whatever happened to the lock file.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'

/** Another process has opened the file: this one must never write to it or reopen it. */
export class FencedError extends Error {
  override readonly name = 'FencedError'

  constructor() {
    super(
      'another process has opened the database file: this one is fenced and writes nothing more; stop one of the two',
    )
  }
}

export class FileInstance {
  readonly #token: string
  readonly #select: StatementSync
  readonly #replace: StatementSync

  constructor(database: DatabaseSync, token: string) {
    this.#token = token
    this.#select = database.prepare('SELECT token FROM instance')
    this.#replace = database.prepare('INSERT OR REPLACE INTO instance (slot, token) VALUES (1, ?)')
  }

  /** Takes ownership of the file. */
  take(): void {
    this.#replace.run(this.#token)
  }

  /** Token of the last opener. */
  current(): string | undefined {
    return this.#select.get()?.['token'] as string | undefined
  }

  /** Call inside a write transaction: nobody can take over the file before it ends. */
  assertCurrent(): void {
    if (this.current() !== this.#token) throw new FencedError()
  }
}
