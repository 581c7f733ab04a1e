/**
 * Group commit: one statement with the records of many runs, sent when the previous one is acknowledged. The batch size therefore
 * adapts to the load, and a lone event waits only for its own tick of the event loop. Runs are spread over two commit streams, so
 * that one commit is prepared here while the server works on the other.
 */
import { HoldfastError, isHoldfastError, runNotFound } from '../../core/model/errors.ts'
import type { Slice } from '../../core/model/slice.ts'
import { isFinished } from '../../core/model/run.ts'
import type { Database, Statement } from './database.ts'
import type { BatchWriter, Part } from '../shared/batch-writer.ts'
import { claimedAgain, expectsEvent, hasEnded } from '../shared/refusals.ts'

export interface GroupCommitOptions {
  readonly database: Database
  readonly schema: string
  /** Returns a unique commit name. */
  readonly name: () => string
  /** How long a commit is retried while the server is unreachable. */
  readonly outageTimeoutMs: number
  readonly onDurable: (part: Part, slice: Slice) => void
}

/** Characters of one commit. A larger one would save nothing and delay its first event. */
const COMMIT_CHARS_MAX = 1024 * 1024
const COMMIT_RUNS_MAX = 2000

interface CommitReply {
  readonly id: string
  readonly written: boolean | null
  readonly epoch: number | null
  readonly next: number | null
  readonly closed: boolean | null
}

interface Batch {
  readonly parts: readonly Part[]
  readonly lengths: readonly number[]
  readonly data: Buffer
}

/** Concurrent commits, each on its own connection. Two give a node about 1.5 times the throughput of one. */
export const COMMIT_STREAMS = 2

export class GroupCommit {
  readonly #streams: readonly CommitStream[]

  constructor(options: GroupCommitOptions) {
    this.#streams = Array.from({ length: COMMIT_STREAMS }, () => new CommitStream(options))
  }

  /** A run always uses the same commit stream, which keeps its appends in order. */
  appended(writer: BatchWriter): void {
    this.#streams[writer.id.charCodeAt(writer.id.length - 1) % COMMIT_STREAMS]!.appended(writer)
  }

  /** Resolves when nothing is buffered or under way. */
  async idle(): Promise<void> {
    await Promise.all(this.#streams.map((stream) => stream.idle()))
  }
}

class CommitStream {
  readonly #options: GroupCommitOptions
  readonly #waiting = new Set<BatchWriter>()
  #working: Promise<void> | undefined

  constructor(options: GroupCommitOptions) {
    this.#options = options
  }

  appended(writer: BatchWriter): void {
    this.#waiting.add(writer)
    this.#working ??= this.#work()
  }

  async idle(): Promise<void> {
    while (this.#working !== undefined) await this.#working
  }

  async #work(): Promise<void> {
    // Deferred, so that everything appended in this tick of the event loop joins the commit.
    await new Promise((resolve) => setImmediate(resolve))
    while (this.#waiting.size > 0) await this.#commit(this.#take())
    this.#working = undefined
  }

  /** Oldest first, and each run once: two writers of one run are rivals, and the first one wins. */
  #take(): Batch {
    const parts: Part[] = []
    const runs = new Set<string>()
    let chars = 0
    for (const writer of this.#waiting) {
      if (runs.has(writer.id)) continue
      this.#waiting.delete(writer)
      runs.add(writer.id)
      chars += writer.waitingChars
      const part = writer.take()
      if (part.count > 0) parts.push(part)
      if (chars >= COMMIT_CHARS_MAX || runs.size >= COMMIT_RUNS_MAX) break
    }
    return batchOf(parts)
  }

  async #commit(batch: Batch): Promise<void> {
    const { parts } = batch
    if (parts.length === 0) return
    const { database, name, outageTimeoutMs } = this.#options
    const statement = this.#statement(batch, name())
    try {
      // Retried unchanged: if it was committed before the reply was lost, it finds its own name on the rows it wrote.
      const answers = await database.repeat<CommitReply>(() => statement, outageTimeoutMs)
      this.#deliver(batch, answers)
    } catch (cause) {
      // A part that the server refuses must not fail the others.
      if (parts.length > 1 && !isHoldfastError(cause, 'unavailable'))
        for (const part of parts) await this.#commit(batchOf([part]))
      else for (const { writer } of parts) writer.refuse(cause)
    }
  }

  #statement({ parts, lengths, data }: Batch, commit: string): Statement {
    const changes = parts.map(({ change }) => change)
    return {
      text: `SELECT * FROM ${this.#options.schema}.append($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
      values: [
        commit,
        parts.map(({ writer }) => writer.id),
        arrayOf(parts.map(({ writer }) => writer.epoch)),
        arrayOf(parts.map(({ first }) => first)),
        arrayOf(parts.map(({ count }) => count)),
        arrayOf(lengths),
        changes.map((change) => (change === undefined ? null : JSON.stringify(change))),
        changes.map((change) => change?.status ?? null),
        arrayOf(changes.map((change) => change?.wakeAt ?? 'NULL')),
        arrayOf(parts.map(({ ends }) => ends)),
        arrayOf(changes.map((change) => change !== undefined && isFinished(change.status))),
        data,
      ],
    }
  }

  #deliver({ parts, lengths, data }: Batch, answers: readonly CommitReply[]): void {
    const byRun = new Map(answers.map((answer) => [answer.id, answer]))
    let offset = 0
    for (const [place, part] of parts.entries()) {
      const { writer, first, count, change } = part
      const bytes = data.subarray(offset, (offset += lengths[place]!))
      const answer = byRun.get(writer.id)
      if (answer?.written !== true) {
        writer.refuse(refusalOf(part, answer))
        continue
      }
      writer.settle(first + count)
      this.#options.onDurable(part, { first, count, bytes, closed: change !== undefined && isFinished(change.status) })
    }
  }
}

/** Array literal of values that need no quotes: the driver would search each value for characters to escape. */
function arrayOf(values: readonly (number | boolean | 'NULL')[]): string {
  return `{${values.join(',')}}`
}

function batchOf(parts: readonly Part[]): Batch {
  const text = parts.map((part) => part.text).join('')
  const data = Buffer.from(text)
  // If every character is one byte, the string's length is its size.
  const isAscii = data.length === text.length
  return { parts, data, lengths: parts.map((part) => (isAscii ? part.text.length : Buffer.byteLength(part.text))) }
}

function refusalOf({ writer: { id, epoch }, first }: Part, answer: CommitReply | undefined): HoldfastError {
  if (answer === undefined || answer.epoch === null || answer.next === null) return runNotFound(id)
  if (answer.closed === true) return hasEnded(id)
  return answer.epoch === epoch ? expectsEvent(id, answer.next, first) : claimedAgain(id, answer.epoch, epoch)
}
