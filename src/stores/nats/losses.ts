/**
 * Notices what somebody else did to the streams: messages that were purged, and a stream that ends earlier than it did, as after
 * a restore from a backup or a power cut that took unsynced files. Runs that are gone that way are told so to whoever asks.
 */
import { HoldfastError } from '../../core/model/errors.ts'
import type { Alarms } from './alarms.ts'
import type { Barriers } from './barriers.ts'
import type { Follower } from './follower.ts'
import { decodeHead } from './head.ts'
import type { Spot } from './layout.ts'
import type { Link } from './link.ts'
import type { Entry, RunIndex } from './run-index.ts'

export interface LossesOptions {
  readonly link: Link
  readonly barriers: Barriers
  readonly alarms: Alarms
  readonly index: RunIndex
  readonly followers: () => readonly Follower[]
  readonly spotOf: (id: string) => Spot
  /** A run is gone, or is as it was some time ago: what is remembered of it is wrong. */
  readonly onLost: (id: string) => void
  /** Sequences of a stream stand for other messages than before. */
  readonly onRewound: () => void
}

const LOOK_EVERY_MS = 10_000
/** Runs that are remembered as lost. */
const LOST_MAX = 100_000
/** Runs that the leader is asked for at once. */
const BATCH = 32

export class Losses {
  readonly #options: LossesOptions
  readonly #lost = new Set<string>()
  /** The earliest message of each stream when it was last looked at. */
  readonly #first = new Map<string, number>()
  readonly #timer: NodeJS.Timeout
  #looking: Promise<void> | undefined

  constructor(options: LossesOptions) {
    this.#options = options
    this.#timer = setInterval(() => void this.look(), LOOK_EVERY_MS).unref()
    options.link.onReconnect(() => void this.look())
  }

  close(): void {
    clearInterval(this.#timer)
  }

  /** A run that is not there now: throws where it was here and was removed by somebody else. */
  expectKept(id: string): void {
    if (this.#lost.has(id))
      throw new HoldfastError(
        'cursor_expired',
        `run ${id}: its messages were removed from the NATS stream from outside`,
      )
  }

  /** Shared by whoever comes upon something that is not there. */
  look(): Promise<void> {
    this.#looking ??= this.#look().finally(() => (this.#looking = undefined))
    return this.#looking
  }

  async #look(): Promise<void> {
    for (const follower of this.#options.followers()) {
      try {
        await this.#lookAt(follower)
      } catch {
        // The servers cannot be asked now. The next look finds it.
      }
    }
  }

  async #lookAt(follower: Follower): Promise<void> {
    const { link, index, spotOf, barriers, alarms } = this.#options
    const { spot, seen } = follower // before the stream is asked: it may go on meanwhile
    const { stream } = spot
    const { first_seq: first, last_seq: last } = await link.state(stream)
    const isBack = last < seen || (await this.#isReplaced(follower))
    if (!isBack && this.#first.get(stream) === first) return
    const suspects = [...index.entriesWhere(({ id, seq }) => (isBack || seq < first) && spotOf(id).stream === stream)]
    // A leader that does not know yet what was acknowledged would look the same.
    if (isBack || suspects.length > 0) await barriers.pass(spot)
    const { gone, changed } = await this.#confirm(suspects)
    if (isBack && (changed.length > 0 || (await link.state(stream)).last_seq < seen)) {
      this.#options.onRewound()
      await follower.rewind()
      alarms.stream(stream, `stream ${stream} went back from message ${seen} to ${last}: ${gone} runs are gone`)
    } else if (gone > 0) {
      alarms.stream(stream, `${gone} runs are gone: stream ${stream} was purged from outside`)
    }
    for (const id of changed) this.#options.onLost(id)
    this.#first.set(stream, first)
  }

  /** Whether another message is where the last one was: the stream went back, and others have written to it since. */
  async #isReplaced({ spot, lastHeard }: Follower): Promise<boolean> {
    if (lastHeard === undefined) return false
    const found = await this.#options.link.led(spot.stream, lastHeard.seq)
    return found !== undefined && found.head !== lastHeard.head
  }

  /** Asks the leader for each: those that it has as they are known are well. */
  async #confirm(suspects: readonly Entry[]): Promise<{ readonly gone: number; readonly changed: readonly string[] }> {
    let gone = 0
    const changed: string[] = []
    for (let at = 0; at < suspects.length; at += BATCH)
      await Promise.all(
        suspects.slice(at, at + BATCH).map(async (entry) => {
          const now = await this.#now(entry)
          if (now === 'kept') return
          if (now === 'gone') gone++
          changed.push(entry.id)
        }),
      )
    return { gone, changed }
  }

  async #now(entry: Entry): Promise<'kept' | 'gone' | 'earlier'> {
    const { link, index, spotOf } = this.#options
    const { id, seq, head } = entry
    const found = await link.last(spotOf(id))
    if (found !== undefined && found.seq > seq) return 'kept' // it went on, or Holdfast removed it
    if (found !== undefined && found.seq === seq && decodeHead(found.head).name === head.name) return 'kept'
    index.forget(id, seq)
    if (found !== undefined) return 'earlier'
    if (this.#lost.size < LOST_MAX) this.#lost.add(id)
    return 'gone'
  }
}
