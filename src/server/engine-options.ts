/** Options of an engine, which `createServer()` and `holdfast()` share. */
import type { AuditSink } from '../core/access/audit.ts'
import type { Limits } from '../core/model/limits.ts'
import type { Authenticator } from '../core/model/principal.ts'
import type { Clock, Ids } from '../core/ports/clock.ts'
import type { ComponentOrSource } from '../core/ports/component-source.ts'
import type { Logger } from '../core/ports/logger.ts'
import type { Store } from '../core/ports/store.ts'
import type { RedactOptions } from '../core/redaction/redaction.ts'
import type { A2aOptions } from '../protocols/a2a/index.ts'
import type { Authenticate } from './auth/host.ts'
import type { AuthOptions } from './auth/index.ts'
import type { ProtocolChoice } from './protocols/protocol-paths.ts'
import type { RetentionOptions } from './retention/retention.ts'

/** Where webhooks of Durable Streams subscriptions may go. `false`: nowhere. */
export type StreamWebhooks = boolean | { readonly loopback?: boolean }

/** Options that `createServer()` and `holdfast()` share. */
export interface EngineOptions {
  /** Components, and sources of more, such as `upstream.agentos(url)`. */
  readonly components: readonly ComponentOrSource[]
  /** Closed by `close`. */
  readonly store: Store
  /**
   * Protocols to serve, as a list or with their paths: `{ native: '/', openai: '/openai/v1' }`. Other protocols have no paths, and
   * their code is not loaded. Default: all.
   */
  readonly protocols?: ProtocolChoice
  /** Path below which everything is served, such as `/api/agents`. Default: the root. */
  readonly basePath?: string
  /** Returns the principal of a request, by the application's own authentication. Called before `auth`; if it returns null, `auth` decides. Default: only `auth` decides. */
  readonly authenticate?: Authenticate
  /** Credentials that Holdfast checks: API keys, JWTs, one shared key; or an authenticator of your own. Called after `authenticate`, if that returns null. Default: everyone is one local principal; with `authenticate`, the request is refused. */
  readonly auth?: AuthOptions | Authenticator
  /** Receives every audit entry. With authentication, entries are also written to the logger. Default: none. */
  readonly audit?: AuditSink
  /** Origins whose pages may use the server from a browser. Default: none. */
  readonly corsOrigins?: readonly string[]
  /** Also allow pages served from localhost, 127.0.0.1 or [::1], on any port. Default: false; `holdfast dev` sets it. */
  readonly corsLoopback?: boolean
  /**
   * Keys that encrypt stored credentials: 32 random bytes each, in hex or base64. The first encrypts, all decrypt. Every node of a
   * shared store needs the same. Default: none, and webhook credentials are rejected; a store in memory gets a random key.
   */
  readonly secretKeys?: readonly string[]
  /** Accepted host names besides loopback names and IP addresses. Default: any if authentication is required. */
  readonly allowedHosts?: readonly string[]
  /** Proxies whose `X-Forwarded-*` headers are trusted: addresses, networks, `loopback` or `private`. Default: none. */
  readonly trustProxy?: readonly string[]
  /** Options of the A2A protocol. Default: as `A2aOptions` says. */
  readonly a2a?: A2aOptions
  /** Webhooks of Durable Streams subscriptions: to public addresses, and to this machine with `loopback`. Default: none. */
  readonly streamWebhooks?: StreamWebhooks
  /** Whether a supervisor restarts the process when it dies. Only shown in the console. Default: false. */
  readonly supervised?: boolean
  /** Limits that differ from the defaults. Default: as `Limits` says. */
  readonly limits?: Partial<Limits>
  /** Retention periods per component, tenant or principal that override those of `limits`. Default: none. */
  readonly retention?: RetentionOptions
  /**
   * Redacts events before they are appended to a log, and documents. Every node of a shared store needs the same. Default: nothing.
   */
  readonly redact?: RedactOptions
  /** Receives log lines. Default: silent; `holdfast()` prints warnings and errors. */
  readonly logger?: Logger
  /** For tests. Default: the system clock. */
  readonly clock?: Clock
  /** For tests. Default: random ids that sort by creation. */
  readonly ids?: Ids
  /**
   * An uncaught error in a run's code fails the run instead of ending the process. Errors of other code keep Node's behaviour.
   * Default: true.
   */
  readonly handleUncaught?: boolean
}
