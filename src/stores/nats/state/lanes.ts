/**
 * Lanes: each is one message with the lane's runs in order, replaced by compare-and-set, so one node wins. A run enters its
 * lane before it is created and is removed some time after it finished; readers ignore finished runs.
 */
import { storeUnavailable } from '../../../core/model/errors.ts'
import { delayUntilAbort } from '../../shared/delay.ts'
import type { ReadBarriers } from '../log/read-barriers.ts'
import type { Layout } from '../layout.ts'
import type { JetStream } from '../connection/jetstream.ts'
import { KeyedMutex } from '../../shared/keyed-mutex.ts'

/** A run in its lane, and its creation order. */
export type LaneEntry = readonly [id: string, number: number]

export interface LanesOptions {
  readonly jetstream: JetStream
  readonly layout: Layout
  /** Whether a run is finished or its creation was voided, so that it no longer blocks the lane. */
  readonly isOver: (waiting: LaneEntry) => Promise<boolean>
  readonly barriers: ReadBarriers
}

interface Lane {
  readonly seq: number
  readonly runs: readonly LaneEntry[]
}

/** Maps the unfinished runs of a lane to its new content; undefined: no change. */
type Decide = (runs: readonly LaneEntry[]) => readonly LaneEntry[] | undefined

const TRIES_MAX = 200
/** The winning write may not be visible yet. */
const RETRY_DELAY_MS_MAX = 100

export class Lanes {
  readonly #options: LanesOptions
  readonly #queue = new KeyedMutex()

  constructor(options: LanesOptions) {
    this.#options = options
  }

  /** The first unfinished run in the lane of a given run. */
  async first(lane: string, id: string): Promise<string | undefined> {
    let { runs } = await this.#read(lane)
    if (!runs.some(([other]) => other === id)) {
      await this.#options.barriers.pass(this.#options.layout.state('lane', lane))
      ;({ runs } = await this.#read(lane))
    }
    for (const waiting of runs) if (!(await this.#options.isOver(waiting))) return waiting[0]
    return undefined
  }

  /**
   * Appends a run to its lane. Returns its number, higher than all before it; or the run that occupies a lane that must be
   * free.
   */
  async enter(
    lane: string,
    id: string,
    number: number,
    mustBeFree: boolean,
  ): Promise<{ readonly number: number; readonly isFirst: boolean } | { readonly busy: string }> {
    let result: Awaited<ReturnType<Lanes['enter']>> | undefined
    await this.#change(lane, (runs) => {
      // An earlier attempt whose reply was lost may have been written.
      const others = runs.filter(([other]) => other !== id)
      const own = runs.find(([other]) => other === id)
      if (mustBeFree && others.length > 0) {
        result = { busy: others[0]![0] }
        return own && others
      }
      const mine = own?.[1] ?? Math.max(number, (runs.at(-1)?.[1] ?? 0) + 1)
      result = { number: mine, isFirst: (own ? runs : [...runs, [id, mine]])[0]![0] === id }
      return own ? undefined : [...runs, [id, mine]]
    })
    return result!
  }

  /** Called when a run finished or its creation was abandoned. */
  async leave(lane: string, id: string): Promise<void> {
    await this.#change(
      lane,
      (runs) => (runs.some(([other]) => other === id) ? runs.filter(([other]) => other !== id) : undefined),
      id,
    )
  }

  async #change(lane: string, decide: Decide, leaving?: string): Promise<void> {
    await this.#queue.do(lane, async () => {
      for (let tries = 0; tries < TRIES_MAX; tries++) {
        const current = await this.#read(lane)
        const unfinished = await this.#unfinished(current.runs, leaving)
        const after = decide(unfinished)
        if (after === undefined || (await this.#write(lane, current, after))) return
        if (tries > 0) await delayUntilAbort(Math.min(tries, RETRY_DELAY_MS_MAX), this.#options.jetstream.signal)
      }
      throw storeUnavailable('too many concurrent writers; try again', { retryAfterMs: 1000 })
    })
  }

  /** Runs mostly finish in order, so the search stops at the first unfinished one. */
  async #unfinished(runs: readonly LaneEntry[], leaving: string | undefined): Promise<readonly LaneEntry[]> {
    for (const [at, waiting] of runs.entries())
      if (waiting[0] === leaving || !(await this.#options.isOver(waiting))) return runs.slice(at)
    return []
  }

  async #read(lane: string): Promise<Lane> {
    const { jetstream, layout } = this.#options
    const message = await jetstream.last(layout.state('lane', lane))
    if (message === undefined) return { seq: 0, runs: [] }
    return { seq: message.seq, runs: JSON.parse(Buffer.from(message.data).toString()) as LaneEntry[] }
  }

  /** An empty lane is stored as no message. */
  async #write(lane: string, { seq }: Lane, runs: readonly LaneEntry[]): Promise<boolean> {
    const { jetstream, layout } = this.#options
    const { stream, subject } = layout.state('lane', lane)
    const data = Buffer.from(JSON.stringify(runs))
    const published = await jetstream.publish({ stream, subject, head: '{}', data, expected: seq })
    if (published.kind === 'stale') return false
    if (runs.length === 0) await jetstream.purge(stream, subject, published.seq + 1)
    return true
  }
}
