/**
 * The commands that protocols may call. Each takes the calling principal. Runs of other principals are reported as not found
 * (SEC-1).
 */
import { Access, type KnownRun } from './access/access.ts'
import { type ClientLogCommands, ClientLogs } from './scheduling/client-logs.ts'
import type { Component } from './ports/component.ts'
import type { CredentialWatch } from './access/credential-watch.ts'
import { Dispatcher } from './scheduling/dispatcher.ts'
import type { DocumentPage, DocumentQuery } from './model/document.ts'
import { HoldfastError, runNotFound } from './model/errors.ts'
import type { SourceHealth } from './ports/component-source.ts'
import type { EventLoopHealth } from './ports/event-loop-health.ts'
import type { ForgetReport, ForgetRequest } from './access/forget.ts'
import { defaultLimits, type Limits } from './model/limits.ts'
import { shareEventLoop } from './runtime/share-event-loop.ts'
import type { StartCommand } from './scheduling/draft-run.ts'
import { loadExecution } from './scheduling/load-execution.ts'
import { listWithin, OwnedDocuments } from './sessions/owned-documents.ts'
import type { NodeDeps } from './node-deps.ts'
import { actorOf, type Authenticator, limitedAs, localOwner, ownerKey, type Principal } from './model/principal.ts'
import { PrincipalQuotas } from './access/principal-quotas.ts'
import type { Slice } from './model/slice.ts'
import type { RunStatus } from './model/run.ts'
import { RunReader } from './delivery/run-reader.ts'
import type { TerminalEvent } from './structure/run-status.ts'
import { RunCounts } from './runtime/run-counts.ts'
import { HealthMonitor, type ServiceHealth, type ServiceLoad } from './scheduling/service-health.ts'
import { SessionRunWatch } from './sessions/session-run-watch.ts'
import { type Share, type ShareRequest, type ShareLinks, SHARES } from './access/share-links.ts'
import { DOCUMENT_BYTES } from './model/storage-usage.ts'
import { type StartedRun, RunStarter } from './scheduling/run-starter.ts'
import type { StoredRunPage, Store, StoredRun } from './ports/store.ts'
import type { Sink, Subscription } from './delivery/subscription.ts'
import { ViewCache } from './delivery/view-cache.ts'

export type { KnownRun, ServiceHealth, StartedRun, StartCommand }

export interface ServiceOptions extends Omit<NodeDeps, 'limits'> {
  readonly limits?: Partial<Limits>
  /** Closes connections of revoked and expired credentials. */
  readonly credentials?: CredentialWatch
  /** Responsiveness of the event loop, if it is measured. */
  readonly eventLoop?: () => EventLoopHealth
  readonly upstreams?: () => readonly SourceHealth[]
  /** Share links. Without it, none can be created. */
  readonly shares?: ShareLinks
  /** Removes the stored credentials of a principal and returns their number. */
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

/** A request that is passed to an upstream. */
export interface PassedRequest {
  readonly upstream: string
  readonly method: string
  readonly path: string
}

export class Service {
  readonly limits: Limits
  /** Views of this node. Callers may open only views of runs that this service returned to them. */
  readonly views: ViewCache
  readonly #deps: NodeDeps
  readonly #store: Store
  readonly #dispatcher: Dispatcher
  readonly #quotas: PrincipalQuotas
  readonly #starts: RunStarter
  readonly #clientLogs: ClientLogs
  readonly #access: Access
  readonly #reader: RunReader
  readonly #sessionRunWatch: SessionRunWatch
  readonly #health: HealthMonitor
  readonly #shares: ShareLinks | undefined
  readonly #removeCredentials: NonNullable<Authenticator['removeCredentials']>

  constructor(options: ServiceOptions) {
    this.limits = { ...defaultLimits, ...options.limits }
    const counts = new RunCounts()
    this.#deps = { ...options, limits: this.limits, counts }
    this.#store = options.store
    this.#quotas = new PrincipalQuotas(this.limits, options.store.usage, options.clock)
    this.#dispatcher = new Dispatcher(this.#deps, this.#quotas)
    this.#starts = new RunStarter(this.#deps, this.#dispatcher, this.#quotas, (claimed) => this.#execute(claimed))
    this.views = new ViewCache(options.store, this.limits, options.clock)
    this.#access = new Access(options, options.credentials)
    this.#reader = new RunReader(this.#deps, this.#access, this.#quotas, this.views.memory)
    this.#clientLogs = new ClientLogs({
      deps: this.#deps,
      dispatcher: this.#dispatcher,
      access: this.#access,
      quotas: this.#quotas,
      views: this.views,
    })
    this.#sessionRunWatch = new SessionRunWatch(options.store)
    this.#health = new HealthMonitor({
      ...this.#deps,
      counts,
      dispatcher: this.#dispatcher,
      reader: this.#reader,
      eventLoop: options.eventLoop,
      upstreams: options.upstreams,
    })
    this.#shares = options.shares
    this.#removeCredentials = options.removeCredentials ?? (() => Promise.resolve(0))
  }

  /** Starts to execute runs, including those of dead workers. */
  startScheduling(): void {
    this.#dispatcher.start()
  }

  /** Whether runs survive the end of the process. */
  get isDurable(): boolean {
    return this.#store.capabilities.durable
  }

  /** True after `drain`: all runs have ended or were handed over. */
  get isClosed(): boolean {
    return this.#reader.isClosed
  }

  /** Logs that clients write. */
  get clientLogs(): ClientLogCommands {
    return this.#clientLogs
  }

  components(): readonly Component[] {
    return this.#deps.registry.list()
  }

  /** Triggers discovery soon, because a client asked for an unknown component. */
  noteUnknown(): void {
    this.#deps.registry.onUnknown?.()
  }

  async start(principal: Principal, request: StartCommand): Promise<StartedRun> {
    this.#assertOpen()
    await this.#access.requireStart(principal, request.component)
    if (request.follows === true) this.#quotas.requireStream(limitedAs(principal))
    return this.#starts.start(ownerKey(principal), request, principal)
  }

  get(principal: Principal, id: string): Promise<StoredRun> {
    return this.#access.own(principal, id, 'read')
  }

  /** The run that was started with an idempotency key, if the principal may read it. */
  async findStarted(principal: Principal, idempotencyKey: string): Promise<StoredRun | undefined> {
    const found = await this.#store.findByKey(ownerKey(principal), idempotencyKey)
    return found === undefined ? undefined : this.get(principal, found.stored.run.id)
  }

  async list(principal: Principal, request: ListRequest = {}): Promise<StoredRunPage> {
    await shareEventLoop()
    const { limit = 50, ...filters } = request
    const query = { ...filters, owner: ownerKey(principal), limit: Math.min(limit, this.limits.maxPageRuns) }
    return this.#access.list(principal, () => this.#store.list(query))
  }

  /** Requests a stop, durably. Resolves with the current run. A finished run is not changed (RUN-2). */
  async stop(principal: Principal, id: string, reason?: string): Promise<StoredRun> {
    const { run } = await this.#access.own(principal, id, 'stop')
    const by = actorOf(principal)
    const at = new Date(this.#deps.clock.now()).toISOString()
    const why = { by, ...(reason !== undefined && { reason }) }
    const { redactRequested, redactorOf } = await loadExecution()
    const redactor = redactorOf(this.#deps.redactor, this.#deps.registry.find(run.component)?.redact)
    const { data } = redactRequested({ type: 'stop.requested', data: why }, redactor, this.limits)
    const reasonField = data.reason === undefined ? {} : { reason: data.reason }
    const stored = await this.#store.requestStop(id, { at, by, ...reasonField })
    if (stored === undefined) throw runNotFound(id)
    return stored
  }

  /** Answers a paused run's questions and resumes it. */
  async answer(principal: Principal, known: KnownRun, answers: Readonly<Record<string, unknown>>): Promise<StoredRun> {
    this.#assertOpen()
    const { run } = await this.#access.ownKnown(principal, known, 'answer')
    this.#assertDiscovered(run.component)
    const deps = {
      ...this.#deps,
      dispatcher: this.#dispatcher,
      execute: (claimed: StoredRun) => this.#execute(claimed),
    }
    // The credential that the run was started with may have expired meanwhile.
    if (principal.forwarded !== undefined) await this.#deps.callerCredentials?.keep(run, principal.forwarded)
    const { answerRun } = await loadExecution()
    await answerRun(deps, run, { answers, by: actorOf(principal) })
    return this.get(principal, run.id)
  }

  /** Throws if the component has not been discovered yet: an answer would end the run, because no node could resume it. */
  #assertDiscovered(component: string): void {
    const { registry } = this.#deps
    if (registry.find(component) === undefined && registry.isIncomplete())
      throw new HoldfastError('unavailable', `component ${component} has not been discovered yet: try again later`)
  }

  async delete(principal: Principal, id: string): Promise<void> {
    const { run } = await this.#access.own(principal, id, 'remove')
    await this.#store.remove(id)
    this.views.drop((viewed) => viewed.id === id)
    await this.#shares?.removeAll(run.owner, id)
  }

  /** Creates a share link to one run. Only its owner may; a principal that calls with a link cannot. */
  async share(
    principal: Principal,
    id: string,
    request: ShareRequest,
  ): Promise<{ readonly share: Share; readonly token: string }> {
    const { run } = await this.#access.own(principal, id, 'share')
    const shares = this.#requireShares()
    await this.#storeUnverified(principal, 0, SHARES)
    return shares.create(run.owner, id, request)
  }

  async shares(principal: Principal, id: string): Promise<readonly Share[]> {
    const { run } = await this.#access.own(principal, id, 'share')
    return this.#requireShares().list(run.owner, id)
  }

  /** Revokes a link. Its open connections are closed within two seconds. */
  async revokeShare(principal: Principal, id: string, share: string): Promise<void> {
    const { run } = await this.#access.own(principal, id, 'share')
    if (!(await this.#requireShares().revoke(run.owner, id, share)))
      throw new HoldfastError('not_found', `run ${id} has no share link ${share.slice(0, 100)}`)
  }

  /** Removes a session of the principal with all its runs. Unfinished runs are stopped first. */
  async removeSession(principal: Principal, session: string): Promise<void> {
    await this.#access.require(principal, 'remove')
    const owner = ownerKey(principal)
    const at = new Date(this.#deps.clock.now()).toISOString()
    const { removeSession } = await import('./sessions/session-removal.ts')
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
    this.views.drop((run) => run.owner === owner && run.session === session)
  }

  /** Deletes everything of a principal, its credentials first, so that it can start nothing meanwhile. For administrators only. */
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
    const { clock } = this.#deps
    const { forgetOwner } = await import('./access/forget.ts')
    const report = await forgetOwner({ store: this.#store, clock, owner, removeCredentials }, request)
    if (!dryRun) this.views.drop((run) => run.owner === owner)
    return { ...report, apiKeys }
  }

  /** The principal's documents. */
  documents(principal: Principal): OwnedDocuments {
    return new OwnedDocuments(this.#store.documents, ownerKey(principal), this.limits, {
      require: (action) => this.#access.requireSome(principal, action),
      admit: async (owner, bytes, before, collection) => {
        await this.#quotas.storeDocument(owner, bytes, before)
        await this.#storeUnverified(principal, bytes, collection)
      },
      redactor: this.#deps.redactor,
    })
  }

  /** Documents of all owners: for the server's own work, never for a response to a principal (SEC-1). */
  allDocuments(query: DocumentQuery): Promise<DocumentPage> {
    return listWithin(this.#store.documents, query, this.limits)
  }

  /** Delivers the records after an index to a sink: stored ones first, then live ones. */
  subscribe(principal: Principal, known: KnownRun, after: number, sink: Sink): Promise<Subscription> {
    return this.#reader.subscribe(principal, known, after, sink)
  }

  /** Like `get`, and audited as a read: for protocols that stream with `read` and `waitForMore` instead of `subscribe`. */
  startReading(principal: Principal, id: string): Promise<StoredRun> {
    return this.get(principal, id)
  }

  /** Call before streaming the events of a session's runs with `list` and `read`. */
  async startReadingSession(principal: Principal, session: string): Promise<void> {
    await this.list(principal, { session, limit: 1 })
  }

  /**
   * Counts a connection that is not a subscription as one of the principal's streams, until the returned function is called. Throws
   * `rate_limited` if there are too many.
   */
  openStream(principal: Principal): () => void {
    return this.#quotas.openStream(limitedAs(principal))
  }

  /** Passes a request to an upstream. `work` executes it and reports the upstream's status as soon as it is known. */
  pass(
    _principal: Principal,
    _request: PassedRequest,
    work: (onStatus: (status: number) => void) => Promise<void>,
  ): Promise<void> {
    return work(() => {})
  }

  /** Notes that an upstream refused the caller's own credential. */
  credentialRefused(principal: Principal): void {
    this.#deps.callerCredentials?.unverified.refuseCaller(ownerKey(principal), principal.unverified?.network)
  }

  /** Calls `end` when the principal's credential ends: for connections that are not subscriptions. */
  onCredentialEnd(principal: Principal, end: (error: HoldfastError) => void): () => void {
    return this.#access.onCredentialEnd(principal, end)
  }

  /** The stored records after an index; undefined if there are none. */
  read(principal: Principal, known: KnownRun, after: number, maxBytes?: number): Promise<Slice | undefined> {
    return this.#reader.read(principal, known, after, maxBytes)
  }

  /** Resolves with true when the log has a record after an index, with false at the timeout. */
  waitForMore(
    principal: Principal,
    id: string,
    after: number,
    timeoutMs: number,
    signal: AbortSignal,
    { countsAsSubscriber = false }: { readonly countsAsSubscriber?: boolean } = {},
  ): Promise<boolean> {
    return this.#reader.waitForMore(principal, id, after, { timeoutMs, signal, countsAsSubscriber })
  }

  /** Calls the listener when a session of the caller may have a new run. Notifications may be lost: poll as well. */
  onSessionRun(principal: Principal, session: string, listener: () => void): () => void {
    return this.#sessionRunWatch.watch(ownerKey(principal), session, listener)
  }

  /** The terminal event of a finished run. */
  outcome(principal: Principal, id: string): Promise<TerminalEvent | undefined> {
    return this.#reader.outcome(principal, id)
  }

  /** Health as last observed. */
  health(): ServiceHealth {
    return this.#health.lastObserved()
  }

  /** Health now: probes the store, with a timeout. */
  ready(): Promise<ServiceHealth> {
    return this.#health.probe()
  }

  /** Queued runs of all nodes; undefined if the store does not respond in time. */
  queueLength(): Promise<number | undefined> {
    return this.#health.queueLength()
  }

  /** This node's current load, and its counts since it started. */
  load(): ServiceLoad {
    return this.#health.load()
  }

  /** Accepts no more runs, and lets running ones finish or hands them over. */
  async drain(): Promise<void> {
    await this.#dispatcher.drain()
    this.#reader.close()
    this.#access.close()
  }

  /** Counts a document of a caller whose credential no upstream has accepted. */
  async #storeUnverified(principal: Principal, bytes: number, collection: string): Promise<void> {
    if (principal.unverified === undefined) return
    await this.#deps.callerCredentials?.unverified.storage.admit({
      owner: ownerKey(principal),
      network: principal.unverified.network,
      bytes: bytes + DOCUMENT_BYTES,
      collections: [collection],
    })
  }

  #requireShares(): ShareLinks {
    if (this.#shares !== undefined) return this.#shares
    throw new HoldfastError(
      'unsupported',
      'share links are not available on this server: it has no key to sign them with',
    )
  }

  #assertOpen(): void {
    if (!this.#dispatcher.draining) return
    throw new HoldfastError('unavailable', 'the server is shutting down', { retryAfterMs: this.limits.retryDelayMs })
  }

  #execute(stored: StoredRun): void {
    this.#dispatcher.take(stored).catch((cause: unknown) => {
      this.#deps.logger.warn(
        { run: stored.run.id, err: cause },
        'failed to execute a started or answered run; it will be retried',
      )
    })
  }
}
