/**
 * Finds the stream sequence of each message of a run. A run's messages are interleaved with those of other runs, and JetStream
 * cannot look up the message with a certain record. So each message lists predecessors, like a skip list: message 12, whose
 * lowest set bit is 4, lists four; an odd one lists one; message 256 lists 256. That is four on average, and any record is a
 * few hops away.
 */
import type { Head } from './head.ts'
import { LruCache } from './lru-cache.ts'

/** Where a message is: its number in its run (`ordinal`) and its sequence in the stream (`seq`); and the records it holds. */
export interface MessagePosition {
  readonly ordinal: number
  readonly seq: number
  readonly from: number
  readonly next: number
}

/** Maximum predecessors that one message lists. */
const LISTED_MAX = 256
/** Cached positions of all runs together. */
const POSITIONS_MAX = 500_000

/** Number of predecessors that a message lists. */
export function listedAt(ordinal: number): number {
  return Math.min(ordinal & -ordinal, LISTED_MAX, ordinal - 1)
}

/** Encodes neighbouring positions, oldest first, for the message that follows them. */
export function encodeBack(positions: readonly MessagePosition[]): number[] {
  const back: number[] = []
  let after = 0
  for (const { seq, from, next } of positions.toReversed()) {
    back.push(after === 0 ? seq : after - seq, next - from)
    after = seq
  }
  return back
}

/** The positions that a message lists, oldest first. */
function positionsBefore({ ordinal, from, back }: Head): MessagePosition[] {
  const positions: MessagePosition[] = []
  let [seq, next] = [0, from]
  for (let at = 0; at < back.length; at += 2) {
    seq = at === 0 ? back[0]! : seq - back[at]!
    const start = next - back[at + 1]!
    positions.push({ ordinal: ordinal - 1 - at / 2, seq, from: start, next })
    next = start
  }
  return positions.toReversed()
}

export function positionOf({ ordinal, from, next }: Head, seq: number): MessagePosition {
  return { ordinal, seq, from, next }
}

/** Loads the head of the message at a position; undefined if it was removed. */
export type LoadHead = (position: MessagePosition) => Promise<Head | undefined>

export class MessageIndex {
  /** Neighbours without a gap, oldest first, up to the last known message. */
  readonly #cache = new LruCache<MessagePosition[]>(POSITIONS_MAX, (positions) => positions.length)

  /** Adds a run's new message, if its predecessor is cached and is the one its writer saw. */
  extend(run: string, head: Head, seq: number): void {
    const position = positionOf(head, seq)
    if (position.ordinal === 1) return this.#cache.set(run, [position])
    const positions = this.#cache.get(run)
    const last = positions?.at(-1)
    if (positions === undefined || last === undefined || last.seq >= seq) return
    if (last.ordinal + 1 !== position.ordinal || head.back[0] !== last.seq) return this.#cache.delete(run)
    if (positions.length >= PER_RUN_MAX) positions.splice(0, PER_RUN_MAX / 2)
    positions.push(position)
    this.#cache.set(run, positions)
  }

  forgetAll(): void {
    this.#cache.clear()
  }

  forget(run: string): void {
    this.#cache.delete(run)
  }

  /** Up to `count` positions that end with `tip`. */
  async last(run: string, tip: MessagePosition, count: number, load: LoadHead): Promise<readonly MessagePosition[]> {
    const positions = await this.#back(run, tip, ({ ordinal }) => ordinal <= tip.ordinal - count + 1, load)
    return positions.slice(-count)
  }

  /** From the position with the record, or the earliest that exists, to `tip`. */
  async since(run: string, tip: MessagePosition, record: number, load: LoadHead): Promise<readonly MessagePosition[]> {
    const positions = await this.#back(run, tip, ({ from }) => from <= record, load)
    return positions.slice(
      Math.max(
        0,
        positions.findLastIndex(({ from }) => from <= record),
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
    for (let oldest = known[0]!; oldest.ordinal > 1 && !isEarly(oldest); oldest = found.at(-1)![0]!) {
      const head = await load(oldest)
      const earlier = head === undefined ? [] : positionsBefore(head)
      if (earlier.length === 0) break
      found.push(earlier)
    }
    if (found.length === 1) return known
    const positions = found.toReversed().flat()
    this.#cache.set(run, positions)
    return [...positions]
  }

  #known(run: string, tip: MessagePosition): MessagePosition[] {
    const positions = this.#cache.get(run)
    const at = positions === undefined ? -1 : tip.ordinal - positions[0]!.ordinal
    return positions?.[at]?.seq === tip.seq ? positions.slice(0, at + 1) : [tip]
  }
}

/** Cached positions of one run while it is only appended to; older ones are looked up again. */
const PER_RUN_MAX = 4096
