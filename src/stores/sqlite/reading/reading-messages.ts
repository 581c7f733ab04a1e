/** Messages between the store and its reading thread. */
import type { ErrorCode } from '../../../core/model/errors.ts'
import type { Readings } from './readings.ts'

/** The first message of the thread, before it has touched the file. */
export const READY = 'ready'

export interface ReadingRequest {
  readonly name: keyof Readings
  readonly args: readonly unknown[]
  /** Shared memory for the bytes of a page. Larger pages are transferred. */
  readonly into?: SharedArrayBuffer
}

export interface ReadingFault {
  /** Code of an error that is meant for clients. */
  readonly code?: ErrorCode
  readonly message: string
  readonly details?: Readonly<Record<string, unknown>>
}

export type Reading =
  /** `shared`: number of bytes at the start of `into` that are the page. */
  { readonly result: unknown; readonly shared?: number } | { readonly fault: ReadingFault }

/** One per request, in the same order. */
export type ReadingReply = readonly Reading[]
