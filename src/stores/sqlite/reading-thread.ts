/** The store's side of the reading thread. */
import { Worker } from 'node:worker_threads'
import { HoldfastError, detailOf, storeUnavailable } from '../../core/model/errors.ts'
import { AnswerWatch } from './answer-watch.ts'
import { Fifo } from './fifo.ts'
import { READY, type ReadingFault, type ReadingReply, type ReadingRequest } from './reading-messages.ts'
import type { Readings } from './readings.ts'
import type { LogPage } from './log-page.ts'
import { SharedPages } from './shared-pages.ts'

const entry = new URL(import.meta.url.endsWith('.ts') ? './reading-worker.ts' : './reading-worker.js', import.meta.url)

/** Thread name, as in `top -H`. */
export const READING_THREAD = 'holdfast-read'

/** Requests per message, and messages that the thread may have: the current one, and one in advance. */
const REQUESTS_PER_MESSAGE = 16
const UNDER_WAY_MAX = 2
/** Maximum waiting requests; further ones are refused. */
const WAITING_MAX = 10_000
const RETRY_MS = 1000

interface Asked extends Omit<ReadingRequest, 'mayShare'> {
  readonly resolve: (result: never) => void
  readonly reject: (cause: unknown) => void
}

export class ReadingThread {
  readonly #path: string
  #worker: Worker | undefined
  /** It has loaded its code, which takes long on a busy machine and says nothing about the store's disk. */
  #isReady = false
  #gone: Promise<void> = Promise.resolve()
  readonly #waiting = new Fifo<Asked>()
  /** Oldest first. */
  readonly #underWay: (readonly Asked[])[] = []
  readonly #shared = new SharedPages()
  #answered = 0
  #closed = false

  readonly #watch: AnswerWatch
  readonly #timer: NodeJS.Timeout

  /** `onStall` gets the reason, once for each stall. */
  constructor(path: string, watchMs: number, onStall: (reason: string) => void) {
    this.#path = path
    this.#watch = new AnswerWatch(this, 'read', watchMs)
    this.#timer = setInterval(() => {
      const stall = this.#watch.look()
      if (stall === undefined) return
      onStall(stall)
      this.#rejectAll(stall)
    }, watchMs)
    this.#timer.unref()
  }

  /** Why reads fail now; undefined while the thread replies. */
  get stall(): string | undefined {
    return this.#watch.stall
  }

  /** Number of replies so far. */
  get answered(): number {
    return this.#answered
  }

  /** A request is pending. */
  get isWaiting(): boolean {
    return this.#isReady && this.#underWay.length > 0
  }

  /** Starts the thread, which opens the file with the first request. */
  start(): void {
    this.#worker ??= this.#started()
  }

  ask<Name extends keyof Readings>(
    name: Name,
    ...args: Parameters<Readings[Name]>
  ): Promise<ReturnType<Readings[Name]>> {
    const refusal = this.#closed ? 'it is closed' : (this.stall ?? this.#overload)
    if (refusal !== undefined) return Promise.reject(unreadable(refusal))
    return new Promise((resolve, reject) => {
      // Requests of the same moment share one message, and so one reply.
      if (this.#waiting.length === 0) queueMicrotask(() => this.#send())
      this.#waiting.push({ name, args, resolve, reject })
    })
  }

  async close(): Promise<void> {
    this.#closed = true
    clearInterval(this.#timer)
    this.#rejectAll('it is closed')
    this.#worker?.postMessage('close')
    await this.#gone
  }

  #send(): void {
    while (this.#waiting.length > 0 && this.#underWay.length < UNDER_WAY_MAX) {
      this.start()
      const asked = this.#take(REQUESTS_PER_MESSAGE)
      this.#underWay.push(asked)
      const mayShare = this.#shared.hasRoom
      const requests: ReadingRequest[] = asked.map(({ name, args }) => ({ name, args, mayShare }))
      this.#worker!.postMessage(requests)
    }
  }

  get #overload(): string | undefined {
    return this.#waiting.length < WAITING_MAX ? undefined : 'too many requests wait for it'
  }

  #take(max: number): Asked[] {
    const taken: Asked[] = []
    while (taken.length < max && this.#waiting.length > 0) taken.push(this.#waiting.take()!)
    return taken
  }

  #started(): Worker {
    const worker = new Worker(entry, {
      name: READING_THREAD,
      workerData: { path: this.#path },
      execArgv: [],
      resourceLimits: { maxYoungGenerationSizeMb: 8 }, // like the committing thread
    })
    worker.on('message', (message: ReadingReply | typeof READY) => {
      if (message === READY) this.#isReady = true
      else this.#reply(message)
    })
    let cause: unknown
    worker.on('error', (error) => (cause = error))
    this.#gone = new Promise((resolve) => {
      worker.on('exit', () => {
        this.#worker = undefined // the next request starts another one
        this.#isReady = false
        this.#rejectAll(`the reading thread ended: ${cause === undefined ? 'it was stopped' : detailOf(cause)}`)
        this.#underWay.length = 0
        resolve()
      })
    })
    return worker
  }

  #reply(reply: ReadingReply): void {
    this.#answered++
    const asked = this.#underWay.shift()!
    this.#send() // before delivering this one, so that the thread works meanwhile
    for (const [place, reading] of reply.entries()) {
      const { name, resolve, reject } = asked[place]!
      if ('fault' in reading) {
        reject(errorOf(reading.fault))
        continue
      }
      if (name === 'page') this.#shared.add(reading.result as LogPage)
      resolve(reading.result as never)
    }
  }

  #rejectAll(reason: string): void {
    const cause = unreadable(reason)
    for (const asked of this.#underWay) for (const { reject } of asked) reject(cause)
    for (const { reject } of this.#take(WAITING_MAX)) reject(cause)
  }
}

function errorOf({ code, message, details }: ReadingFault): HoldfastError {
  if (code === undefined) return unreadable(message)
  return new HoldfastError(code, message, details === undefined ? {} : { details })
}

function unreadable(reason: string): HoldfastError {
  return storeUnavailable(`the store cannot be read: ${reason}`, { retryAfterMs: RETRY_MS })
}
