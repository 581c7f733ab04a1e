/** The audit log: who did what to which run, from where, and with what result. It contains no secrets and no content of runs. */
import type { Clock } from '../ports/clock.ts'
import { type ErrorCode, isHoldfastError } from '../model/errors.ts'
import { ownerKey, type Principal } from '../model/principal.ts'

export type AuditAction =
  | 'authenticate'
  | 'start'
  | 'answer'
  | 'append'
  | 'stop'
  | 'remove'
  | 'remove session'
  | 'read'
  | 'share'
  | 'revoke share'
  | 'forget'
  | 'forget (dry run)'
  | 'pass'

/** One entry of the audit log: who did what to which run, from where, and with what result. */
export interface AuditEntry {
  /** ISO time. */
  readonly at: string
  readonly action: AuditAction
  /** Owner of the runs concerned; absent if a credential was rejected. */
  readonly principal?: string
  /** Id of the credential that was presented, a key or a share link; never the secret. */
  readonly credential?: string
  /** Address of the client, or of the proxy before it. */
  readonly from?: string
  readonly run?: string
  readonly component?: string
  readonly session?: string
  /** The principal that was forgotten. */
  readonly subject?: string
  /** Name of the upstream that a request was passed to. */
  readonly upstream?: string
  /** Its method, and its path without the query, which may hold secrets. */
  readonly request?: string
  /** HTTP status of the upstream's response. */
  readonly status?: number
  readonly result: 'ok' | ErrorCode
}

export type AuditSink = (entry: AuditEntry) => void

export type AuditTarget = Omit<AuditEntry, 'at' | 'action' | 'principal' | 'credential' | 'from' | 'result'>

export class Audit {
  readonly #clock: Clock
  readonly #sinks: readonly AuditSink[]

  constructor(clock: Clock, sinks: readonly AuditSink[]) {
    this.#clock = clock
    this.#sinks = sinks
  }

  /** Executes `work` and records its result. `found` adds the fields that only the result tells. */
  async around<Result>(
    principal: Principal,
    action: AuditAction,
    target: AuditTarget,
    work: () => Promise<Result>,
    found: (result: Result) => AuditTarget = () => ({}),
  ): Promise<Result> {
    try {
      const result = await work()
      this.#record({ action, ...principalFields(principal), ...target, ...found(result), result: 'ok' })
      return result
    } catch (cause) {
      this.#record({
        action,
        ...principalFields(principal),
        ...target,
        result: isHoldfastError(cause) ? cause.code : 'internal',
      })
      throw cause
    }
  }

  /** Records a rejected credential. */
  refused(from: string | undefined, cause: unknown): void {
    const result = isHoldfastError(cause) ? cause.code : 'internal'
    this.#record({ action: 'authenticate', ...(from !== undefined && { from }), result })
  }

  #record(entry: Omit<AuditEntry, 'at'>): void {
    const stamped: AuditEntry = { at: new Date(this.#clock.now()).toISOString(), ...entry }
    for (const sink of this.#sinks) {
      try {
        sink(stamped)
      } catch {
        // A listener must not affect the command.
      }
    }
  }
}

function principalFields(principal: Principal): Pick<AuditEntry, 'principal' | 'credential' | 'from'> {
  const { credential, from } = principal
  return {
    principal: ownerKey(principal),
    ...(credential?.id !== undefined && { credential: credential.id }),
    ...(from !== undefined && { from }),
  }
}
