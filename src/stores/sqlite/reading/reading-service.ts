/** Serves read requests in a thread, through a connection of its own that the first request opens. */
import { isMarkedAsUntransferable } from 'node:worker_threads'
import { isHoldfastError, messageOf } from '../../../core/model/errors.ts'
import type { Allocate, LogPage, PageRequest } from './log-page.ts'
import { Reader } from './reader.ts'
import type { Reading, ReadingFault, ReadingReply, ReadingRequest } from './reading-messages.ts'
import { type Readings, readingsOf } from './readings.ts'

/** Smaller pages are transferred: they need less memory than a shared buffer. */
const SHARED_BYTES_MIN = 16 * 1024
const NO_BYTES = new Uint8Array(0)

export class ReadingService {
  readonly #path: string
  #reader: Reader | undefined
  #readings: Readings | undefined

  constructor(path: string) {
    this.#path = path
  }

  /** Opens the file, unless it is open. */
  open(): void {
    this.#readings ??= readingsOf((this.#reader = new Reader(this.#path)))
  }

  /** `moved` gets the buffers to transfer with the reply. */
  answer(requests: readonly ReadingRequest[], moved: ArrayBuffer[]): ReadingReply {
    return requests.map((request) => this.#read(request, moved))
  }

  close(): void {
    this.#reader?.close()
  }

  #read({ name, args, into }: ReadingRequest, moved: ArrayBuffer[]): Reading {
    try {
      this.open()
      if (name === 'page')
        return pageReading(this.#readings!.page(args[0] as PageRequest, allocateIn(into)), into, moved)
      return { result: (this.#readings![name] as (...args: readonly unknown[]) => unknown)(...args) }
    } catch (cause) {
      return { fault: faultOf(cause) }
    }
  }
}

function allocateIn(into: SharedArrayBuffer | undefined): Allocate | undefined {
  if (into === undefined) return undefined
  return (bytes) => (bytes >= SHARED_BYTES_MIN && bytes <= into.byteLength ? new Uint8Array(into, 0, bytes) : undefined)
}

/** Hands a page over: its bytes are in shared memory already, or are transferred. */
function pageReading(page: LogPage, into: SharedArrayBuffer | undefined, moved: ArrayBuffer[]): Reading {
  const { slice } = page
  if (slice === undefined) return { result: page }
  const isShared = into !== undefined && slice.bytes.buffer === into
  const bytes = isShared ? NO_BYTES : transferable(slice.bytes)
  if (!isShared) moved.push(bytes.buffer as ArrayBuffer)
  return { result: { ...page, slice: { ...slice, bytes } }, ...(isShared && { shared: slice.bytes.length }) }
}

/** Node keeps small buffers in a pool, which cannot be transferred. */
function transferable(bytes: Uint8Array): Uint8Array {
  return isMarkedAsUntransferable(bytes.buffer) ? new Uint8Array(bytes) : bytes
}

function faultOf(cause: unknown): ReadingFault {
  if (!isHoldfastError(cause)) return { message: messageOf(cause) }
  const { code, message, details } = cause
  return { code, message, ...(details !== undefined && { details }) }
}
