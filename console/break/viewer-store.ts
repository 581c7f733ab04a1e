/** One viewer of a run with its own connection and counters. */
import type { LoggedEvent } from 'holdfast/client'
import { RunWatch, type ShownRun } from '../run/run-watch.ts'
import { clientOn } from '../session.ts'
import { FaultyConnection, type ConnectionState } from '../faulty-connection.ts'

export interface Tally {
  /** Index of the last event. */
  readonly last: number
  readonly received: number
  /** Events that happened while this viewer was disconnected, and arrived by catch-up. */
  readonly caughtUp: number
  /** Skipped indexes. Must be 0. */
  readonly lost: number
  /** Duplicate events. Must be 0. */
  readonly repeated: number
  /** The newest events, and whether each arrived by catch-up. */
  readonly strip: readonly { readonly index: number; readonly late: boolean }[]
}

const STRIP_EVENTS = 240
/** Events with a higher latency count as late. */
const LATE_MS = 700

export class ViewerStore {
  readonly connection: FaultyConnection
  readonly watch: RunWatch
  #tally: Tally = { last: -1, received: 0, caughtUp: 0, lost: 0, repeated: 0, strip: [] }
  /** Difference between the server's clock and ours, estimated from the fastest event. */
  #skew = Number.POSITIVE_INFINITY

  constructor(run: string, key: string | undefined) {
    this.connection = new FaultyConnection()
    this.watch = new RunWatch(clientOn(this.connection, key, true), run, (events) => this.#count(events))
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    const leave = [this.watch.subscribe(listener), this.connection.subscribe(listener)]
    return () => {
      for (const each of leave) each()
    }
  }

  get shown(): ShownRun {
    return this.watch.state()
  }

  get tally(): Tally {
    return this.#tally
  }

  get connectionState(): ConnectionState {
    return this.connection.state()
  }

  #count(events: readonly LoggedEvent[]): void {
    let { last, received, caughtUp, lost, repeated } = this.#tally
    const strip = [...this.#tally.strip]
    const isFirst = received === 0
    for (const { index, time } of events) {
      const travel = Date.now() - Date.parse(time)
      this.#skew = Math.min(this.#skew, travel)
      if (index <= last) repeated++
      else lost += index - last - 1
      const late = !isFirst && travel - this.#skew > LATE_MS
      if (late) caughtUp++
      received++
      last = Math.max(last, index)
      strip.push({ index, late })
    }
    this.#tally = { last, received, caughtUp, lost, repeated, strip: strip.slice(-STRIP_EVENTS) }
  }
}
