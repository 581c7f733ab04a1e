/** What the bench says to its processes, and what they answer. One question at a time for each process. */
import type { Work } from './agent.ts'

export type ServerCommand =
  | { readonly kind: 'usage' }
  /** Lets the agents go, once so many runs have started. */
  | { readonly kind: 'go'; readonly runs: number }
  | { readonly kind: 'collect garbage' }
  | { readonly kind: 'stop' }

/** What a process has used since it started. */
export interface Usage {
  /** Of the whole process, every thread. */
  readonly cpuMicros: number
  readonly mainThreadMicros: number
  readonly rssBytes: number
}

export interface Load {
  readonly runs: number
  /** More than one: they follow a run that was started apart. */
  readonly subscribersPerRun: number
  /** A plain server, too, is to keep the events for a later reader. */
  readonly keep?: boolean
  /** What a run said is told once more in its result: an event that comes again is no fault. */
  readonly retold?: boolean
  readonly work: Work
}

export type ClientCommand =
  /** Starts the runs and connects the subscribers; answered, with the runs started apart, when every stream has begun. */
  | { readonly kind: 'open'; readonly port: number; readonly load: Load; readonly followPort?: number }
  /** Answered when every stream has ended. */
  | { readonly kind: 'finish'; readonly timeoutMs: number }
  /** Reads the whole log of a finished run, on a fresh connection. */
  | { readonly kind: 'catch up'; readonly port: number; readonly run: string; readonly events: number }
  | { readonly kind: 'close' }

export interface Delivered {
  readonly deliveries: number
  /** Events that never came, came again, or came after a later one. */
  readonly lost: number
  readonly repeated: number
  /** Of the client. */
  readonly cpuMicros: number
  readonly p50Ms: number
  readonly p99Ms: number
}

export type Reply<Value> = { readonly value: Value } | { readonly error: string }
