/**
 * Accounts for pages in shared memory from the reading thread. V8 does not count shared memory towards an isolate's garbage,
 * which saves a full collection every few megabytes of catch-up; so it must be bounded here.
 */
import type { LogPage } from './log-page.ts'

/** Maximum bytes of live shared pages in this thread. Further pages are transferred, and so counted by V8. */
export const SHARED_BYTES_MAX = 32 * 1024 * 1024

export class SharedPages {
  #bytes = 0
  readonly #collected = new FinalizationRegistry<number>((bytes) => (this.#bytes -= bytes))

  get hasRoom(): boolean {
    return this.#bytes < SHARED_BYTES_MAX
  }

  /** Counts a page's bytes until they are collected. */
  add({ slice }: LogPage): void {
    const buffer = slice?.bytes.buffer
    if (!(buffer instanceof SharedArrayBuffer)) return
    this.#bytes += buffer.byteLength
    this.#collected.register(buffer, buffer.byteLength)
  }
}

/** Copies bytes into shared memory of their own. */
export function inSharedMemory(bytes: Uint8Array): Uint8Array {
  const shared = new Uint8Array(new SharedArrayBuffer(bytes.length))
  shared.set(bytes)
  return shared
}
