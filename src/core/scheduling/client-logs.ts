/**
 * Logs that clients write: runs that no component executes, paused between two appends. An append claims its run, decides from the
 * log, writes, and releases the run again, on any node (LOG-4). Appends that wait for the same claim share it.
 */
import type { Access } from '../access/access.ts'
import type { PrincipalQuotas } from '../access/principal-quotas.ts'
import { notAccepted } from '../access/unverified-callers.ts'
import type { ViewCache, ViewKind } from '../delivery/view-cache.ts'
import { SESSIONS } from '../model/document.ts'
import { HoldfastError } from '../model/errors.ts'
import type { Event } from '../model/event.ts'
import { ownerKey, type Principal } from '../model/principal.ts'
import { isFinished } from '../model/run.ts'
import type { RunLog } from '../execution/run-log.ts'
import type { NodeDeps } from '../node-deps.ts'
import type { Projection } from '../ports/projection.ts'
import type { CreateResult, StoredRun } from '../ports/store.ts'
import { claimPaused } from './claim-paused.ts'
import { CreationTime } from './creation-time.ts'
import type { Dispatcher } from './dispatcher.ts'
import { loadExecution } from './load-execution.ts'

interface ClientLogDraft {
  /** Component name for scopes and listings. Not a registered component. */
  readonly component: string
  /** Identifies the log among the logs of its owner. */
  readonly key: string
  readonly metadata: Readonly<Record<string, unknown>>
  readonly protocol: string
}

interface Decision<Result> {
  /** Appended all together, or not at all. */
  readonly events: readonly Event[]
  /** Returned to the writer once the events are durable. */
  readonly result: Result
  /** The event to append if redaction changed it. Throws to refuse. Default: the redacted event. */
  readonly afterRedaction?: (redacted: Event, given: Event) => Event
}

/** Decides the append from the state. Throws to refuse. */
type Decide<State, Result> = (state: State, next: number) => Decision<Result>

interface Pending {
  readonly bytes: number
  readonly decide: Decide<never, unknown>
  readonly resolve: (result: unknown) => void
  readonly reject: (cause: unknown) => void
}

interface ClientLogsParts {
  readonly deps: NodeDeps
  readonly dispatcher: Dispatcher
  readonly access: Access
  readonly quotas: PrincipalQuotas
  readonly views: ViewCache
}

/** Maximum appends to one log that wait on this node. */
export const PENDING_MAX = 1000
/** Maximum bytes of one owner's appends that wait on this node, in memory. */
export const PENDING_BYTES_MAX = 32 * 1024 * 1024
/** Maximum appends under one claim, which must end before its lease expires, and their bytes. */
const BATCH_MAX = 100
const BATCH_BYTES_MAX = 8 * 1024 * 1024

export type ClientLogCommands = Pick<ClientLogs, 'permitCreate' | 'create' | 'append' | 'remove'>

export class ClientLogs {
  readonly #parts: ClientLogsParts
  readonly #created: CreationTime
  readonly #pending = new Map<string, Pending[]>()
  /** Bytes of waiting appends, by owner. */
  readonly #pendingBytes = new Map<string, number>()

  constructor(parts: ClientLogsParts) {
    this.#parts = parts
    this.#created = new CreationTime(parts.deps.store, parts.deps.clock)
  }

  /** Throws if the caller may not create such logs. */
  async permitCreate(principal: Principal, component: string): Promise<void> {
    await this.#parts.access.requireStart(principal, component)
    // No upstream checks the credential of a client-written log, so an invented one would never be detected.
    if (principal.unverified !== undefined) throw notAccepted()
  }

  /** Creates an empty log, as a paused run. */
  async create(principal: Principal, draft: ClientLogDraft): Promise<CreateResult> {
    const { deps, dispatcher, quotas } = this.#parts
    await this.permitCreate(principal, draft.component)
    const owner = ownerKey(principal)
    const { draftRun, RunLog } = await loadExecution()
    const { component, key: idempotencyKey, metadata, protocol } = draft
    const request = { component, input: null, metadata, protocol, idempotencyKey, session: idempotencyKey }
    const unexecuted = { id: component, kind: 'agent', run: () => [] } as const
    const run = await draftRun(deps, await this.#created.next(), owner, unexecuted as never, request, 'parallel')
    quotas.takeStart(owner)
    await quotas.storeRun(owner, run.record.length)
    const created = await deps.store.create({
      ...run,
      claim: { worker: dispatcher.worker, ttlMs: deps.limits.leaseMs },
    })
    if (created.kind !== 'created') return created
    const log = new RunLog(deps, created.stored)
    log.append({ type: 'run.started', data: { attempt: 1 } })
    log.append({ type: 'run.paused', data: { questions: [] } })
    await log.flush()
    return { kind: 'created', stored: (await deps.store.get(run.run.id))! }
  }

  /** Decides from the view of the log and appends. Resolves when that is durable. `bytes`: size of the append, for quotas. */
  async append<State, Result>(
    principal: Principal,
    id: string,
    kind: ViewKind<State, never>,
    { bytes, decide }: { readonly bytes: number; readonly decide: Decide<State, Result> },
  ): Promise<Result> {
    const { access, quotas } = this.#parts
    const { run } = await access.own(principal, id, 'answer')
    if (bytes > 0) await quotas.storeRun(run.owner, bytes)
    const waiting = this.#pending.get(id)
    const waitingBytes = this.#pendingBytes.get(run.owner) ?? 0
    if ((waiting?.length ?? 0) >= PENDING_MAX || (waitingBytes > 0 && waitingBytes + bytes > PENDING_BYTES_MAX)) {
      const retryAfterMs = this.#parts.deps.limits.retryDelayMs
      throw new HoldfastError('rate_limited', `too many appends to stream ${id} are pending: retry later`, {
        retryAfterMs,
      })
    }
    this.#countPending(run.owner, bytes)
    try {
      return await new Promise((resolve, reject) => {
        const pending = { bytes, decide, resolve, reject } as unknown as Pending
        if (waiting !== undefined) return void waiting.push(pending)
        this.#pending.set(id, [pending])
        void this.#appendAll(id, kind as unknown as ViewKind<never, never>)
      })
    } finally {
      this.#countPending(run.owner, -bytes)
    }
  }

  #countPending(owner: string, bytes: number): void {
    const waiting = (this.#pendingBytes.get(owner) ?? 0) + bytes
    if (waiting > 0) this.#pendingBytes.set(owner, waiting)
    else this.#pendingBytes.delete(owner)
  }

  async #appendAll(id: string, kind: ViewKind<never, never>): Promise<void> {
    const waiting = this.#pending.get(id)!
    while (waiting.length > 0) {
      const batch = waiting.splice(0, batchLength(waiting))
      try {
        await this.#appendBatch(id, kind, batch)
      } catch (cause) {
        for (const { reject } of batch) reject(cause)
      }
    }
    this.#pending.delete(id)
  }

  /** A closed log is not claimed. `decide` may then only report its state, not append. */
  async #appendBatch(id: string, kind: ViewKind<never, never>, batch: readonly Pending[]): Promise<void> {
    const { deps, views } = this.#parts
    const { RunLog, refusalOf } = await loadExecution()
    const claimed = await this.#claim(id)
    const holds = !isFinished(claimed.run.status)
    try {
      const view = views.open(claimed, kind)
      let { state } = await view.current(claimed.next)
      const log = holds ? new RunLog(deps, claimed) : undefined
      const settle: (() => void)[] = []
      for (const { decide, resolve, reject } of batch) {
        try {
          const decision = decide(state, log?.next ?? claimed.next)
          if (decision.events.length > 0) {
            if (log === undefined) throw ended(id)
            state = appendDecided(log, decision, state, kind.projection)
          }
          settle.push(() => resolve(decision.result))
        } catch (cause) {
          settle.push(() => reject(cause))
        }
      }
      await log?.flush().catch((cause: unknown) => {
        throw refusalOf(cause)
      })
      for (const done of settle) done()
    } finally {
      // A lease that cannot be released expires by itself.
      if (holds)
        await deps.store.release(id, claimed.epoch).catch((cause: unknown) => {
          deps.logger.debug({ run: id, err: cause }, 'failed to release a lease')
        })
    }
  }

  /** Ends a log in any state, and removes it. */
  async remove(principal: Principal, id: string, reason: string): Promise<void> {
    const { deps, access } = this.#parts
    await access.own(principal, id, 'remove')
    const claimed = await this.#claim(id)
    if (!isFinished(claimed.run.status)) {
      const { RunLog } = await loadExecution()
      const log = new RunLog(deps, claimed)
      log.append({ type: 'run.cancelled', data: { reason } })
      await log.flush()
    }
    await deps.store.remove(id)
    this.#parts.views.drop((run) => run.id === id)
    await this.#removeSession(claimed.run)
  }

  /** Each log has its own session. */
  async #removeSession({ owner, session }: StoredRun['run']): Promise<void> {
    const { store } = this.#parts.deps
    const { runs } = await store.list({ owner, session, limit: 1 })
    if (runs.length === 0) await store.documents.remove(owner, SESSIONS, session)
  }

  /** The run, claimed unless it has ended. */
  async #claim(id: string): Promise<StoredRun> {
    const { deps, dispatcher } = this.#parts
    let finished = false
    const check = ({ status }: StoredRun['run']): void => {
      finished = isFinished(status)
      if (finished) throw ended(id)
    }
    try {
      return await claimPaused(deps, {
        id,
        worker: dispatcher.worker,
        mayTakeOver: () => dispatcher.mayTakeOver,
        check,
      })
    } catch (cause) {
      const stored = finished ? await deps.store.get(id) : undefined
      if (stored === undefined) throw cause
      return stored
    }
  }
}

function batchLength(waiting: readonly Pending[]): number {
  let bytes = 0
  const end = waiting.findIndex((pending) => (bytes += pending.bytes) > BATCH_BYTES_MAX)
  return Math.min(end < 0 ? waiting.length : Math.max(end, 1), BATCH_MAX)
}

/** Returns the state after the events as the log has them. */
function appendDecided<State>(
  log: RunLog,
  { events, afterRedaction = (event) => event }: Decision<unknown>,
  before: State,
  projection: Projection<State, unknown>,
): State {
  const appended = events.map((event) =>
    log.redaction === undefined ? event : afterRedaction(log.redact(event), event),
  )
  let state = before
  for (const [at, event] of appended.entries())
    state = projection.apply(state, { ...event, run: log.run.id, index: log.next + at, time: '' }).state
  log.appendTogether(appended)
  return state
}

function ended(id: string): HoldfastError {
  return new HoldfastError('conflict', `stream ${id} is closed and accepts no more data`)
}
