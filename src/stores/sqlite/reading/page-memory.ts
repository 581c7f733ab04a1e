/**
 * Shared memory for pages of the reading thread. Released pages are reused, so that catching up allocates nothing: V8 would mark the
 * whole heap every few megabytes of new buffers. V8 does not count shared memory, so it is bounded here.
 */
import type { Slice } from '../../../core/model/slice.ts'

/** Maximum bytes in this thread, spare ones included. Further pages are transferred, and so counted by V8. */
export const SHARED_BYTES_MAX = 32 * 1024 * 1024
/** Released buffers that are kept. */
export const SPARE_MAX = 16
/** Larger pages are rare, and would keep much memory for the next one. */
const PAGE_BYTES_MAX = 1024 * 1024

export class PageMemory {
  #bytes = 0
  /** LIFO: the buffer used last may still be in the processor's cache. */
  readonly #spare: SharedArrayBuffer[] = []
  readonly #collected = new FinalizationRegistry<number>((bytes) => (this.#bytes -= bytes))

  /** A buffer for a page of at most `bytes` bytes; undefined if the limit is reached. */
  take(bytes: number): SharedArrayBuffer | undefined {
    if (bytes > PAGE_BYTES_MAX) return undefined
    const found = this.#spare.findLastIndex((buffer) => buffer.byteLength === bytes)
    if (found >= 0) return this.#spare.splice(found, 1)[0]
    if (this.#bytes + bytes > SHARED_BYTES_MAX) return undefined
    const buffer = new SharedArrayBuffer(bytes)
    this.#bytes += bytes
    this.#collected.register(buffer, bytes)
    return buffer
  }

  /** Returns a buffer that is no longer used. */
  give(buffer: SharedArrayBuffer): void {
    if (this.#spare.length >= SPARE_MAX) this.#spare.shift() // its size may no longer be requested
    this.#spare.push(buffer)
  }

  /** A slice whose bytes are in a shared buffer, which is returned when the slice is released. */
  sliceIn(buffer: SharedArrayBuffer, bytes: number, slice: Slice): Slice {
    let isReleased = false
    const release = (): void => {
      if (!isReleased) this.give(buffer)
      isReleased = true
    }
    return { ...slice, bytes: new Uint8Array(buffer, 0, bytes), release }
  }
}
