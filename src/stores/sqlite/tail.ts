/**
 * The records of a run that are not in a segment yet, in one growing buffer. A piece for each commit would be a few objects
 * for each event, which live just long enough to be what the garbage collector has most work with.
 */
import { type Slice, lastOf, sliceAfter } from '../../core/record.ts'

const NO_BYTES = new Uint8Array(0)
const ROOM_BYTES_MIN = 2048

export class Tail {
  #bytes: Uint8Array = NO_BYTES
  #length = 0
  #first = 0
  #count = 0

  get count(): number {
    return this.#count
  }

  get isEmpty(): boolean {
    return this.#count === 0
  }

  /** Takes the records that follow, or any when it is empty. Their bytes are copied: they are a part of a whole commit. */
  push({ first, count, bytes }: Omit<Slice, 'closed'>): void {
    if (this.#count === 0) this.#first = first
    this.#makeRoom(bytes.length)
    this.#bytes.set(bytes, this.#length)
    this.#length += bytes.length
    this.#count += count
  }

  /** As it is now. What comes later is written behind it, or elsewhere. */
  slice(): Slice {
    return { first: this.#first, count: this.#count, bytes: this.#bytes.subarray(0, this.#length), closed: false }
  }

  dropBefore(index: number): void {
    const whole = this.slice()
    this.#bytes = NO_BYTES
    this.#length = 0
    this.#count = 0
    if (index <= lastOf(whole)) this.push(sliceAfter(whole, index - 1))
  }

  #makeRoom(bytes: number): void {
    const needed = this.#length + bytes
    if (needed <= this.#bytes.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(2 * needed, ROOM_BYTES_MIN))
    larger.set(this.#bytes.subarray(0, this.#length))
    this.#bytes = larger
  }
}
