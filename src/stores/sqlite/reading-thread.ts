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

/** Reads until the thread has loaded its code. */
export interface StandIn {
  /** Replies in order, or not at all if it fails before. */
  read(requests: readonly ReadingRequest[], answer: (reply: ReadingReply) => void): void
  /** Why it does not reply now; undefined while it does. */
  stall(): string | undefined
}

export class ReadingThread {
  readonly #path: string
  readonly #standIn: StandIn
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
  constructor(path: string, standIn: StandIn, watchIntervalMs: number, onStall: (reason: string) => void) {
    this.#path = path
    this.#standIn = standIn
    this.#watch = new AnswerWatch(this, 'read', watchIntervalMs)
    this.#timer = setInterval(() => {
      const stall = this.#watch.look()
      if (stall === undefined) return
      onStall(stall)
      this.#rejectAll(stall)
    }, watchIntervalMs)
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

  ask<Name extends keyof Readings>(
    name: Name,
    ...args: Parameters<Readings[Name]>
  ): Promise<ReturnType<Readings[Name]>> {
    if (this.#closed) return Promise.reject(unreadable('it is closed'))
    const refusal = this.#stallNow ?? this.#overload
    if (refusal !== undefined) {
      this.#start() // so that reads work although the stand-in stalls
      return Promise.reject(unreadable(refusal))
    }
    return new Promise((resolve, reject) => {
      // Requests of the same moment share one message, and so one reply.
      if (this.#waiting.length === 0) queueMicrotask(() => this.#send())
      this.#waiting.push({ name, args, resolve, reject })
    })
  }

  /** The disk stalls below the stand-in. Requests that have the thread are watched here. */
  standInStalled(reason: string): void {
    if (!this.#isReady) this.#rejectAll(reason)
  }

  async close(): Promise<void> {
    this.#closed = true
    clearInterval(this.#timer)
    this.#rejectAll('it is closed')
    if (this.#isReady) this.#worker?.postMessage('close')
    else void this.#worker?.terminate() // it has not touched the file
    await this.#gone
  }

  #send(): void {
    while (this.#waiting.length > 0 && this.#underWay.length < UNDER_WAY_MAX) {
      const asked = this.#take(REQUESTS_PER_MESSAGE)
      this.#underWay.push(asked)
      if (this.#isReady) this.#worker!.postMessage(this.#requestsOf(asked))
      else this.#standIn.read(this.#requestsOf(asked), (reply) => this.#replyOfStandIn(asked, reply))
      this.#start() // only now: its CPU time would delay the opening of the store
    }
  }

  #start(): void {
    this.#worker ??= this.#started()
  }

  #requestsOf(asked: readonly Asked[]): ReadingRequest[] {
    const mayShare = this.#shared.hasRoom
    return asked.map(({ name, args }) => ({ name, args, mayShare }))
  }

  /** What the stand-in has not replied to is asked again: it may wait for a commit. */
  #ready(): void {
    this.#isReady = true
    for (const asked of this.#underWay) this.#worker!.postMessage(this.#requestsOf(asked))
  }

  #replyOfStandIn(asked: readonly Asked[], reply: ReadingReply): void {
    if (!this.#isReady && this.#underWay[0] === asked) this.#reply(reply)
  }

  get #stallNow(): string | undefined {
    return this.stall ?? (this.#isReady ? undefined : this.#standIn.stall())
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
      if (message === READY) this.#ready()
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
