/**
 * Finds the stream sequence of each message of a run. A run's messages are interleaved with those of other runs, and JetStream
 * cannot look up the message with a certain record. So each message lists predecessors, like a skip list: message 12, whose
 * lowest set bit is 4, lists four; an odd one lists one; message 256 lists 256. That is four on average, and any record is a
 * few hops away.
 */
import type { Head } from './head.ts'
import { LruCache } from './lru-cache.ts'

/** Position of a message in its run (`place`) and stream (`seq`), and the records it holds. */
export interface MessagePosition {
  readonly place: number
  readonly seq: number
  readonly from: number
  readonly next: number
}

/** Maximum predecessors that one message lists. */
const LISTED_MAX = 256
/** Cached positions of all runs together. */
const PLACES_MAX = 500_000

/** Number of predecessors that the message at a position lists. */
export function listedAt(place: number): number {
  return Math.min(place & -place, LISTED_MAX, place - 1)
}

/** Encodes neighbouring positions, oldest first, for the message that follows them. */
export function encodeBack(places: readonly MessagePosition[]): number[] {
  const back: number[] = []
  let after = 0
  for (const { seq, from, next } of places.toReversed()) {
    back.push(after === 0 ? seq : after - seq, next - from)
    after = seq
  }
  return back
}

/** The places that a message lists, oldest first. */
function placesBefore({ place, from, back }: Head): MessagePosition[] {
  const places: MessagePosition[] = []
  let [seq, next] = [0, from]
  for (let at = 0; at < back.length; at += 2) {
    seq = at === 0 ? back[0]! : seq - back[at]!
    const start = next - back[at + 1]!
    places.push({ place: place - 1 - at / 2, seq, from: start, next })
    next = start
  }
  return places.toReversed()
}

export function placeOf({ place, from, next }: Head, seq: number): MessagePosition {
  return { place, seq, from, next }
}

/** Loads the head of the message at a position; undefined if it was removed. */
export type LoadHead = (place: MessagePosition) => Promise<Head | undefined>

export class Chains {
  /** Neighbours without a gap, oldest first, up to the last known message. */
  readonly #kept = new LruCache<MessagePosition[]>(PLACES_MAX, (places) => places.length)

  /** Adds a run's new message, if its predecessor is cached and is the one its writer saw. */
  extend(run: string, head: Head, seq: number): void {
    const place = placeOf(head, seq)
    if (place.place === 1) return this.#kept.set(run, [place])
    const places = this.#kept.get(run)
    const last = places?.at(-1)
    if (places === undefined || last === undefined || last.seq >= seq) return
    if (last.place + 1 !== place.place || head.back[0] !== last.seq) return this.#kept.delete(run)
    if (places.length >= PER_RUN_MAX) places.splice(0, PER_RUN_MAX / 2)
    places.push(place)
    this.#kept.set(run, places)
  }

  forgetAll(): void {
    this.#kept.clear()
  }

  forget(run: string): void {
    this.#kept.delete(run)
  }

  /** Up to `count` positions that end with `tip`. */
  async last(run: string, tip: MessagePosition, count: number, load: LoadHead): Promise<readonly MessagePosition[]> {
    const places = await this.#back(run, tip, ({ place }) => place <= tip.place - count + 1, load)
    return places.slice(-count)
  }

  /** From the position with the record, or the earliest that exists, to `tip`. */
  async since(run: string, tip: MessagePosition, record: number, load: LoadHead): Promise<readonly MessagePosition[]> {
    const places = await this.#back(run, tip, ({ from }) => from <= record, load)
    return places.slice(
      Math.max(
        0,
        places.findLastIndex(({ from }) => from <= record),
      ),
    )
  }

  async #back(
    run: string,
    tip: MessagePosition,
    isEarly: (oldest: MessagePosition) => boolean,
    load: LoadHead,
  ): Promise<MessagePosition[]> {
    const known = this.#known(run, tip)
    const found = [known]
    for (let oldest = known[0]!; oldest.place > 1 && !isEarly(oldest); oldest = found.at(-1)![0]!) {
      const head = await load(oldest)
      const earlier = head === undefined ? [] : placesBefore(head)
      if (earlier.length === 0) break
      found.push(earlier)
    }
    if (found.length === 1) return known
    const places = found.toReversed().flat()
    this.#kept.set(run, places)
    return [...places]
  }

  #known(run: string, tip: MessagePosition): MessagePosition[] {
    const places = this.#kept.get(run)
    const at = places === undefined ? -1 : tip.place - places[0]!.place
    return places?.[at]?.seq === tip.seq ? places.slice(0, at + 1) : [tip]
  }
}

/** Cached positions of one run while it is only appended to; older ones are looked up again. */
const PER_RUN_MAX = 4096
