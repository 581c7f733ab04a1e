/**
 * Tabs of one origin that show the same stream of chunks. The leader reads the stream and broadcasts it. Broadcasts are hints that
 * carry the chunk: a tab that misses one, or starts late, reads the stream itself.
 */
import type { UIMessageChunk } from 'ai'
import { canLock, LINGER_MS, tabLocks } from '../client/tabs/tab-locks.ts'

/** `at` is the number of the chunk, or of the next one. `who` asks the leader where it is. */
type Message =
  | 'who'
  | { readonly at: number; readonly chunk: UIMessageChunk }
  | { readonly at: number; readonly is: 'alive' | 'done' }

/** The next chunk, the end of the stream, or why this tab has to read it itself. */
export type TabMessage = { readonly chunk: UIMessageChunk } | 'done' | 'leads' | 'missed' | 'silent'

const CHUNKS_MAX = 1000

export class StreamTabs {
  readonly #locks: LockManager
  readonly #name: string
  readonly #channel: BroadcastChannel
  readonly #idleTimeoutMs: number
  readonly #closed = new AbortController()
  readonly #chunks = new Map<number, UIMessageChunk>()
  /** The leader broadcasts every chunk from this one on. */
  #broadcastFrom: number | undefined
  #doneAt: number | undefined
  /** Number of chunks that this tab has. */
  #received = 0
  #sentAt = 0
  #isLeading = false
  #hasEnded = false
  #wake: (() => void) | undefined

  /** Undefined outside of browsers, and on pages that cannot share. */
  static async open(name: string, idleTimeoutMs: number): Promise<StreamTabs | undefined> {
    const locks = tabLocks()
    if (locks === undefined || !(await canLock(locks, name))) return undefined
    const tabs = new StreamTabs(locks, name, idleTimeoutMs)
    await tabs.#join()
    return tabs
  }

  private constructor(locks: LockManager, name: string, idleTimeoutMs: number) {
    this.#locks = locks
    this.#name = name
    this.#idleTimeoutMs = idleTimeoutMs
    this.#channel = new BroadcastChannel(name)
    this.#channel.addEventListener('message', ({ data }: MessageEvent<Message>) => this.#receive(data))
  }

  /** Whether another tab delivers the following chunks, so that this one needs no connection. */
  get isServed(): boolean {
    if (this.#isLeading || this.#broadcastFrom === undefined) return false
    return this.#chunks.has(this.#received) || this.#received >= this.#broadcastFrom
  }

  /** Records a chunk from this tab's own connection. */
  has(chunk: UIMessageChunk): void {
    const at = this.#received++
    this.#chunks.delete(at)
    if (this.#isLeading) this.#send({ at, chunk })
  }

  /** Records that this tab's connection has delivered the end. */
  end(): void {
    if (this.#isLeading) this.#send({ at: this.#received, is: 'done' })
    this.#hasEnded = this.#isLeading
  }

  /** Records that this tab's connection works. */
  alive(): void {
    if (this.#isLeading && performance.now() - this.#sentAt >= this.#idleTimeoutMs / 4)
      this.#send({ at: this.#received, is: 'alive' })
  }

  /** Resolves when `isServed` becomes true. */
  async served(signal: AbortSignal): Promise<void> {
    // Rejects only when the signal is aborted, which ends the loop.
    while (!this.isServed && !signal.aborted) await this.#nextBroadcast(undefined, signal).catch(() => {})
  }

  async next(signal: AbortSignal | undefined): Promise<TabMessage> {
    for (;;) {
      const chunk = this.#chunks.get(this.#received)
      if (chunk !== undefined) {
        this.#chunks.delete(this.#received++)
        return { chunk }
      }
      if (this.#doneAt === this.#received) return 'done'
      if (this.#isLeading) return 'leads'
      if (!this.isServed) return 'missed'
      // The leader detects a dead connection first.
      if (!(await this.#nextBroadcast(this.#idleTimeoutMs * 1.5, signal))) return 'silent'
    }
  }

  /** Takes the lead from a tab that is stalled. */
  async takeLead(): Promise<void> {
    await new Promise<void>((resolve) => void this.#hold({ steal: true }, resolve))
  }

  close(): void {
    this.#channel.close()
    if (this.#hasEnded) setTimeout(() => this.#closed.abort(), LINGER_MS)
    else this.#closed.abort()
  }

  /** Leads, or asks the leader for its position and waits. */
  async #join(): Promise<void> {
    const { promise: known, resolve } = Promise.withResolvers<void>()
    void this.#hold({ ifAvailable: true }, resolve).then((held) => {
      if (held || this.#closed.signal.aborted) return
      resolve()
      this.#send('who')
      return this.#hold({ signal: this.#closed.signal })
    })
    await known
  }

  /** Leads while it holds the lock; false if another tab has it. */
  async #hold(options: LockOptions, onHeld: () => void = () => {}): Promise<boolean> {
    try {
      return await this.#locks.request(this.#name, options, async (lock) => {
        if (lock === null) return false
        this.#isLeading = true
        onHeld()
        this.#wake?.()
        this.#send({ at: this.#received, is: 'alive' })
        await aborted(this.#closed.signal)
        return true
      })
    } catch {
      // Closed while it waited, or another tab took the lock and leads now.
      if (!this.#isLeading || this.#closed.signal.aborted) return true
      this.#isLeading = false
      return this.#hold({ signal: this.#closed.signal })
    }
  }

  #send(message: Message): void {
    if (this.#closed.signal.aborted) return
    this.#channel.postMessage(message)
    this.#sentAt = performance.now()
  }

  #receive(message: Message): void {
    if (message === 'who') {
      if (this.#isLeading) this.#send({ at: this.#received, is: 'alive' })
      return
    }
    const { at } = message
    if ('chunk' in message) {
      if (this.#chunks.size >= CHUNKS_MAX) this.#chunks.clear()
      if (at >= this.#received) this.#chunks.set(at, message.chunk)
      this.#broadcastFrom = at + 1
    } else {
      this.#broadcastFrom = at
      if (message.is === 'done') this.#doneAt = at
    }
    this.#wake?.()
  }

  /** Waits for a message or the lead; false on a timeout. */
  async #nextBroadcast(timeoutMs: number | undefined, signal: AbortSignal | undefined): Promise<boolean> {
    signal?.throwIfAborted()
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const wake = (): void => resolve(true)
    const timer = timeoutMs === undefined ? undefined : setTimeout(() => resolve(false), timeoutMs)
    this.#wake = wake
    signal?.addEventListener('abort', wake)
    const hasArrived = await promise
    clearTimeout(timer)
    signal?.removeEventListener('abort', wake)
    this.#wake = undefined
    signal?.throwIfAborted()
    return hasArrived
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
