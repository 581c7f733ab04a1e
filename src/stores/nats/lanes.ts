/**
 * Lanes: the runs of each in order, as one message that is replaced as a whole, so that of several nodes one decides. A run is
 * put into its lane before it is created, and taken out some time after it has ended; who looks knows to ignore what has ended.
 */
import { storeUnavailable } from '../../core/model/errors.ts'
import { pause } from '../shared/pause.ts'
import type { Barriers } from './barriers.ts'
import type { Layout } from './layout.ts'
import type { Link } from './link.ts'
import { KeyedMutex } from '../shared/keyed-mutex.ts'

/** A run in its lane, and the number by which it is ordered. */
export type LaneEntry = readonly [id: string, number: number]

export interface LanesOptions {
  readonly link: Link
  readonly layout: Layout
  /** Whether a run has ended, or will never be: then it is in nobody's way. */
  readonly isOver: (waiting: LaneEntry) => Promise<boolean>
  readonly barriers: Barriers
}

interface Lane {
  readonly seq: number
  readonly runs: readonly LaneEntry[]
}

/** Given the unfinished runs of a lane, what it is to be instead; undefined leaves it as it is. */
type Decide = (runs: readonly LaneEntry[]) => readonly LaneEntry[] | undefined

const TRIES_MAX = 200
/** Who was faster may not be seen yet. */
const TURN_MS_MAX = 100

export class Lanes {
  readonly #options: LanesOptions
  readonly #queue = new KeyedMutex()

  constructor(options: LanesOptions) {
    this.#options = options
  }

  /** The unfinished run that comes first, in the lane of one that is in it. */
  async first(lane: string, id: string): Promise<string | undefined> {
    let { runs } = await this.#read(lane)
    if (!runs.some(([other]) => other === id)) {
      await this.#options.barriers.pass(this.#options.layout.state('lane', lane))
      ;({ runs } = await this.#read(lane))
    }
    for (const waiting of runs) if (!(await this.#options.isOver(waiting))) return waiting[0]
    return undefined
  }

  /** Puts a run last. Its number, which is higher than those before it; or the run that keeps a lane busy which must be free. */
  async enter(
    lane: string,
    id: string,
    number: number,
    mustBeFree: boolean,
  ): Promise<{ readonly number: number; readonly isFirst: boolean } | { readonly busy: string }> {
    let result: Awaited<ReturnType<Lanes['enter']>> | undefined
    await this.#change(lane, (runs) => {
      // An attempt before this one whose answer was lost may have been written.
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

  /** A run has ended, or is not created after all. */
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
        if (tries > 0) await pause(Math.min(tries, TURN_MS_MAX), this.#options.link.signal)
      }
      throw storeUnavailable('others are always faster', { retryAfterMs: 1000 })
    })
  }

  /** Runs end in order most of the time, so the first that goes on is the end of the search. */
  async #unfinished(runs: readonly LaneEntry[], leaving: string | undefined): Promise<readonly LaneEntry[]> {
    for (const [at, waiting] of runs.entries())
      if (waiting[0] === leaving || !(await this.#options.isOver(waiting))) return runs.slice(at)
    return []
  }

  async #read(lane: string): Promise<Lane> {
    const { link, layout } = this.#options
    const message = await link.last(layout.state('lane', lane))
    if (message === undefined) return { seq: 0, runs: [] }
    return { seq: message.seq, runs: JSON.parse(Buffer.from(message.data).toString()) as LaneEntry[] }
  }

  /** An empty lane is no message at all. */
  async #write(lane: string, { seq }: Lane, runs: readonly LaneEntry[]): Promise<boolean> {
    const { link, layout } = this.#options
    const { stream, subject } = layout.state('lane', lane)
    const data = Buffer.from(JSON.stringify(runs))
    const published = await link.publish({ stream, subject, head: '{}', data, expected: seq })
    if (published.kind === 'stale') return false
    if (runs.length === 0) await link.purge(stream, subject, published.seq + 1)
    return true
  }
}
