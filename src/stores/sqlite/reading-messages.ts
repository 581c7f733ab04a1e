/** Messages between the store and its reading thread. */
import type { ErrorCode } from '../../core/model/errors.ts'
import type { Readings } from './readings.ts'

/** The first message of the thread, before it has touched the file. */
export const READY = 'ready'

export interface ReadingRequest {
  readonly name: keyof Readings
  readonly args: readonly unknown[]
  /** The page may be in shared memory; otherwise its bytes are transferred. */
  readonly mayShare: boolean
}

export interface ReadingFault {
  /** Code of an error that is meant for clients. */
  readonly code?: ErrorCode
  readonly message: string
  readonly details?: Readonly<Record<string, unknown>>
}

export type Reading = { readonly result: unknown } | { readonly fault: ReadingFault }

/** One per request, in the same order. */
export type ReadingReply = readonly Reading[]
