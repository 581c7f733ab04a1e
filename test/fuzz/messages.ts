/** Messages between a fuzzed server and its parent. */

/** The credential of the fuzzed server. */
export const KEY = 'open-sesame-0123456789'

export interface FuzzedRoute {
  readonly protocol: string
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
}

export interface Ready {
  readonly url: string
  readonly grpc: string
  readonly routes: readonly FuzzedRoute[]
  readonly sockets: readonly string[]
}

/** Starts a measurement; ends it and requests the result. */
export type ToProgram = 'begin' | 'end'

export interface Measured {
  /** CPU time of the longest tick of the event loop. */
  readonly longestMs: number
  /** Logged as errors. */
  readonly errors: readonly string[]
}
