/** The store's end of the committing thread. */
import { Worker } from 'node:worker_threads'
import { messageOf } from '../../core/errors.ts'
import type { CommitReply, CommitRequest } from './messages.ts'

const entry = new URL(import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js', import.meta.url)

export class CommittingThread {
  readonly #worker: Worker
  /** What waits for the thread's replies, which come in the order of what they are to. */
  readonly #answers: ((reply: CommitReply) => void)[] = []
  readonly #gone: Promise<void>

  private constructor(path: string) {
    this.#worker = new Worker(entry, {
      workerData: { path },
      execArgv: [],
      // What it handles is bytes outside the heap; by default the heap would grow by some fifty megabytes all the same.
      resourceLimits: { maxYoungGenerationSizeMb: 8 },
    })
    this.#worker.on('message', (reply: CommitReply) => this.#reply(reply))
    this.#worker.on('error', (cause) => this.#reply({ kind: 'failed', message: messageOf(cause) }))
    this.#gone = new Promise((resolve) => {
      this.#worker.on('exit', () => {
        this.#reply({ kind: 'failed', message: 'the committing thread ended' })
        resolve()
      })
    })
  }

  /** Opens the file; rejects when it cannot be used. */
  static open(path: string): Promise<CommittingThread> {
    const thread = new CommittingThread(path)
    return new Promise((resolve, reject) => {
      thread.#answers.push((reply) => (reply.kind === 'failed' ? reject(new Error(reply.message)) : resolve(thread)))
    })
  }

  /** One transaction; the answer comes when it is durable, or has failed. After a failure no other is answered. */
  commit(request: CommitRequest, answer: (reply: CommitReply) => void): void {
    this.#answers.push(answer)
    this.#worker.postMessage(request, [request.directory.buffer as ArrayBuffer])
  }

  async close(): Promise<void> {
    this.#worker.postMessage('close')
    await this.#gone
  }

  #reply(reply: CommitReply): void {
    const answer = this.#answers.shift()
    if (reply.kind === 'failed') this.#answers.length = 0
    answer?.(reply)
  }
}
