/** Incremental vacuum in the committing thread: returns free pages to the file system in slices. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'

/** Free pages that are kept for the next writes and for compaction. */
const FREE_PAGES_KEPT = 4096
/** Pages per commit with other work, and per idle one. */
const SHARE_PAGES = 64
const SLICE_PAGES = 1024
/** Delay between two slices beside other work. */
const SHARE_MS = 50
/** Key in `counters`: a page that vacuum would move is damaged. */
const STOPPED = 'vacuum stopped'

export class Vacuum {
  readonly #database: DatabaseSync
  readonly #freePages: StatementSync
  /** Files of older versions cannot be switched while in use. */
  readonly #isEnabled: boolean
  #isRunning = false
  #at = -Infinity
  #more = false

  constructor(database: DatabaseSync) {
    this.#database = database
    this.#freePages = database.prepare('PRAGMA freelist_count')
    this.#isEnabled = isIncremental(database) && !isStopped(database)
  }

  /** More can be returned now. */
  get more(): boolean {
    return this.#more
  }

  /** Call inside a transaction; `isIdle`: it has no other work. */
  run(isIdle: boolean): void {
    if (!this.#isEnabled) return
    const now = performance.now()
    if (!isIdle && now - this.#at < SHARE_MS) return
    this.#at = now
    const spare = Number(this.#freePages.get()!['freelist_count']) - FREE_PAGES_KEPT
    const pages = Math.min(spare, isIdle ? SLICE_PAGES : SHARE_PAGES)
    this.#isRunning = true
    if (pages > 0) this.#database.exec(`PRAGMA incremental_vacuum(${pages})`)
    this.#isRunning = false
    this.#more = spare > pages
  }

  /** `run` has failed. */
  get hasFailed(): boolean {
    return this.#isRunning
  }

  /** Stops vacuum in this file: it would meet the damaged page again in every commit. */
  stop(): void {
    this.#database.prepare('INSERT OR REPLACE INTO counters (name, value) VALUES (?, 1)').run(STOPPED)
  }
}

/** For a file whose pages are all intact. */
export function allowVacuum(database: DatabaseSync): void {
  database.prepare('DELETE FROM counters WHERE name = ?').run(STOPPED)
}

function isStopped(database: DatabaseSync): boolean {
  return database.prepare('SELECT 1 FROM counters WHERE name = ?').get(STOPPED) !== undefined
}

/** Free bytes that only an offline vacuum returns; 0 for a file with incremental vacuum. */
export function stuckBytes(database: DatabaseSync): number {
  return isIncremental(database) ? 0 : pragma(database, 'freelist_count') * pragma(database, 'page_size')
}

function isIncremental(database: DatabaseSync): boolean {
  return pragma(database, 'auto_vacuum') === 2
}

function pragma(database: DatabaseSync, name: string): number {
  return Number(database.prepare(`PRAGMA ${name}`).get()![name])
}
