/**
 * Detects changes to the streams from outside: purged messages, and a stream that is shorter than before, as after a restore
 * from a backup or a power failure that lost unsynced files. Requests for runs that were lost this way get an error that says
 * so.
 */
import { HoldfastError } from '../../../core/model/errors.ts'
import type { Alarms } from './alarms.ts'
import type { ReadBarriers } from '../log/read-barriers.ts'
import type { Follower } from './follower.ts'
import { decodeHead } from '../log/head.ts'
import type { SubjectAddress } from '../layout.ts'
import type { JetStream } from '../connection/jetstream.ts'
import type { Entry, NatsRunIndex } from './run-index.ts'

export interface LossDetectorOptions {
  readonly jetstream: JetStream
  readonly barriers: ReadBarriers
  readonly alarms: Alarms
  readonly index: NatsRunIndex
  readonly followers: () => readonly Follower[]
  readonly addressOf: (id: string) => SubjectAddress
  /** A run is lost or rolled back: cached state is invalid. */
  readonly onLost: (id: string) => void
  /** The stream's sequences now belong to other messages. */
  readonly onRewound: () => void
}

const LOOK_EVERY_MS = 10_000
/** Lost runs that are remembered. */
const LOST_MAX = 100_000
/** Runs that are confirmed with the leader concurrently. */
const BATCH = 32

export class LossDetector {
  readonly #options: LossDetectorOptions
  readonly #lost = new Set<string>()
  /** First sequence of each stream at the last check. */
  readonly #first = new Map<string, number>()
  readonly #timer: NodeJS.Timeout
  #checking: Promise<void> | undefined

  constructor(options: LossDetectorOptions) {
    this.#options = options
    this.#timer = setInterval(() => void this.check(), LOOK_EVERY_MS).unref()
    options.jetstream.onReconnect(() => void this.check())
  }

  close(): void {
    clearInterval(this.#timer)
  }

  /** Throws if the run existed and was removed from outside. */
  assertNotLost(id: string): void {
    if (this.#lost.has(id))
      throw new HoldfastError(
        'cursor_expired',
        `run ${id}: its messages were purged from the NATS stream by something other than Holdfast`,
      )
  }

  /** Concurrent callers share one check. */
  check(): Promise<void> {
    this.#checking ??= this.#checkAll().finally(() => (this.#checking = undefined))
    return this.#checking
  }

  async #checkAll(): Promise<void> {
    for (const follower of this.#options.followers()) {
      try {
        await this.#checkStream(follower)
      } catch {
        // The servers are unreachable. The next check detects it.
      }
    }
  }

  async #checkStream(follower: Follower): Promise<void> {
    const { jetstream, index, addressOf, barriers, alarms } = this.#options
    const { address, seen } = follower // read before the state of the stream, which may grow meanwhile
    const { stream } = address
    const { first_seq: first, last_seq: last } = await jetstream.state(stream)
    const isBack = last < seen || (await this.#isReplaced(follower))
    if (!isBack && this.#first.get(stream) === first) return
    const candidates = [
      ...index.entriesWhere(({ id, seq }) => (isBack || seq < first) && addressOf(id).stream === stream),
    ]
    // A leader that has not applied all acknowledged messages yet would look the same.
    if (isBack || candidates.length > 0) await barriers.pass(address)
    const { missing, changed } = await this.#confirm(candidates)
    if (isBack && (changed.length > 0 || (await jetstream.state(stream)).last_seq < seen)) {
      this.#options.onRewound()
      await follower.rewind()
      alarms.stream(stream, `stream ${stream} went back from message ${seen} to ${last}: ${missing} runs are lost`)
    } else if (missing > 0) {
      alarms.stream(stream, `${missing} runs are lost: stream ${stream} was purged by something other than Holdfast`)
    }
    for (const id of changed) this.#options.onLost(id)
    this.#first.set(stream, first)
  }

  /** Whether the last message was replaced by another: the stream was rolled back and then written to. */
  async #isReplaced({ address, lastReceived }: Follower): Promise<boolean> {
    if (lastReceived === undefined) return false
    const found = await this.#options.jetstream.led(address.stream, lastReceived.seq)
    return found !== undefined && found.head !== lastReceived.head
  }

  /** Checks each run with the leader, to rule out false alarms. */
  async #confirm(
    candidates: readonly Entry[],
  ): Promise<{ readonly missing: number; readonly changed: readonly string[] }> {
    let missing = 0
    const changed: string[] = []
    for (let at = 0; at < candidates.length; at += BATCH)
      await Promise.all(
        candidates.slice(at, at + BATCH).map(async (entry) => {
          const state = await this.#stateOf(entry)
          if (state === 'present') return
          if (state === 'missing') missing++
          changed.push(entry.id)
        }),
      )
    return { missing, changed }
  }

  async #stateOf(entry: Entry): Promise<'present' | 'missing' | 'rolled_back'> {
    const { jetstream, index, addressOf } = this.#options
    const { id, seq, head } = entry
    const found = await jetstream.last(addressOf(id))
    if (found !== undefined && found.seq > seq) return 'present' // newer, or removed by Holdfast
    if (found !== undefined && found.seq === seq && decodeHead(found.head).name === head.name) return 'present'
    index.forget(id, seq)
    if (found !== undefined) return 'rolled_back'
    if (this.#lost.size < LOST_MAX) this.#lost.add(id)
    return 'missing'
  }
}
