/** Messages between the processes of an abuse run. */

export interface AbusedServer {
  readonly url: string
  readonly grpc: string
  /** Credentials of the honest client and of a hostile principal. */
  readonly honestKey: string
  readonly hostileKey: string
}

export interface MemorySample {
  readonly rssBytes: number
}

export interface HostileJob {
  readonly server: AbusedServer
  /** Log of a run that stalled readers open. */
  readonly largeRun: string
  readonly connections: number
  /** Requests per second of all floods together. */
  readonly floodPerSecond: number
}

export interface HostileReport {
  /** Opened connections by attack; those that the server ended are opened again. */
  readonly opened: Readonly<Record<string, number>>
  readonly bytesSent: number
}
