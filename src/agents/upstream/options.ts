/** Options that all upstreams share. */
import {
  aBoolean,
  aCount,
  aList,
  anAmount,
  headersRule,
  aString,
  oneOf,
  type OptionRules,
  optionsOf,
} from '../../core/model/check-options.ts'
import { componentRules } from '../../core/schema/component-options.ts'
import type { DisconnectPolicy } from '../../core/ports/component.ts'
import type { CircuitBreakerOptions } from '../shared/circuit-breaker.ts'
import type { CommonDefinition } from '../shared/component.ts'
import type { HeaderSource } from '../../client/header-source.ts'

/** Options that all upstreams share. */
export interface UpstreamOptions extends Pick<CommonDefinition, 'redact' | 'limits' | 'onBusySession'> {
  /** Name in health reports, errors and logs. Default: the protocol. */
  readonly name?: string
  /** Prefix of the id of every component, for upstreams with the same ids. Default: none. */
  readonly prefix?: string
  /** Headers of every request to the upstream, such as its key, or a function that is called for each request. Default: none. */
  readonly headers?: HeaderSource
  /**
   * Send the credential of the caller who started a run, as `Authorization: Bearer`. Needs `auth: { passthrough: true }`. Discovery uses
   * `headers`. Default: false.
   */
  readonly forwardCredential?: boolean
  /** Interval of discovery. Default: 30,000. */
  readonly discoveryIntervalMs?: number
  /**
   * What happens to a run when the client that started it disconnects, in protocols where starting and following are one request.
   * `stop` also cancels it upstream. Default: `continue`.
   */
  readonly onDisconnect?: DisconnectPolicy
  /**
   * How long an upstream may send nothing before Holdfast reconnects to the run or, if it cannot, fails it with `upstream_idle`.
   * Default: 120,000.
   */
  readonly idleTimeoutMs?: number
  /** Timeout until a response starts. Default: 30,000; for chat completions 120,000. */
  readonly requestTimeoutMs?: number
  /**
   * Forward other requests: `prefix` under `/upstream/{name}/…`; `root` also at the root, for paths that Holdfast does not serve.
   * Default: nothing is forwarded.
   */
  readonly passthrough?: 'prefix' | 'root'
  /**
   * Base URLs of further replicas of the same server. A session prefers one of them, and fails over to the next if that one fails
   * before it responds. Default: none.
   */
  readonly replicas?: readonly string[]
  /** Maximum runs that the upstream executes concurrently for this node. Default: no limit. */
  readonly maxConcurrentRuns?: number
  /** Maximum queued runs when `maxConcurrentRuns` is reached; further starts are refused. Default: 1,000. */
  readonly maxQueuedRuns?: number
  /** Maximum time in that queue. After that the run fails. Default: 60,000. */
  readonly queueTimeoutMs?: number
  /** When a failing replica gets no requests for a while. Default: after 5 consecutive failures, for 10,000 ms. */
  readonly circuitBreaker?: CircuitBreakerOptions
}

const breakerRules: OptionRules<CircuitBreakerOptions> = { failureThreshold: anAmount, resetTimeoutMs: anAmount }

export const upstreamRules: OptionRules<UpstreamOptions> = {
  name: aString,
  prefix: aString,
  headers: headersRule,
  forwardCredential: aBoolean,
  discoveryIntervalMs: anAmount,
  onDisconnect: componentRules.onDisconnect,
  idleTimeoutMs: anAmount,
  requestTimeoutMs: anAmount,
  redact: componentRules.redact,
  limits: componentRules.limits,
  onBusySession: componentRules.onBusySession,
  passthrough: oneOf('prefix', 'root'),
  replicas: aList,
  maxConcurrentRuns: aCount,
  maxQueuedRuns: anAmount,
  queueTimeoutMs: anAmount,
  circuitBreaker: optionsOf(breakerRules),
}
