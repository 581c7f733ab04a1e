/**
 * The logged output of one actor: index and digest of each emission. Stored outside of the heap: a run has hundreds of thousands of
 * emissions, and objects would cause garbage collection pauses.
 */
import type { RecordBody } from '../model/record.ts'

/** Length and 128 bits of hash: collisions do not occur in practice, and it is small enough to keep for every event. */
export type EmittedDigest = readonly [length: number, number, number, number, number]

/** An emission: the event's index, the attempt that emitted it, and its digest. */
const WORDS = 2 + 5
const ROWS_MIN = 16
/** Larger lists grow by whole chunks, so that nothing is copied. */
const ROWS_PER_CHUNK = 4096

export class EmittedList {
  readonly #chunks: Uint32Array[] = []
  #length = 0

  get length(): number {
    return this.#length
  }

  push(index: number, attempt: number, digest: EmittedDigest): void {
    const at = this.#length % ROWS_PER_CHUNK
    const chunk = this.#roomFor(Math.floor(this.#length / ROWS_PER_CHUNK), at)
    chunk.set([index, attempt, ...digest], at * WORDS)
    this.#length++
  }

  /** Index of the event. */
  indexOf(position: number): number {
    return this.#word(position, 0)
  }

  /** Whether the list contains the event with an index. */
  has(index: number): boolean {
    const position = this.positionAfter(index - 1)
    return position < this.#length && this.indexOf(position) === index
  }

  /** Position of the first event after an index. */
  positionAfter(index: number): number {
    let [low, high] = [0, this.#length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.indexOf(middle) <= index) low = middle + 1
      else high = middle
    }
    return low
  }

  attemptOf(position: number): number {
    return this.#word(position, 1)
  }

  /** Length of its body. */
  charsAt(position: number): number {
    return this.#word(position, 2)
  }

  isAt(position: number, digest: EmittedDigest): boolean {
    return digest.every((word, at) => this.#word(position, 2 + at) === word)
  }

  /** Drops the emissions from an event on. They are in log order. */
  dropFrom(index: number): void {
    while (this.#length > 0 && this.indexOf(this.#length - 1) >= index) this.#length--
    this.#chunks.length = Math.ceil(this.#length / ROWS_PER_CHUNK)
  }

  #word(position: number, word: number): number {
    return this.#chunks[Math.floor(position / ROWS_PER_CHUNK)]![(position % ROWS_PER_CHUNK) * WORDS + word]!
  }

  #roomFor(number: number, row: number): Uint32Array {
    const chunk = this.#chunks[number]
    if (chunk !== undefined && row * WORDS < chunk.length) return chunk
    const rows = number > 0 ? ROWS_PER_CHUNK : Math.min(ROWS_PER_CHUNK, Math.max(ROWS_MIN, row * 2))
    const grown = new Uint32Array(rows * WORDS)
    if (chunk !== undefined) grown.set(chunk)
    this.#chunks[number] = grown
    return grown
  }
}

/** Ends a record's body, but not the envelope that is read from a log. */
export const END_CHARS = '\n\n'.length

export function digestOfBody(body: RecordBody): EmittedDigest {
  return hash(body, 0, body.length - END_CHARS)
}

/** Digest of the same body inside an envelope, where it follows run, index and time. */
export function digestOfEnvelope(envelope: string): EmittedDigest {
  return hash(envelope, envelope.indexOf('"type":'), envelope.length)
}

/** The mixing is that of cyrb53, twice with different seeds. */
function hash(text: string, start: number, end: number): EmittedDigest {
  let [a, b, c, d] = [0x40d65f56, 0xdf7bb7ee, 0x5bc51bd1, 0xc4adf33c]
  for (let at = start; at < end; at++) {
    const unit = text.charCodeAt(at)
    a = Math.imul(a ^ unit, 2654435761)
    b = Math.imul(b ^ unit, 1597334677)
    c = Math.imul(c ^ unit, 2246822519)
    d = Math.imul(d ^ unit, 3266489917)
  }
  return [end - start, finish(a, b), finish(b, a), finish(c, d), finish(d, c)]
}

function finish(one: number, other: number): number {
  return (Math.imul(one ^ (one >>> 16), 2246822507) ^ Math.imul(other ^ (other >>> 13), 3266489909)) >>> 0
}
