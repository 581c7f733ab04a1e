/** The store's handle of the reading thread, which runs `reading-worker.ts`. */
import { Worker } from 'node:worker_threads'
import { HoldfastError, detailOf, storeUnavailable } from '../../../core/model/errors.ts'
import { ReplyWatch } from '../reply-watch.ts'
import { Fifo } from '../fifo.ts'
import { READY, type ReadingFault, type ReadingReply, type ReadingRequest } from './reading-messages.ts'
import type { Readings } from './readings.ts'
import type { LogPage, PageRequest } from './log-page.ts'
import { PageMemory } from './page-memory.ts'
import { readingWorkerUrl } from './reading-worker-url.ts'

/** Thread name, as in `top -H`. */
export const READING_THREAD = 'holdfast-read'

/** Requests per message, and messages that the thread may have: the current one, and one in advance. */
const REQUESTS_PER_MESSAGE = 16
const UNDER_WAY_MAX = 2
/** Pages may be larger in shared memory, because that is bounded for all readers together. */
const TRANSFERRED_BYTES_MAX = 256 * 1024
/** Maximum queued requests. Further requests are refused. */
const WAITING_MAX = 10_000
const RETRY_MS = 1000

interface PendingReading extends ReadingRequest {
  args: readonly unknown[]
  into?: SharedArrayBuffer
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

export class ReadingThreadHandle {
  readonly #path: string
  readonly #standIn: StandIn
  #worker: Worker | undefined
  /** It has loaded its code, which takes long on a busy machine and says nothing about the store's disk. */
  #isReady = false
  #gone: Promise<void> = Promise.resolve()
  readonly #waiting = new Fifo<PendingReading>()
  /** Oldest first. */
  readonly #underWay: (readonly PendingReading[])[] = []
  readonly #memory = new PageMemory()
  #replies = 0
  #closed = false

  readonly #watch: ReplyWatch
  readonly #timer: NodeJS.Timeout

  /** `onStall` gets the reason, once for each stall. */
  constructor(path: string, standIn: StandIn, watchIntervalMs: number, onStall: (reason: string) => void) {
    this.#path = path
    this.#standIn = standIn
    this.#watch = new ReplyWatch(this, 'read', watchIntervalMs)
    this.#timer = setInterval(() => {
      const stall = this.#watch.check()
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
  get replies(): number {
    return this.#replies
  }

  /** A request is pending. */
  get isWaiting(): boolean {
    return this.#isReady && this.#underWay.length > 0
  }

  request<Name extends keyof Readings>(
    name: Name,
    ...args: Parameters<Readings[Name]>
  ): Promise<ReturnType<Readings[Name]>> {
    if (this.#closed) return Promise.reject(unreadableError('it is closed'))
    const refusal = this.#stallNow ?? this.#overload
    if (refusal !== undefined) {
      this.#start() // so that reads work although the stand-in stalls
      return Promise.reject(unreadableError(refusal))
    }
    return new Promise((resolve, reject) => {
      // Requests of the same moment share one message, and so one reply.
      if (this.#waiting.length === 0) queueMicrotask(() => this.#send())
      this.#waiting.push({ name, args, resolve, reject })
    })
  }

  /** The disk stalls below the stand-in. Requests that the thread has are watched here. */
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
      const requests = this.#take(REQUESTS_PER_MESSAGE)
      this.#underWay.push(requests)
      if (this.#isReady) this.#post(requests)
      else this.#standIn.read(requestsOf(requests), (reply) => this.#replyOfStandIn(requests, reply))
      this.#start() // only now: its CPU time would delay the opening of the store
    }
  }

  #start(): void {
    this.#worker ??= this.#started()
  }

  /** Shared memory is only passed to the thread itself: the stand-in may get a request for the same page. */
  #post(requests: readonly PendingReading[]): void {
    for (const one of requests) {
      if (one.name !== 'page') continue
      const request = one.args[0] as PageRequest
      const memory = this.#memory.take(request.maxBytes)
      if (memory !== undefined) one.into = memory
      else one.args = [{ ...request, maxBytes: Math.min(request.maxBytes, TRANSFERRED_BYTES_MAX) }]
    }
    this.#worker!.postMessage(requestsOf(requests))
  }

  /** Sends requests again that the stand-in has not replied to: it may be waiting for a commit. */
  #ready(): void {
    this.#isReady = true
    for (const requests of this.#underWay) this.#post(requests)
  }

  #replyOfStandIn(requests: readonly PendingReading[], reply: ReadingReply): void {
    if (!this.#isReady && this.#underWay[0] === requests) this.#reply(reply)
  }

  get #stallNow(): string | undefined {
    return this.stall ?? (this.#isReady ? undefined : this.#standIn.stall())
  }

  get #overload(): string | undefined {
    return this.#waiting.length < WAITING_MAX ? undefined : 'too many requests wait for it'
  }

  #take(max: number): PendingReading[] {
    const taken: PendingReading[] = []
    while (taken.length < max && this.#waiting.length > 0) taken.push(this.#waiting.take()!)
    return taken
  }

  #started(): Worker {
    const worker = new Worker(readingWorkerUrl, {
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
    this.#replies++
    const requests = this.#underWay.shift()!
    this.#send() // before delivering this one, so that the thread works meanwhile
    for (const [place, reading] of reply.entries()) {
      const { into, resolve, reject } = requests[place]!
      const shared = 'shared' in reading ? reading.shared : undefined
      if (into !== undefined && shared === undefined) this.#memory.give(into) // the thread no longer uses it
      if ('fault' in reading) reject(errorOf(reading.fault))
      else resolve((shared === undefined ? reading.result : this.#pageIn(into!, shared, reading.result)) as never)
    }
  }

  #pageIn(memory: SharedArrayBuffer, bytes: number, result: unknown): LogPage {
    const page = result as LogPage
    return { ...page, slice: this.#memory.sliceIn(memory, bytes, page.slice!) }
  }

  #rejectAll(reason: string): void {
    const cause = unreadableError(reason)
    for (const requests of this.#underWay) for (const { reject } of requests) reject(cause)
    for (const { reject } of this.#take(WAITING_MAX)) reject(cause)
  }
}

function requestsOf(requests: readonly PendingReading[]): ReadingRequest[] {
  return requests.map(({ name, args, into }) => ({ name, args, ...(into !== undefined && { into }) }))
}

function errorOf({ code, message, details }: ReadingFault): HoldfastError {
  if (code === undefined) return unreadableError(message)
  return new HoldfastError(code, message, details === undefined ? {} : { details })
}

function unreadableError(reason: string): HoldfastError {
  return storeUnavailable(`the store cannot be read: ${reason}`, { retryAfterMs: RETRY_MS })
}
