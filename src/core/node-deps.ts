/** The dependencies that all parts of a node share. */
import type { CallerCredentials } from './access/caller-credentials.ts'
import type { Clock, Ids } from './ports/clock.ts'
import type { AsyncLocal, Enclosure } from './recovery/enclosure.ts'
import type { ExecutionTrace } from './ports/execution-trace.ts'
import type { Limits } from './model/limits.ts'
import type { Logger } from './ports/logger.ts'
import type { Redactor } from './redaction/redactor.ts'
import type { Registry } from './registry.ts'
import type { RunCounts } from './runtime/run-counts.ts'
import type { Store } from './ports/store.ts'

export interface NodeDeps {
  readonly store: Store
  readonly registry: Registry
  readonly limits: Limits
  readonly clock: Clock
  readonly ids: Ids
  readonly logger: Logger
  readonly digests: Digests
  readonly enclosures: AsyncLocal<Enclosure>
  /** The run whose code is executing, per async context. */
  readonly executions: AsyncLocal<ExecutionTrace>
  /** Credentials of callers, if upstreams get them. */
  readonly callerCredentials?: CallerCredentials
  /** For metrics. */
  readonly counts?: RunCounts
  /** Redaction rules of all components. Default: nothing is redacted. */
  readonly redactor?: Redactor
}

/** Keyed digest of a text. Reveals nothing about the text without the key. */
export type Digest = (text: string) => string

export interface Digests {
  /** Digest function of one run: equal in every attempt and on every node of its store, different for every run. */
  of(run: string): Promise<Digest>
}
