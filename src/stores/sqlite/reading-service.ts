/** Answers read requests in a thread, through a connection of its own that the first request opens. */
import { isMarkedAsUntransferable } from 'node:worker_threads'
import { isHoldfastError, messageOf } from '../../core/model/errors.ts'
import type { LogPage } from './log-page.ts'
import { Reader } from './reader.ts'
import type { Reading, ReadingFault, ReadingReply, ReadingRequest } from './reading-messages.ts'
import { readingsOf } from './readings.ts'
import { inSharedMemory } from './shared-pages.ts'

export class ReadingService {
  readonly #path: string
  #reader: Reader | undefined
  #readings: Record<string, (...args: never[]) => unknown> | undefined

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

  #read({ name, args, mayShare }: ReadingRequest, moved: ArrayBuffer[]): Reading {
    try {
      this.open()
      const result = this.#readings![name]!(...(args as never[]))
      return { result: name === 'page' ? handedOver(result as LogPage, mayShare ? undefined : moved) : result }
    } catch (cause) {
      return { fault: faultOf(cause) }
    }
  }
}

/** Prepares a page for hand-over: copied to shared memory, or added to `moved` for transfer. */
function handedOver(page: LogPage, moved: ArrayBuffer[] | undefined): LogPage {
  const { slice } = page
  if (slice === undefined) return page
  const bytes = moved === undefined ? inSharedMemory(slice.bytes) : transferable(slice.bytes)
  moved?.push(bytes.buffer as ArrayBuffer)
  return { ...page, slice: { ...slice, bytes } }
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
