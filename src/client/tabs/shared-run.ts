/**
 * One run in one of several tabs: the tab that leads reads the log and tells the others. What is told is a hint that carries
 * the event; a reader that misses one, or comes late, looks at the log itself.
 */
import type { LoggedEvent } from '../../core/event.ts'
import type { Backoff } from '../backoff.ts'
import { ClientError, ConnectionError } from '../errors.ts'
import { Connection, follow, type FollowOptions, goesOn, isLast, type Position } from '../follow.ts'
import { isTransient, type Transport } from '../transport.ts'
import type { Places } from './places.ts'
import { Inbox } from './inbox.ts'

/** From the tab that leads: an event, or a sign of life. */
type Message = LoggedEvent | 'alive'

/** A reader gives the tab that leads the time to find out for itself that its connection is dead. */
const SILENCES = 1.5

interface Reader {
  readonly inbox: Inbox
  readonly position: Position
}

export class SharedRun {
  readonly #transport: Transport
  readonly #places: Places
  readonly #run: string
  readonly #forget: () => void
  readonly #readers = new Set<Reader>()
  readonly #closed = new AbortController()
  #toldAt = 0
  /** Whether this tab leads, once that is known. */
  #leads: Promise<boolean> | undefined

  constructor(transport: Transport, places: Places, run: string, forget: () => void) {
    this.#transport = transport
    this.#places = places
    this.#run = run
    this.#forget = forget
    places.channel.addEventListener('message', ({ data }: MessageEvent<Message>) => this.#hear(data))
  }

  async *read(position: Position, options: FollowOptions): AsyncGenerator<LoggedEvent> {
    const inbox = new Inbox()
    const reader = { inbox, position }
    this.#readers.add(reader)
    const backoff = this.#transport.newBackoff()
    try {
      // Whoever leads from the beginning is told everything; all others look at the log first.
      let upToDate = (await (this.#leads ??= this.#elect())) && this.#readers.size === 1
      for (;;) {
        const event = inbox.take(position.cursor)
        if (event !== undefined) {
          position.cursor = event.index
          yield event
          if (isLast(event)) return
        } else if (upToDate && !inbox.isAhead) {
          upToDate = await inbox.wait(this.#transport.silenceMs * SILENCES, options.signal)
        } else {
          const before = position.cursor
          if (yield* this.#page(position, options, backoff, 0)) return
          const isNews = position.cursor > before
          if (isNews && inbox.wasSilent) this.#takeLead() // the tab that leads is stuck: it did not tell
          if (isNews) inbox.wasSilent = false
          else if (inbox.isAhead) await backoff.pause(this.#missing(position), options.signal)
          upToDate = !isNews
        }
      }
    } finally {
      this.#readers.delete(reader)
      if (this.#readers.size === 0) this.#close()
    }
  }

  #missing({ run, cursor }: Position): ConnectionError {
    return new ConnectionError(`run ${run}: the server does not have what comes after event ${cursor}`, { run })
  }

  /** One page of the log after the cursor, or what comes within the wait; true when it holds the end. */
  async *#page(
    position: Position,
    options: FollowOptions,
    backoff: Backoff,
    waitMs: number,
  ): AsyncGenerator<LoggedEvent, boolean> {
    for (;;) {
      const connection = new Connection(this.#transport, position, options, backoff)
      try {
        for await (const event of connection.page(waitMs)) {
          backoff.progress()
          yield event
          if (isLast(event)) return true
        }
        return connection.done
      } catch (cause) {
        if (goesOn(cause, position, options)) continue
        if (!(cause instanceof ClientError) || !isTransient(cause)) throw cause
        await backoff.pause(cause, options.signal)
      }
    }
  }

  /** Becomes the tab that leads, now or when its turn comes; resolves when it is known which. */
  #elect(): Promise<boolean> {
    return new Promise((resolve) => {
      void this.#holdLead(async (work) => {
        const led = await this.#places.leadNow(() => {
          resolve(true)
          return work()
        })
        if (led) return
        resolve(false)
        await this.#places.lead(work, this.#closed.signal)
      })
    })
  }

  #takeLead(): void {
    void this.#holdLead((work) => this.#places.takeLead(work))
  }

  /** Leads once it is granted. If another tab takes the lead away, waits to get it back. */
  async #holdLead(acquire: (work: () => Promise<void>) => Promise<void>): Promise<void> {
    const taken = new AbortController()
    try {
      await acquire(() => this.#lead(AbortSignal.any([this.#closed.signal, taken.signal])))
    } catch (cause) {
      taken.abort()
      if (this.#closed.signal.aborted) return
      // A lock that is lost is told as a DOMException; our own requests fail with our own errors.
      if (!(cause instanceof DOMException)) return this.#fail(cause)
      await this.#holdLead((work) => this.#places.lead(work, this.#closed.signal))
    }
  }

  #fail(cause: unknown): void {
    for (const { inbox } of this.#readers) inbox.fail(cause)
  }

  /** Reads the log to its end, from where the foremost of our own readers stands, and tells everyone. */
  async #lead(signal: AbortSignal): Promise<void> {
    const position = { run: this.#run, cursor: Math.max(...[...this.#readers].map((reader) => reader.position.cursor)) }
    // A gap, or another log, is met by every reader for itself.
    const options: FollowOptions = { signal, onGap: () => {}, onLogChanged: () => {}, onLife: () => this.#tellLife() }
    const backoff = this.#transport.newBackoff()
    try {
      let over = false
      while (!over && !signal.aborted) {
        over = await this.#places.stream(async () => {
          for await (const event of follow(this.#transport, position, options)) this.#tell(event)
        })
        if (!over) over = await this.#places.turn((ms) => this.#lookOnce(position, options, backoff, ms), signal)
      }
    } catch (cause) {
      if (!signal.aborted) throw cause
    }
  }

  async #lookOnce(position: Position, options: FollowOptions, backoff: Backoff, ms: number): Promise<boolean> {
    const page = this.#page(position, options, backoff, ms)
    for (;;) {
      const { done, value } = await page.next()
      if (done === true) return value
      this.#tell(value)
    }
  }

  #tell(event: LoggedEvent): void {
    this.#places.channel.postMessage(event)
    this.#toldAt = performance.now()
    this.#hear(event)
  }

  #tellLife(): void {
    if (performance.now() - this.#toldAt < this.#transport.silenceMs / 4) return
    this.#toldAt = performance.now()
    this.#places.channel.postMessage('alive')
    this.#hear('alive')
  }

  #hear(message: Message): void {
    for (const { inbox } of this.#readers) inbox.hear(message === 'alive' ? undefined : message)
  }

  #close(): void {
    this.#forget()
    this.#closed.abort(new ConnectionError('nobody reads any more', { run: this.#run }))
    this.#places.channel.close()
  }
}
