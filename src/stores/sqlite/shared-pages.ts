/**
 * Accounts for pages that the reading thread hands over in shared memory. V8 does not count shared memory as garbage of an isolate,
 * which saves a full collection every few megabytes of catch-up; what is not counted must be bounded here.
 */
import type { LogPage } from './log-page.ts'

/** Bytes of shared pages that may be alive in this thread. Pages beyond it are transferred, and so counted by V8. */
export const SHARED_BYTES_MAX = 32 * 1024 * 1024

export class SharedPages {
  #bytes = 0
  readonly #collected = new FinalizationRegistry<number>((bytes) => (this.#bytes -= bytes))

  get hasRoom(): boolean {
    return this.#bytes < SHARED_BYTES_MAX
  }

  /** A page has come: its bytes count until they are collected. */
  add({ slice }: LogPage): void {
    const buffer = slice?.bytes.buffer
    if (!(buffer instanceof SharedArrayBuffer)) return
    this.#bytes += buffer.byteLength
    this.#collected.register(buffer, buffer.byteLength)
  }
}

/** The bytes in shared memory of their own. */
export function inSharedMemory(bytes: Uint8Array): Uint8Array {
  const shared = new Uint8Array(new SharedArrayBuffer(bytes.length))
  shared.set(bytes)
  return shared
}
