/**
 * A run's records that are not in a segment yet, in one growing buffer. A piece per commit would be a few objects per event,
 * which live just long enough to be most expensive for the garbage collector.
 */
import { type Slice, lastOf, sliceAfter } from '../../../core/model/slice.ts'

const NO_BYTES = new Uint8Array(0)
const ROOM_BYTES_MIN = 2048
/** Bytes between two marks: the maximum that is searched for a record, besides one push. */
const MARK_BYTES = 32 * 1024

/** Start of a record, as an offset in all bytes ever pushed. */
interface Mark {
  readonly index: number
  readonly position: number
}

export class Tail {
  #bytes: Uint8Array = NO_BYTES
  /** Start of the first record and end of the last. */
  #start = 0
  #end = 0
  #first = 0
  #count = 0
  /** Bytes that were pushed before the start of the buffer. */
  #gone = 0
  #marks: Mark[] = []

  get count(): number {
    return this.#count
  }

  get first(): number {
    return this.#first
  }

  get byteLength(): number {
    return this.#end - this.#start
  }

  get isEmpty(): boolean {
    return this.#count === 0
  }

  /** Appends contiguous records, or any if it is empty. Copies their bytes, which are part of a whole commit. */
  push({ first, count, bytes }: Omit<Slice, 'closed'>): void {
    if (this.#count === 0) this.#first = first
    this.#makeRoom(bytes.length)
    const position = this.#gone + this.#end
    if (position - (this.#marks.at(-1)?.position ?? this.#gone + this.#start) >= MARK_BYTES)
      this.#marks.push({ index: first, position })
    this.#bytes.set(bytes, this.#end)
    this.#end += bytes.length
    this.#count += count
  }

  /** A snapshot: later records are written after it, or to another buffer. */
  slice(): Slice {
    const bytes = this.#bytes.subarray(this.#start, this.#end)
    return { first: this.#first, count: this.#count, bytes, closed: false }
  }

  /** Records after an index; searches from the mark before it. */
  after(index: number): Slice {
    const whole = this.slice()
    const mark = this.#marks.findLast((each) => each.index <= index + 1)
    if (mark === undefined || mark.index <= this.#first) return sliceAfter(whole, index)
    const bytes = this.#bytes.subarray(mark.position - this.#gone, this.#end)
    return sliceAfter({ first: mark.index, count: lastOf(whole) + 1 - mark.index, bytes, closed: false }, index)
  }

  dropBefore(index: number): void {
    if (index <= this.#first) return
    if (index >= this.#first + this.#count) return this.#clear()
    const rest = this.after(index - 1)
    this.#start = this.#end - rest.bytes.length
    this.#first = rest.first
    this.#count = rest.count
    const marked = this.#marks.findIndex((mark) => mark.index > index)
    this.#marks = marked < 0 ? [] : this.#marks.slice(marked)
    // Most of the buffer is dropped records: shrink it.
    if (this.#start > this.#bytes.length / 2) this.#move(this.byteLength)
  }

  #clear(): void {
    this.#bytes = NO_BYTES
    this.#start = 0
    this.#end = 0
    this.#first += this.#count
    this.#count = 0
    this.#gone = 0
    this.#marks = []
  }

  #makeRoom(bytes: number): void {
    if (this.#end + bytes > this.#bytes.length) this.#move(Math.max(2 * (this.byteLength + bytes), ROOM_BYTES_MIN))
  }

  /** Moves to another buffer: earlier slices stay valid. */
  #move(room: number): void {
    const moved = Buffer.allocUnsafeSlow(room)
    moved.set(this.#bytes.subarray(this.#start, this.#end))
    this.#bytes = moved
    this.#gone += this.#start
    this.#end -= this.#start
    this.#start = 0
  }
}
