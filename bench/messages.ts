/** Messages between the bench and its processes, one request at a time per process. */
import type { Work } from './agent.ts'

export type ServerCommand =
  | { readonly kind: 'usage' }
  /** Releases the agents once this many runs have started. */
  | { readonly kind: 'go'; readonly runs: number }
  | { readonly kind: 'collect garbage' }
  | { readonly kind: 'stop' }

/** Resource usage of a process since its start. */
export interface Usage {
  /** All threads. */
  readonly cpuMicros: number
  readonly mainThreadMicros: number
  readonly rssBytes: number
}

/** The protocols by which a run can be followed. */
export type FollowProtocol = 'native' | 'agentos' | 'responses' | 'a2a'

/** The protocols by which a run can be started and streamed in one request. */
export type StartProtocol = 'native' | 'agentos' | 'chat' | 'ai-sdk' | 'a2a'

export interface Load {
  readonly runs: number
  /** Protocol of the subscribers to a separately started run. Default: native. */
  readonly protocol?: FollowProtocol
  /** Protocol of runs with one subscriber. Default: native. */
  readonly startProtocol?: StartProtocol
  /** If more than one, they follow a separately started run. */
  readonly subscribersPerRun: number
  /** A plain server keeps the events for later readers too. */
  readonly keep?: boolean
  /** The result repeats the text, so repeated events are expected. */
  readonly retold?: boolean
  readonly work: Work
}

export type ClientCommand =
  /** Starts the runs and connects the subscribers. The response, with separately started runs, comes when every stream has started. */
  | { readonly kind: 'open'; readonly port: number; readonly load: Load; readonly followPort?: number }
  /** The response comes when every stream has ended. */
  | { readonly kind: 'finish'; readonly timeoutMs: number }
  /** Reads the complete log of a finished run on a new connection. */
  | { readonly kind: 'catch up'; readonly port: number; readonly run: string; readonly events: number }
  | { readonly kind: 'resume'; readonly port: number; readonly resume: Resume }
  | { readonly kind: 'close' }

/** Subscribers that join an open run after an event, and leave when they have what they missed. */
export interface Resume {
  readonly run: string
  readonly protocol: FollowProtocol
  /** Number of the first text that they get. */
  readonly from: number
  readonly to: number
  readonly subscribers: number
}

export interface Delivered {
  readonly deliveries: number
  /** Missing, repeated and out-of-order events. */
  readonly lost: number
  readonly repeated: number
  /** CPU of the client. */
  readonly cpuMicros: number
  readonly p50Ms: number
  readonly p99Ms: number
}

export type Reply<Value> = { readonly value: Value } | { readonly error: string }
