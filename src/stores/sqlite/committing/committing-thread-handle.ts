/** The store's handle of the committing thread, which runs `committing-worker.ts`. */
import { Worker } from 'node:worker_threads'
import { detailOf, HoldfastError } from '../../../core/model/errors.ts'
import type { LostCommits } from '../file/commit-record.ts'
import type { FileIdentity } from '../file/file-identity.ts'
import { FencedError } from '../file/instance.ts'
import type { CommitFailure, CommitReply, CommitRequest, ReadRequests, ThreadOptions } from './committing-messages.ts'
import { committingWorkerUrl } from './committing-worker-url.ts'
import type { ReadingReply, ReadingRequest } from '../reading/reading-messages.ts'

export class CommittingThreadHandle {
  readonly #worker: Worker
  /** Reply handlers, in request order. */
  readonly #answers: ((reply: CommitReply) => void)[] = []
  readonly #gone: Promise<void>
  /** Findings of opening the file. */
  warnings: readonly string[] = []
  lost: LostCommits | undefined
  isDeleting = false
  #replies = 0
  #identity: FileIdentity | undefined

  private constructor(options: ThreadOptions, onWaiting: (message: string) => void) {
    this.#worker = new Worker(committingWorkerUrl, {
      name: 'holdfast-write', // thread name in top -H
      workerData: options,
      execArgv: [],
      // Its data is outside the heap; by default the heap would still grow by some fifty megabytes.
      resourceLimits: { maxYoungGenerationSizeMb: 8 },
    })
    this.#worker.on('message', (reply: CommitReply) =>
      reply.kind === 'waiting' ? onWaiting(reply.message) : this.#reply(reply),
    )
    this.#worker.on('error', (cause) => this.#reply({ kind: 'failed', message: detailOf(cause), because: 'fault' }))
    this.#gone = new Promise((resolve) => {
      this.#worker.on('exit', () => {
        this.#reply({ kind: 'failed', message: 'the committing thread ended', because: 'fault' })
        resolve()
      })
    })
  }

  /**
   * Opens the file; `onWaiting` reports delays. Rejects if the file cannot be used: with a `FencedError` if another process has
   * taken it over, with `unavailable` if another program kept reading it.
   */
  static open(options: ThreadOptions, onWaiting: (message: string) => void): Promise<CommittingThreadHandle> {
    const thread = new CommittingThreadHandle(options, onWaiting)
    return new Promise((resolve, reject) => {
      thread.#answers.push((reply) => {
        if (reply.kind === 'opened') {
          thread.warnings = reply.warnings
          thread.lost = reply.lost
          thread.isDeleting = reply.isDeleting
          thread.#identity = reply.identity
          return resolve(thread)
        }
        if (reply.kind === 'failed') reject(errorOf(reply))
      })
    })
  }

  /** The file that it has open. */
  get identity(): FileIdentity {
    return this.#identity!
  }

  /** Number of replies so far. */
  get replies(): number {
    return this.#replies
  }

  /** A request is pending. */
  get isWaiting(): boolean {
    return this.#answers.length > 0
  }

  /** Checks that the file still belongs to this process; replied to in order with commits. */
  check(answer: (reply: CommitReply) => void): void {
    this.#answers.push(answer)
    this.#worker.postMessage('check')
  }

  /** Reads the file; replied to in order with commits. There is no reply if the thread fails before. */
  read(reads: readonly ReadingRequest[], answer: (reply: ReadingReply) => void): void {
    this.#answers.push((reply) => {
      if (reply.kind === 'read') answer(reply.reply)
    })
    this.#worker.postMessage({ reads } satisfies ReadRequests)
  }

  /** One transaction; the reply comes when it is durable or has failed. After a failure there are no further replies. */
  commit(request: CommitRequest, answer: (reply: CommitReply) => void): void {
    this.#answers.push(answer)
    this.#worker.postMessage(request, [request.directory.buffer as ArrayBuffer])
  }

  async close(): Promise<void> {
    this.#worker.postMessage('close')
    await this.#gone
  }

  #reply(reply: CommitReply): void {
    this.#replies++
    const answer = this.#answers.shift()
    if (reply.kind === 'failed') this.#answers.length = 0
    answer?.(reply)
  }
}

function errorOf({ because, message }: CommitFailure): Error {
  if (because === 'fenced') return new FencedError()
  return because === 'busy' ? new HoldfastError('unavailable', message) : new Error(message)
}
