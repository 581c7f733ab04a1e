/**
 * The commands that protocols may call. Who calls comes with every one of them, and what is not the caller's does not exist
 * for it (SEC-1).
 */
import { Access } from './access/access.ts'
import type { Component } from './ports/component.ts'
import { validateAnswers } from './execution/validate-answers.ts'
import { claimPaused } from './scheduling/claim-paused.ts'
import type { CredentialWatch } from './access/credential-watch.ts'
import { assertReadable } from './model/cursor.ts'
import { Dispatcher } from './scheduling/dispatcher.ts'
import type { DocumentPage, DocumentQuery } from './model/document.ts'
import { HoldfastError, STORE_UNAVAILABLE } from './model/errors.ts'
import type { LoggedEvent } from './model/event.ts'
import type { EventLoopHealth } from './ports/event-loop-health.ts'
import { forgetOwner, type ForgetReport, type ForgetRequest } from './access/forget.ts'
import { defaultLimits, type Limits } from './model/limits.ts'
import { readLog } from './delivery/read-log.ts'
import { shareEventLoop } from './runtime/share-event-loop.ts'
import type { StartRequest } from './scheduling/draft-run.ts'
import { nextRecord } from './delivery/next-record.ts'
import { listWithin, OwnedDocuments } from './sessions/owned-documents.ts'
import type { NodeDeps } from './ports/node-deps.ts'
import { actorOf, type Authenticator, localOwner, ownerKey, type Principal } from './model/principal.ts'
import { PrincipalQuotas } from './access/principal-quotas.ts'
import { events, type Slice } from './model/record.ts'
import { type Redactor, redactorOf } from './redaction/redactor.ts'
import { encodeRequested, redactRequested } from './execution/encode-requested.ts'
import { isFinished, type Run, type RunStatus } from './model/run.ts'
import { removeSession } from './sessions/session-removal.ts'
import type { Share, ShareRequest, ShareLinks } from './access/share-links.ts'
import { type StartedRun, RunStarter } from './scheduling/run-starter.ts'
import type { RunPage, Store, StoredRun, StoreHealth } from './ports/store.ts'
import { StoreProbe } from './runtime/store-probe.ts'
import { ViewCache } from './delivery/view-cache.ts'
import { Feeds, type Sink, type Subscription } from './delivery/subscription.ts'

export type { StartedRun, StartRequest }

export interface ServiceOptions extends Omit<NodeDeps, 'limits'> {
  readonly limits?: Partial<Limits>
  /** Ends what revoked and expired credentials have open. */
  readonly credentials?: CredentialWatch
  /** How responsive the process is, where that is measured. */
  readonly eventLoop?: () => EventLoopHealth
  /** Share links; none can be made without it. */
  readonly shares?: ShareLinks
  /** Removes the credentials of a principal that are kept here, and says how many there were. */
  readonly removeCredentials?: Authenticator['removeCredentials']
}

/** The result of forgetting a principal. */
export interface ForgetResult extends ForgetReport {
  /** API keys removed, or to be removed. */
  readonly apiKeys: number
}

export interface ListRequest {
  readonly component?: string
  readonly session?: string
  readonly status?: readonly RunStatus[]
  readonly version?: string
  readonly after?: string
  readonly limit?: number
}

/** A run by its id, or as this service gave it a moment ago within the same request: then the store is not asked again. */
export type KnownRun = string | StoredRun

/** The outcome of a run as its log says it. */
export type RunOutcome = Extract<
  LoggedEvent,
  { type: 'run.completed' | 'run.failed' | 'run.cancelled' | 'run.rejected' }
>

export class Service {
  readonly limits: Limits
  /** Views of this node. Whoever opens one has been given its run by this service. */
  readonly views: ViewCache
  readonly #parts: NodeDeps
  readonly #store: Store
  readonly #dispatcher: Dispatcher
  readonly #quotas: PrincipalQuotas
  readonly #starts: RunStarter
  readonly #feeds: Feeds
  readonly #probe: StoreProbe
  readonly #access: Access
  /** Why the store was unavailable at the last health check, as logged. */
  #toldFailure: string | undefined
  readonly #eventLoop: (() => EventLoopHealth) | undefined
  readonly #shares: ShareLinks | undefined
  readonly #removeCredentials: NonNullable<Authenticator['removeCredentials']>
  /** Aborted once this service has drained. */
  readonly #closing = new AbortController()

  constructor(options: ServiceOptions) {
    this.limits = { ...defaultLimits, ...options.limits }
    this.#parts = { ...options, limits: this.limits }
    this.#store = options.store
    this.#quotas = new PrincipalQuotas(this.limits, options.store.usage, options.clock)
    this.#dispatcher = new Dispatcher(this.#parts, this.#quotas)
    this.#starts = new RunStarter(this.#parts, this.#dispatcher, this.#quotas, (claimed) => this.#execute(claimed))
    this.views = new ViewCache(options.store, this.limits)
    this.#feeds = new Feeds(options.store, this.limits, options.clock)
    this.#probe = new StoreProbe(this.#parts)
    this.#access = new Access(options, options.credentials)
    this.#eventLoop = options.eventLoop
    this.#shares = options.shares
    this.#removeCredentials = options.removeCredentials ?? (() => Promise.resolve(0))
  }

  /** Begins to execute runs, including those that a dead worker left. */
  begin(): void {
    this.#dispatcher.start()
  }

  /** Nothing more will come from here: what runs was finished or handed over. */
  get closed(): boolean {
    return this.#closing.signal.aborted
  }

  components(): readonly Component[] {
    return this.#parts.registry.list()
  }

  async start(principal: Principal, request: StartRequest): Promise<StartedRun> {
    this.#assertOpen()
    await this.#access.requireStart(principal, request.component)
    if (request.follows === true) this.#quotas.requireStream(actorOf(principal))
    return this.#starts.start(ownerKey(principal), request)
  }

  get(principal: Principal, id: string): Promise<StoredRun> {
    return this.#access.own(principal, id, 'read')
  }

  async list(principal: Principal, request: ListRequest = {}): Promise<RunPage> {
    await shareEventLoop()
    const { limit = 50, ...filters } = request
    const query = { ...filters, owner: ownerKey(principal), limit: Math.min(limit, this.limits.pageRunsMax) }
    return this.#access.list(principal, () => this.#store.list(query))
  }

  /** Asks for a stop, durably. The run as it is now comes back; a finished one is left as it is (RUN-2). */
  async stop(principal: Principal, id: string, reason?: string): Promise<StoredRun> {
    const { run } = await this.#access.own(principal, id, 'stop')
    const by = actorOf(principal)
    const at = new Date(this.#parts.clock.now()).toISOString()
    const why = { by, ...(reason !== undefined && { reason }) }
    const { data } = redactRequested({ type: 'stop.requested', data: why }, this.#redactorFor(run), this.limits)
    const kept = data.reason === undefined ? {} : { reason: data.reason }
    const stored = await this.#store.requestStop(id, { at, by, ...kept })
    if (stored === undefined) throw new HoldfastError('not_found', `no run ${id}`)
    return stored
  }

  /** Answers a paused run's questions and resumes it. */
  async answer(principal: Principal, known: KnownRun, answers: Readonly<Record<string, unknown>>): Promise<StoredRun> {
    this.#assertOpen()
    const { run } = await this.#access.ownKnown(principal, known, 'answer')
    const { id } = run
    const isServed = this.#parts.registry.find(run.component) !== undefined
    if (!isServed && !this.#dispatcher.isForOthers(run))
      throw new HoldfastError('unsupported', `component ${run.component} is not served here`)
    const continuation = { answers, by: actorOf(principal) }
    validateAnswers(run, answers)
    encodeRequested({ type: 'run.resumed', data: continuation }, this.limits)
    const claimed = await claimPaused(this.#parts, {
      id,
      owner: this.#dispatcher.owner,
      mayTakeOver: () => this.#dispatcher.mayTakeOver,
      check: (now) => validateAnswers(now, answers),
    })
    try {
      validateAnswers(claimed.run, answers) // what it asks may have changed in the meantime
    } catch (refusal) {
      // This node holds it now: still paused, or abandoned by the node that resumed it.
      if (claimed.run.status === 'paused') await this.#store.release(id, claimed.epoch)
      else this.#execute(claimed)
      throw refusal
    }
    await this.#dispatcher.take(claimed, continuation)
    return this.get(principal, id)
  }

  async remove(principal: Principal, id: string): Promise<void> {
    const { run } = await this.#access.own(principal, id, 'remove')
    await this.#store.remove(id)
    await this.#shares?.removeAll(run.owner, id)
  }

  /** Makes a link to one run. Only its owner may; a link cannot make links. */
  async share(
    principal: Principal,
    id: string,
    request: ShareRequest,
  ): Promise<{ readonly share: Share; readonly token: string }> {
    const { run } = await this.#access.own(principal, id, 'share')
    return this.#requireShares().create(run.owner, id, request)
  }

  async shares(principal: Principal, id: string): Promise<readonly Share[]> {
    const { run } = await this.#access.own(principal, id, 'share')
    return this.#requireShares().list(run.owner, id)
  }

  /** Ends a link, and within two seconds what it has open. */
  async revokeShare(principal: Principal, id: string, share: string): Promise<void> {
    const { run } = await this.#access.own(principal, id, 'share')
    if (!(await this.#requireShares().revoke(run.owner, id, share)))
      throw new HoldfastError('not_found', `run ${id} has no share link ${share.slice(0, 100)}`)
  }

  /** Removes a session that the caller has, with all its runs; those that have not ended are stopped first. */
  async removeSession(principal: Principal, session: string): Promise<void> {
    await this.#access.require(principal, 'remove')
    const owner = ownerKey(principal)
    const at = new Date(this.#parts.clock.now()).toISOString()
    await removeSession({
      store: this.#store,
      limits: this.limits,
      owner,
      session,
      stop: { at, by: owner, reason: 'its session is removed' },
      waitForMore: async (id, after, timeoutMs, signal) => {
        const more = await this.waitForMore(principal, id, after, timeoutMs, signal)
        if (!more) this.#assertOpen()
        return more
      },
    })
  }

  /** Deletes all that a principal has: its credentials first, so that it starts nothing meanwhile. For administrators alone. */
  async forget(principal: Principal, who: Principal, request: ForgetRequest): Promise<ForgetResult> {
    this.#assertOpen()
    await this.#access.require(principal, 'admin')
    const owner = ownerKey(who)
    if (owner === ownerKey(principal) && owner !== localOwner)
      throw new HoldfastError('conflict', 'a credential cannot forget its own principal: use one of another principal')
    const { dryRun } = request
    let apiKeys = 0
    const removeCredentials = async (): Promise<void> => {
      apiKeys = await this.#removeCredentials(who, { dryRun })
    }
    if (dryRun) await removeCredentials()
    const { clock } = this.#parts
    const report = await forgetOwner({ store: this.#store, clock, owner, removeCredentials }, request)
    return { ...report, apiKeys }
  }

  /** The documents of the caller. */
  documents(principal: Principal): OwnedDocuments {
    return new OwnedDocuments(this.#store.documents, ownerKey(principal), this.limits, {
      require: (action) => this.#access.requireSome(principal, action),
      admit: (owner, bytes, before) => this.#quotas.storeDocument(owner, bytes, before),
      redactor: this.#parts.redactor,
    })
  }

  /** The documents of everybody: for the server's own work, never for an answer to a caller (SEC-1). */
  allDocuments(query: DocumentQuery): Promise<DocumentPage> {
    return listWithin(this.#store.documents, query, this.limits)
  }

  /** Delivers the records after an index to a sink: what is there, then what comes. */
  async subscribe(principal: Principal, known: KnownRun, after: number, sink: Sink): Promise<Subscription> {
    const stored = await this.#access.ownKnown(principal, known, 'read')
    assertReadable(stored, after)
    return this.#openStream(principal, stored.run.id, after, sink)
  }

  /** The run whose events a protocol is about to stream with `read` and `waitForMore`, and not with `subscribe`. */
  startReading(principal: Principal, id: string): Promise<StoredRun> {
    return this.get(principal, id)
  }

  /**
   * Counts as one of the caller's streams until the returned function is called: for what a protocol holds open besides
   * subscriptions. Throws `rate_limited` when there are too many.
   */
  holdStream(principal: Principal): () => void {
    return this.#quotas.openStream(actorOf(principal))
  }

  /** Calls `end` when the caller's credential ends: for what a protocol holds open besides subscriptions. */
  onCredentialEnd(principal: Principal, end: (error: HoldfastError) => void): () => void {
    return this.#access.onCredentialEnd(principal, end)
  }

  /** The records after an index that are there now; undefined when there is none. */
  async read(
    principal: Principal,
    known: KnownRun,
    after: number,
    bytesMax: number = this.limits.readBytesMax,
  ): Promise<Slice | undefined> {
    await shareEventLoop()
    const { run } = await this.#access.ownKnown(principal, known, 'read')
    return readLog(this.#store, run.id, after, bytesMax)
  }

  /** Resolves when the log has a record after an index, or when the time is over; true in the first case. */
  async waitForMore(
    principal: Principal,
    id: string,
    after: number,
    timeoutMs: number,
    signal: AbortSignal,
    { countsAsSubscriber = false }: { readonly countsAsSubscriber?: boolean } = {},
  ): Promise<boolean> {
    const ended = AbortSignal.any([signal, this.#closing.signal])
    if (ended.aborted) return false
    assertReadable(await this.get(principal, id), after)
    const subscribe = (sink: Sink): Subscription =>
      countsAsSubscriber
        ? this.#openStream(principal, id, after, sink)
        : this.#access.whileCurrent(principal, (onClose) => this.#feeds.wait(id, after, sink, onClose))
    return nextRecord(subscribe, timeoutMs, this.#parts.clock, ended)
  }

  /** The terminal event of a finished run. */
  async outcome(principal: Principal, id: string): Promise<RunOutcome | undefined> {
    const { run, next } = await this.get(principal, id)
    if (!isFinished(run.status)) return undefined
    const slice = await readLog(this.#store, id, next - 2, 1)
    return slice === undefined ? undefined : (events(slice).at(-1) as RunOutcome)
  }

  /** Health as last observed. */
  health(): ServiceHealth {
    return this.#healthWith(this.#store.health())
  }

  /** Health now: probes the store, with a timeout. */
  async ready(): Promise<ServiceHealth> {
    return this.#healthWith(await this.#probe.health())
  }

  #healthWith(store: StoreHealth): ServiceHealth {
    const failure = store.ok ? undefined : store.reason
    if (failure !== this.#toldFailure) {
      this.#toldFailure = failure
      if (failure !== undefined) this.#parts.logger.warn({ reason: failure }, STORE_UNAVAILABLE)
    }
    return {
      ok: store.ok && !this.#dispatcher.draining,
      store,
      draining: this.#dispatcher.draining,
      running: this.#dispatcher.running,
      subscribers: this.#feeds.size,
      ...(this.#eventLoop !== undefined && { eventLoop: this.#eventLoop() }),
    }
  }

  /** This node's current load, and the runs it took over since it started. */
  load(): ServiceLoad {
    const { running, takenUp } = this.#dispatcher
    return { running, subscribers: this.#feeds.size, lag: this.#feeds.lag, ...takenUp }
  }

  /** Takes no more runs, and lets the running ones finish or hands them over. */
  async drain(): Promise<void> {
    await this.#dispatcher.drain()
    this.#closing.abort()
    this.#feeds.close()
    this.#access.close()
  }

  /** Counts as one of the caller's streams until it is closed. */
  #openStream(principal: Principal, id: string, after: number, sink: Sink): Subscription {
    const release = this.#quotas.openStream(actorOf(principal))
    try {
      return this.#access.whileCurrent(principal, (onClose) =>
        this.#feeds.open(id, after, sink, () => {
          release()
          onClose()
        }),
      )
    } catch (cause) {
      release()
      throw cause
    }
  }

  #redactorFor({ component }: Run): Redactor | undefined {
    return redactorOf(this.#parts.redactor, this.#parts.registry.find(component)?.redact)
  }

  #requireShares(): ShareLinks {
    if (this.#shares !== undefined) return this.#shares
    throw new HoldfastError('unsupported', 'this server has no share links')
  }

  #assertOpen(): void {
    if (!this.#dispatcher.draining) return
    throw new HoldfastError('unavailable', 'the server is shutting down', { retryAfterMs: this.limits.retryDelayMs })
  }

  #execute(stored: StoredRun): void {
    this.#dispatcher.take(stored).catch((cause: unknown) => {
      this.#parts.logger.warn({ run: stored.run.id, err: cause }, 'run could not be executed; it will be picked up')
    })
  }
}

export interface ServiceHealth {
  readonly ok: boolean
  readonly store: StoreHealth
  readonly draining: boolean
  readonly running: number
  readonly subscribers: number
  readonly eventLoop?: EventLoopHealth
}

export interface ServiceLoad {
  readonly running: number
  readonly subscribers: number
  /** Events by which the subscriber that is furthest behind is behind. */
  readonly lag: number
  /** Runs of dead workers that this node recovered. */
  readonly recovered: number
  /** Runs of dead workers that this node had to fail. */
  readonly lost: number
}
