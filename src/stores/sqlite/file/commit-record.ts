/**
 * The number of the last commit, in a small file beside the database. SQLite reads a write-ahead log up to the first frame with
 * a wrong checksum and silently ignores the rest: a database behind this file has lost commits. The file is never synced: if it
 * is older than the database, that means nothing.
 */
import { closeSync, constants, openSync, readFileSync, writeSync } from 'node:fs'

/** The last commit that the store acknowledged. */
export interface LastCommit {
  /** Token of the process that wrote it: beside another file, such as a restored backup, the record is meaningless. */
  readonly token: string
  readonly commit: number
  readonly at: string
  /** Highest run number. */
  readonly run: number
}

/** Commits that were acknowledged but are missing in the file. */
export interface LostCommits {
  readonly first: number
  readonly last: number
  /** When the last of them was acknowledged. */
  readonly at: string
  /** Runs that were created in them. */
  readonly runs: number
}

interface Content {
  readonly last: LastCommit
  /** The last detected loss, for later inspection. */
  readonly lost?: LostCommits
}

/** The content is padded to this size, so that one write replaces it completely. */
const BYTES = 512

export function commitRecordOf(path: string): string {
  return `${path}-commits`
}

export function lossText({ first, last, at, runs }: LostCommits): string {
  const count = last - first + 1
  const commits =
    count === 1
      ? `1 acknowledged commit is missing (${first})`
      : `${count} acknowledged commits are missing (${first} to ${last})`
  const created = runs === 0 ? '' : `, and with ${count === 1 ? 'it' : 'them'} ${runs === 1 ? '1 run' : `${runs} runs`}`
  return `${commits}${created}, the last of ${at}: the write-ahead log was damaged, or an older file was put in its place`
}

export class CommitRecord {
  readonly #file: number
  readonly #token: string
  #lost: LostCommits | undefined

  /** Creates the file if it is missing. */
  constructor(path: string, token: string) {
    this.#token = token
    this.#lost = readCommitRecord(path)?.lost
    this.#file = openSync(commitRecordOf(path), constants.O_RDWR | constants.O_CREAT, 0o600)
  }

  /** Stored with every write from now on. */
  lost(lost: LostCommits): void {
    this.#lost = lost
  }

  write(commit: number, run: number): void {
    const last: LastCommit = { token: this.#token, commit, at: new Date().toISOString(), run }
    const content: Content = { last, ...(this.#lost && { lost: this.#lost }) }
    writeSync(this.#file, `${JSON.stringify(content).padEnd(BYTES - 1)}\n`, 0)
  }

  close(): void {
    closeSync(this.#file)
  }
}

/** Undefined if it is missing or invalid: a power failure may have truncated it. */
export function readCommitRecord(path: string): Content | undefined {
  try {
    const { last, lost } = JSON.parse(readFileSync(commitRecordOf(path), 'utf8')) as Content
    if (typeof last.token !== 'string' || !Number.isSafeInteger(last.commit) || !Number.isSafeInteger(last.run))
      return undefined
    return { last, ...(lost && { lost }) }
  } catch {
    return undefined
  }
}

/** The loss of a file whose last commit is `commit`; `token` is that of the process that wrote it. */
export function lostSince(
  record: LastCommit | undefined,
  found: { readonly token: string | undefined; readonly commit: number; readonly run: number },
): LostCommits | undefined {
  if (record === undefined || record.token !== found.token || record.commit <= found.commit) return undefined
  const runs = Math.max(0, record.run - found.run)
  return { first: found.commit + 1, last: record.commit, at: record.at, runs }
}
