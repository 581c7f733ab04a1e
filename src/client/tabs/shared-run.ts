/**
 * One run shared by several tabs: the leader tab reads the log and broadcasts it. Broadcasts are hints that carry the event; a
 * reader that misses one, or starts late, reads the log itself.
 */
import type { LoggedEvent } from '../../core/model/event.ts'
import { isTerminalEvent } from '../../core/structure/run-status.ts'
import type { Backoff } from '../backoff.ts'
import { ClientError, ConnectionError, LogChangedError } from '../errors.ts'
import { follow, type FollowOptions, mayContinue, type Position } from '../follow.ts'
import { Connection } from '../connection.ts'
import { isTransient, type Transport } from '../transport.ts'
import type { ConnectionSlots } from './connection-slots.ts'
import { Inbox } from './inbox.ts'
import { LINGER_MS } from './tab-locks.ts'

/** From the leader tab: an event, a heartbeat, a replaced log, or why its connection fails. */
type Message = LoggedEvent | 'alive' | 'changed' | ConnectionProblem

interface ConnectionProblem {
  readonly failing: string
}

/** A reader waits longer than the idle timeout, so that the leader can detect a dead connection first. */
const IDLE_TIMEOUTS = 1.5

/** Timeout of a page that is read in the read slot: a slow response delays all runs that wait for the slot. */
const PAGE_IDLE_MS_MAX = 10_000
const PAGE_EVENTS_MAX = 200

interface Reader {
  readonly inbox: Inbox
  readonly position: Position
  readonly options: FollowOptions
  /** The reader was told that the connection fails. */
  isInformed: boolean
}

export class SharedRun {
  readonly #transport: Transport
  readonly #slots: ConnectionSlots
  readonly #run: string
  readonly #forget: () => void
  readonly #readers = new Set<Reader>()
  readonly #closed = new AbortController()
  #sentAt = 0
  /** Whether this tab reads the log for all. */
  #isLeading = false
  /** Whether this tab leads, once that is known. */
  #leads: Promise<boolean> | undefined

  constructor(transport: Transport, slots: ConnectionSlots, run: string, forget: () => void) {
    this.#transport = transport
    this.#slots = slots
    this.#run = run
    this.#forget = forget
    slots.channel.addEventListener('message', ({ data }: MessageEvent<Message>) => this.#receive(data))
  }

  async *read(position: Position, options: FollowOptions): AsyncGenerator<LoggedEvent> {
    const inbox = new Inbox()
    const reader: Reader = { inbox, position, options, isInformed: false }
    this.#readers.add(reader)
    const backoff = this.#transport.newBackoff(options.onProblem)
    try {
      // The leader's first reader gets everything live; all others read the log first.
      let upToDate = (await (this.#leads ??= this.#elect())) && this.#readers.size === 1
      for (;;) {
        if (inbox.takeChange()) {
          const changed = new LogChangedError(position.run)
          if (!mayContinue(changed, position, options)) throw changed
          upToDate = false
        }
        const event = inbox.take(position.cursor)
        if (event !== undefined) {
          position.cursor = event.index
          backoff.progress()
          yield event
          if (isTerminalEvent(event)) return
        } else if (upToDate && !inbox.isAhead) {
          upToDate = await inbox.wait(this.#transport.idleTimeoutMs * IDLE_TIMEOUTS, options.signal)
        } else {
          const before = position.cursor
          const page = yield* this.#page(position, options, backoff)
          if (page === 'end') return
          if (page === 'read') upToDate = position.cursor === before
          // Events that arrive meanwhile make the page unnecessary.
          else await inbox.waitForNext(position.cursor, backoff.delay(page), options.signal)
          if (position.cursor > before) {
            if (inbox.wasSilent && !this.#isLeading) this.#takeLead() // the leader is stalled: it sent nothing
            inbox.wasSilent = false
          } else if (page === 'read' && inbox.isAhead) {
            await backoff.pause(this.#missing(position), options.signal)
          }
        }
      }
    } finally {
      this.#readers.delete(reader)
      if (this.#readers.size === 0) this.#close()
    }
  }

  #missing({ run, cursor }: Position): ConnectionError {
    return new ConnectionError(`run ${run}: the server does not return the events after ${cursor}`, { run })
  }

  /** One page of events after the cursor; returns whether it has the end, or why it can be retried. */
  async *#page(
    position: Position,
    options: FollowOptions,
    backoff: Backoff,
  ): AsyncGenerator<LoggedEvent, 'end' | 'read' | ClientError> {
    for (;;) {
      const connection = new Connection(this.#transport, position, options, backoff)
      try {
        for await (const event of connection.page(0)) {
          backoff.progress()
          yield event
          if (isTerminalEvent(event)) return 'end'
        }
        return connection.done ? 'end' : 'read'
      } catch (cause) {
        if (mayContinue(cause, position, options)) continue
        if (!(cause instanceof ClientError) || !isTransient(cause)) throw cause
        return cause
      }
    }
  }

  /** Becomes the leader, now or when the current one leaves; resolves when it is known which. */
  #elect(): Promise<boolean> {
    return new Promise((resolve) => {
      void this.#holdLead(async (work) => {
        const led = await this.#slots.leadNow(() => {
          resolve(true)
          return work()
        })
        if (led) return
        resolve(false)
        await this.#slots.lead(work, this.#closed.signal)
      })
    })
  }

  #takeLead(): void {
    void this.#holdLead((work) => this.#slots.takeLead(work))
  }

  /** Leads once the lock is granted. If another tab steals it, waits to get it back. */
  async #holdLead(acquire: (work: () => Promise<void>) => Promise<void>): Promise<void> {
    const taken = new AbortController()
    try {
      await acquire(() => this.#lead(AbortSignal.any([this.#closed.signal, taken.signal])))
    } catch (cause) {
      taken.abort()
      if (this.#closed.signal.aborted) return
      // A stolen lock rejects with an AbortError; requests fail with client errors.
      if (!(cause instanceof DOMException && cause.name === 'AbortError')) return this.#fail(cause)
      await this.#holdLead((work) => this.#slots.lead(work, this.#closed.signal))
    }
  }

  #fail(cause: unknown): void {
    for (const { inbox } of this.#readers) inbox.fail(cause)
  }

  /** Reads the log to its end, from the most advanced of this tab's readers, and broadcasts it. */
  async #lead(signal: AbortSignal): Promise<void> {
    const position = { run: this.#run, cursor: Math.max(...[...this.#readers].map((reader) => reader.position.cursor)) }
    const options: FollowOptions = {
      signal,
      onGap: () => {}, // every reader detects it itself
      onLogChanged: () => this.#send('changed'),
      onActivity: () => this.#sendHeartbeat(),
      onProblem: (problem) => this.#send(problem === undefined ? 'alive' : { failing: problem.message }),
    }
    const backoff = this.#transport.newBackoff(options.onProblem)
    this.#isLeading = true
    try {
      let over = false
      while (!over && !signal.aborted) {
        over = await this.#slots.stream(async () => {
          for await (const event of follow(this.#transport, position, options)) this.#send(event)
        })
        if (!over) over = await this.#pollInSlot(position, options, backoff)
      }
      if (over) await new Promise((resolve) => setTimeout(resolve, LINGER_MS))
    } catch (cause) {
      if (!signal.aborted) throw cause
    } finally {
      this.#isLeading = false
    }
  }

  /** Reads one page when this run gets the read slot; true if it contains the end. Waits out a failure after it has left the slot. */
  async #pollInSlot(position: Position, options: FollowOptions, backoff: Backoff): Promise<boolean> {
    try {
      return await this.#slots.poll((ms) => this.#pollOnce(position, options, backoff, ms), options.signal!)
    } catch (cause) {
      if (mayContinue(cause, position, options)) return false
      if (!(cause instanceof ClientError) || !isTransient(cause)) throw cause
      await backoff.pause(cause, options.signal)
      return false
    }
  }

  async #pollOnce(position: Position, options: FollowOptions, backoff: Backoff, ms: number): Promise<boolean> {
    const connection = new Connection(this.#transport, position, options, backoff)
    const idleTimeoutMs = ms + Math.min(PAGE_IDLE_MS_MAX, this.#transport.idleTimeoutMs / 4)
    for await (const event of connection.page(ms, { limit: PAGE_EVENTS_MAX, idleTimeoutMs })) {
      backoff.progress()
      this.#send(event)
      if (isTerminalEvent(event)) return true
    }
    return connection.done
  }

  #sendHeartbeat(): void {
    if (performance.now() - this.#sentAt >= this.#transport.idleTimeoutMs / 4) this.#send('alive')
  }

  /** Sends to the other tabs and to this tab's readers. */
  #send(message: Message): void {
    this.#slots.channel.postMessage(message)
    this.#sentAt = performance.now()
    this.#receive(message)
  }

  #receive(message: Message): void {
    for (const reader of this.#readers) {
      const { inbox, options } = reader
      if (typeof message === 'object' && 'failing' in message) {
        const problem = new ConnectionError(message.failing, { run: this.#run })
        problem.retrying = reader.isInformed = true
        options.onProblem?.(problem)
        inbox.receive(undefined) // the leader is working
        continue
      }
      if (reader.isInformed) options.onProblem?.(undefined)
      reader.isInformed = false
      if (message === 'changed') inbox.change()
      else inbox.receive(message === 'alive' ? undefined : message)
    }
  }

  #close(): void {
    this.#forget()
    this.#closed.abort(new ConnectionError('all readers have stopped', { run: this.#run }))
    this.#slots.channel.close()
  }
}
