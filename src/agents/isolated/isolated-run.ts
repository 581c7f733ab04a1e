/** Stream of one isolated run: takes a slot, starts a thread, forwards what it yields, and always ends the thread. */
import { setTimeout as pause } from 'node:timers/promises'
import { type Emission, type RunContext, WorkError } from '../../core/ports/component.ts'
import type { Semaphore } from '../shared/semaphore.ts'
import type { IsolatedThread } from './thread.ts'

export interface IsolatedRunOptions {
  readonly input: unknown
  readonly context: RunContext
  readonly slots: Semaphore
  readonly openThread: () => IsolatedThread
  /** Timeout for loading the module. */
  readonly loadTimeoutMs: number
}

/** Extra time for `finally` blocks, after the run's signal was aborted and its grace period is over. */
const CLEANUP_MS = 1000
/** One wait for a slot: too short to be recorded. */
const HEARTBEAT_MS = 500

type Stream = AsyncGenerator<Emission, unknown, void>

/** Not a generator: `return` must end the thread even if a `next` is pending forever. */
export class IsolatedRun implements Stream {
  readonly #options: IsolatedRunOptions
  #opening: Promise<Stream> | undefined
  #thread: IsolatedThread | undefined
  #giveBack: (() => void) | undefined
  #isClosed = false

  constructor(options: IsolatedRunOptions) {
    this.#options = options
  }

  async next(): Promise<IteratorResult<Emission, unknown>> {
    try {
      this.#opening ??= this.#open()
      const result = await (await this.#opening).next()
      if (result.done === true) await this.#close('the run has ended')
      return result
    } catch (thrown) {
      await this.#close('the run has failed')
      throw thrown
    }
  }

  async return(value: unknown): Promise<IteratorResult<Emission, unknown>> {
    this.#isClosed = true
    const finished = this.#opening?.then((stream) => stream.return(undefined))
    // Errors of the thread's cleanup are ignored: it is closed next.
    if (this.#thread !== undefined) await Promise.race([finished, pause(CLEANUP_MS)]).catch(() => {})
    await this.#close('the run has ended')
    return { done: true, value }
  }

  async throw(error: unknown): Promise<never> {
    await this.return(undefined)
    throw error
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return(undefined)
  }

  async #open(): Promise<Stream> {
    const { input, context, openThread, loadTimeoutMs } = this.#options
    this.#giveBack = await this.#takeSlot()
    if (this.#isClosed) throw new Error('the run has ended')
    const thread = (this.#thread = openThread())
    const late = setTimeout(() => void thread.terminate(notLoaded(loadTimeoutMs)), loadTimeoutMs)
    try {
      return await thread.run.start(input, context)
    } finally {
      clearTimeout(late)
    }
  }

  /**
   * Sleeps while it waits for a slot, so that the idle timeout does not fire. During replay `sleep` returns immediately, hence the
   * second delay.
   */
  async #takeSlot(): Promise<() => void> {
    const { slots, context } = this.#options
    const pendingSlot = slots.take(context.signal)
    for (;;) {
      const heartbeatSleep = Promise.all([context.sleep(HEARTBEAT_MS), pause(HEARTBEAT_MS)])
      heartbeatSleep.catch(() => {}) // awaited below, unless the slot is free first
      const slot = await Promise.race([pendingSlot, heartbeatSleep.then(() => undefined)])
      if (slot !== undefined) return slot
    }
  }

  async #close(reason: string): Promise<void> {
    this.#isClosed = true
    await this.#thread?.terminate(new Error(reason))
    this.#giveBack?.()
    this.#giveBack = undefined
  }
}

function notLoaded(loadTimeoutMs: number): WorkError {
  const message = `the module of the isolated agent did not load within ${loadTimeoutMs} ms`
  return new WorkError({ code: 'agent_failed', message, details: { reason: 'load_timeout', loadTimeoutMs } })
}
