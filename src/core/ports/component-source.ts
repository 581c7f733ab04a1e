/** A source of components that are discovered at run time, such as those of another server. */
import type { CallerCredential } from '../model/caller-credential.ts'
import type { Run } from '../model/run.ts'
import type { Component } from './component.ts'

/** A source of components that are discovered at run time, such as those of another server. */
export interface ComponentSource {
  /** Name in health reports, logs and errors. */
  readonly name: string
  readonly protocol: string
  readonly url: string
  /** Interval between successful discoveries. */
  readonly discoveryIntervalMs: number
  /** Current load and other facts for health reports. Default: none. */
  readonly load?: SourceLoad
  /** Passthrough configuration of the source. Default: nothing is passed through. */
  readonly passthrough?: Passthrough | undefined
  /** Its components send the caller's credential. Default: false. */
  readonly forwardsCredentials?: boolean
  /** Called once, before anything else. */
  attach?(host: SourceHost): void
  /** Discovers all components. Rejects if the source cannot be reached. Unchanged components are the same objects. */
  discover(signal: AbortSignal): Promise<readonly Component[]>
}

/** How requests are passed through to a source. */
export interface Passthrough {
  /** Base URL; nothing outside of it can be reached. */
  readonly url: string
  /** Also pass through paths at the root that this server does not serve itself. */
  readonly atRoot: boolean
  /** Headers that replace the caller's credential. Undefined: the caller's credential is forwarded. */
  headers?(): Promise<Readonly<Record<string, string>>>
}

/** What a server does for a source. */
export interface SourceHost {
  /** The credential that a run was started with; undefined if it was not kept. */
  credentialOf(run: Pick<Run, 'id' | 'owner'>): Promise<CallerCredential | undefined>
  /** Reports whether an upstream accepted that credential. Callers are limited by their address until one does. Await it before any output. */
  onVerdict?(run: Pick<Run, 'id' | 'owner'>, decision: 'accepted' | 'refused'): Promise<void> | void
}

/** A component, or a source of components. */
export type ComponentOrSource = Component | ComponentSource

export function componentsIn(served: readonly ComponentOrSource[]): readonly Component[] {
  return served.filter((each): each is Component => !isComponentSource(each))
}

export function sourcesIn(served: readonly ComponentOrSource[]): readonly ComponentSource[] {
  return served.filter((each) => isComponentSource(each))
}

function isComponentSource(given: ComponentOrSource): given is ComponentSource {
  return typeof (given as Partial<ComponentSource>).discover === 'function'
}

/** Current limits and load of a source. */
export interface SourceLoad {
  /** State of the circuit breaker. `circuits`: per replica. */
  readonly circuit: 'closed' | 'open' | 'half-open'
  readonly circuits: readonly ('closed' | 'open' | 'half-open')[]
  /** Runs that the source executes, and runs that wait for a slot. */
  readonly running: number
  readonly queued: number
  /** Maximum of `running`. Default: no limit. */
  readonly concurrency?: number
  /** Counts since the start: refused runs, repeated requests, and requests sent to another replica. */
  readonly refused: number
  readonly retried: number
  readonly failedOver: number
}

/** The last discovery of a source, and its load. */
export interface SourceHealth {
  readonly name: string
  readonly protocol: string
  readonly url: string
  readonly status: 'unknown' | 'ok' | 'unreachable' | 'conflict'
  /** Number of components that it serves here. */
  readonly components: number
  /** Since when it has this status. */
  readonly since: string
  readonly error?: string
  readonly load?: SourceLoad
}
