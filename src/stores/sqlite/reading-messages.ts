/** What the store and its reading thread say to each other. */
import type { ErrorCode } from '../../core/model/errors.ts'
import type { Readings } from './readings.ts'

/** The first message of the thread, before it has touched the file. */
export const READY = 'ready'

export interface ReadingRequest {
  readonly name: keyof Readings
  readonly args: readonly unknown[]
  /** A page may come in shared memory; otherwise its bytes are transferred. */
  readonly mayShare: boolean
}

export interface ReadingFault {
  /** Of an error that is meant for a client. */
  readonly code?: ErrorCode
  readonly message: string
  readonly details?: Readonly<Record<string, unknown>>
}

export type Reading = { readonly result: unknown } | { readonly fault: ReadingFault }

/** One for each request, in the same order. */
export type ReadingReply = readonly Reading[]
