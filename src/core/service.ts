/**
 * The commands that protocols may call. Who calls comes with every one of them, and what is not the caller's does not exist
 * for it (SEC-1).
 */
import type { BusyPolicy, Component } from './agent.ts'
import type { Clock, Ids } from './clock.ts'
import { assertReadable } from './cursor.ts'
import { Dispatcher } from './dispatcher.ts'
import type { DocumentPage, DocumentQuery } from './document.ts'
import { encodeEvent, RunFailure } from './emission.ts'
import { HoldfastError, isHoldfastError, messageOf } from './errors.ts'
import type { Event, LoggedEvent } from './event.ts'
import { defaultLimits, type Limits } from './limits.ts'
import type { Logger } from './logger.ts'
import { listWithin, OwnedDocuments } from './owned-documents.ts'
import { ownerKey, type Principal } from './principal.ts'
import { comesBefore } from './page.ts'
import { encodeRecord, events, type RecordBody, type Slice } from './record.ts'
import type { Registry } from './registry.ts'
import { isFinished, type Run, type RunStatus } from './run.ts'
import { serialize } from './serialize.ts'
import { removeSession } from './session-removal.ts'
import type { Created, NewRun, RunPage, Store, StoredRun, StoreHealth } from './store.ts'
import { Feeds, type Sink, type Subscription } from './subscription.ts'

export interface ServiceOptions {
  readonly store: Store
  readonly registry: Registry
  readonly clock: Clock
  readonly ids: Ids
  readonly logger: Logger
  readonly limits?: Partial<Limits>
}

export interface StartRequest {
  readonly component: string
  readonly input: unknown
  readonly session?: string
  readonly metadata?: Readonly<Record<string, unknown>>
  readonly protocol: string
  readonly idempotencyKey?: string
  /** Instead of the component's own policy. */
  readonly busy?: BusyPolicy
}

export interface Started {
  readonly stored: StoredRun
  /** False when the idempotency key named a run that exists. */
  readonly created: boolean
}

export interface ListRequest {
  readonly component?: string
  readonly session?: string
  readonly status?: readonly RunStatus[]
  readonly after?: string
  readonly limit?: number
}

/** The outcome of a run as its log says it. */
export type Outcome = Extract<LoggedEvent, { type: 'run.completed' | 'run.failed' | 'run.cancelled' | 'run.rejected' }>

export class Service {
  readonly limits: Limits
  readonly #options: ServiceOptions
  readonly #store: Store
  readonly #dispatcher: Dispatcher
  readonly #feeds: Feeds
  /** Aborted when nothing more will come from here. */
  readonly #closing = new AbortController()

  constructor(options: ServiceOptions) {
    this.#options = options
    this.#store = options.store
    this.limits = { ...defaultLimits, ...options.limits }
    this.#dispatcher = new Dispatcher({ ...options, limits: this.limits })
    this.#feeds = new Feeds(options.store, this.limits)
  }

  /** Begins to drive runs, those that a dead worker left included. */
  begin(): void {
    this.#dispatcher.start()
  }

  /** Nothing more will come from here: what runs was finished or handed over. */
  get closed(): boolean {
    return this.#closing.signal.aborted
  }

  components(): readonly Component[] {
    return this.#options.registry.list()
  }

  async start(principal: Principal, request: StartRequest): Promise<Started> {
    this.#assertOpen()
    const component = this.#options.registry.get(request.component)
    const policy = request.busy ?? component.session ?? 'parallel'
    const draft = await this.#draft(ownerKey(principal), component, request, policy)
    const known = await this.#known(draft)
    if (known !== undefined) return this.#started(known, policy, [])
    const earlier = policy === 'interrupt' ? await this.#unfinished(draft.run) : []
    const room = this.#dispatcher.reserve()
    let leaveQueue: (() => void) | undefined
    try {
      // A run that waits for others in its session has no use for a free place.
      if (!room || policy === 'enqueue' || policy === 'interrupt') leaveQueue = await this.#dispatcher.reserveInQueue()
      const claim = { owner: this.#dispatcher.owner, ttlMs: this.limits.leaseMs }
      const created = await this.#store.create(room ? { ...draft, claim } : draft)
      if (created.kind === 'created' && created.stored.lease !== undefined) this.#drive(created.stored)
      return await this.#started(created, policy, earlier)
    } finally {
      leaveQueue?.()
      if (room) this.#dispatcher.free()
    }
  }

  /** A start that is repeated gets its run, also when nothing more is taken. */
  async #known({ run, idempotency }: NewRun): Promise<Created | undefined> {
    if (idempotency === undefined) return undefined
    const known = await this.#store.findByKey(run.owner, idempotency.key)
    if (known === undefined) return undefined
    return { kind: known.fingerprint === idempotency.fingerprint ? 'existing' : 'key_conflict', stored: known.stored }
  }

  async #started(created: Created, policy: BusyPolicy, earlier: readonly Run[]): Promise<Started> {
    const { stored } = created
    const { id, session } = stored.run
    switch (created.kind) {
      case 'key_conflict':
        throw new HoldfastError('idempotency_conflict', `the key was used for run ${id} with another body`, {
          details: { run: id },
        })
      case 'busy':
        throw new HoldfastError('session_busy', `session ${session} has the unfinished run ${id}`, {
          details: { run: id },
        })
      case 'existing':
        return { stored, created: false }
      case 'created':
        if (policy === 'interrupt') await this.#interrupt(stored.run, earlier)
        return { stored, created: true }
    }
  }

  async get(principal: Principal, id: string): Promise<StoredRun> {
    const stored = await this.#store.get(id)
    if (stored === undefined || stored.run.owner !== ownerKey(principal))
      throw new HoldfastError('not_found', `no run ${id.slice(0, 100)}`)
    return stored
  }

  list(principal: Principal, request: ListRequest = {}): Promise<RunPage> {
    const { limit = 50, ...filters } = request
    return this.#store.list({ ...filters, owner: ownerKey(principal), limit: Math.min(limit, this.limits.pageRunsMax) })
  }

  /** Asks for a stop, durably. The run as it is now comes back; a finished one is left as it is (RUN-2). */
  async stop(principal: Principal, id: string, reason?: string): Promise<StoredRun> {
    await this.get(principal, id)
    const by = ownerKey(principal)
    const at = new Date(this.#options.clock.now()).toISOString()
    const why = { by, ...(reason !== undefined && { reason }) }
    this.#encode({ type: 'stop.requested', data: why })
    const stored = await this.#store.requestStop(id, { at, ...why })
    if (stored === undefined) throw new HoldfastError('not_found', `no run ${id}`)
    return stored
  }

  /** Answers what a paused run waits for, and lets it go on. */
  async continue(principal: Principal, id: string, answers: Readonly<Record<string, unknown>>): Promise<StoredRun> {
    this.#assertOpen()
    const { run } = await this.get(principal, id)
    if (this.#options.registry.find(run.component) === undefined)
      throw new HoldfastError('unsupported', `component ${run.component} is not served here`)
    const continuation = { answers, by: ownerKey(principal) }
    checkAnswers(run, answers)
    this.#encode({ type: 'run.resumed', data: continuation })
    const claimed = await this.#store.claim(id, this.#dispatcher.owner, this.limits.leaseMs, { paused: true })
    if (claimed === undefined) throw new HoldfastError('conflict', `run ${id} is being continued already`)
    try {
      checkAnswers(claimed.run, answers) // what it asks may have changed in the meantime
    } catch (refusal) {
      // It is ours now, whatever became of it: paused as before, or left behind by whoever continued it.
      if (claimed.run.status === 'paused') await this.#store.release(id, claimed.epoch)
      else this.#drive(claimed)
      throw refusal
    }
    await this.#dispatcher.take(claimed, continuation)
    return this.get(principal, id)
  }

  async remove(principal: Principal, id: string): Promise<void> {
    await this.get(principal, id)
    await this.#store.remove(id)
  }

  /** Removes a session that the caller has, with all its runs; those that have not ended are stopped first. */
  async removeSession(principal: Principal, session: string): Promise<void> {
    const owner = ownerKey(principal)
    const at = new Date(this.#options.clock.now()).toISOString()
    await removeSession({
      store: this.#store,
      limits: this.limits,
      owner,
      session,
      stop: { at, by: owner, reason: 'its session is removed' },
      waitForMore: async (id, after, timeoutMs, signal) => {
        const more = await this.waitForMore(principal, id, after, timeoutMs, signal, 'in passing')
        if (!more) this.#assertOpen()
        return more
      },
    })
  }

  /** The documents of the caller. */
  documents(principal: Principal): OwnedDocuments {
    return new OwnedDocuments(this.#store.documents, ownerKey(principal), this.limits)
  }

  /** The documents of everybody: for the server's own work, never for an answer to a caller (SEC-1). */
  allDocuments(query: DocumentQuery): Promise<DocumentPage> {
    return listWithin(this.#store.documents, query, this.limits)
  }

  /** Delivers the records after an index to a sink: what is there, then what comes. */
  async subscribe(principal: Principal, id: string, after: number, sink: Sink): Promise<Subscription> {
    const stored = await this.get(principal, id)
    assertReadable(stored, after)
    return this.#feeds.open(id, after, sink)
  }

  /** The records after an index that are there now; undefined when there is none. */
  async read(
    principal: Principal,
    id: string,
    after: number,
    bytesMax: number = this.limits.readBytesMax,
  ): Promise<Slice | undefined> {
    await this.get(principal, id)
    return this.#store.read(id, after, bytesMax)
  }

  /** Resolves when the log has a record after an index, or when the time is over; true in the first case. */
  async waitForMore(
    principal: Principal,
    id: string,
    after: number,
    timeoutMs: number,
    signal: AbortSignal,
    as: 'subscriber' | 'in passing' = 'subscriber',
  ): Promise<boolean> {
    const ended = AbortSignal.any([signal, this.#closing.signal])
    if (ended.aborted) return false
    assertReadable(await this.get(principal, id), after)
    const more = Promise.withResolvers<boolean>()
    const timer = setTimeout(more.resolve, timeoutMs, false)
    ended.addEventListener('abort', () => more.resolve(false), { once: true })
    const sink: Sink = {
      write: () => (more.resolve(true), false),
      finished: () => more.resolve(true),
      failed: more.reject,
    }
    let subscription: Subscription | undefined
    try {
      subscription = as === 'subscriber' ? this.#feeds.open(id, after, sink) : this.#feeds.wait(id, after, sink)
      return await more.promise
    } finally {
      clearTimeout(timer)
      subscription?.close()
    }
  }

  /** The terminal event of a finished run. */
  async outcome(principal: Principal, id: string): Promise<Outcome | undefined> {
    const { run, next } = await this.get(principal, id)
    if (!isFinished(run.status)) return undefined
    const slice = await this.#store.read(id, next - 2, 1)
    return slice === undefined ? undefined : (events(slice).at(-1) as Outcome)
  }

  health(): ServiceHealth {
    const store = this.#store.health()
    return {
      ok: store.ok && !this.#dispatcher.draining,
      store,
      draining: this.#dispatcher.draining,
      running: this.#dispatcher.running,
      subscribers: this.#feeds.size,
    }
  }

  /** What this node carries now, and what it took up since it began. */
  load(): ServiceLoad {
    const { running, takenUp } = this.#dispatcher
    return { running, subscribers: this.#feeds.size, lag: this.#feeds.lag, ...takenUp }
  }

  /** Takes no more runs, and lets the running ones finish or hands them over. */
  async drain(): Promise<void> {
    await this.#dispatcher.drain()
    this.#closing.abort()
    this.#feeds.close()
  }

  async #draft(owner: string, component: Component, request: StartRequest, policy: BusyPolicy): Promise<NewRun> {
    const { ids, clock } = this.#options
    const { metadata, protocol, idempotencyKey } = request
    this.#checkMetadata(metadata)
    const id = ids.run()
    const session = request.session ?? ids.session()
    const time = new Date(clock.now()).toISOString()
    const shared = { component: component.id, session, ...(metadata !== undefined && { metadata }), protocol }
    const run: Run = {
      ...shared,
      id,
      owner,
      status: 'queued',
      createdAt: time,
      updatedAt: time,
      attempt: 0,
      ...(policy !== 'parallel' && { lane: JSON.stringify([owner, session]) }),
    }
    const body = this.#encode({
      type: 'run.created',
      data: { ...shared, input: parseInput(component, request.input) },
    })
    return {
      run,
      record: encodeRecord(id, 0, time, 'run.created', body),
      rejectIfBusy: policy === 'reject',
      ...(idempotencyKey !== undefined && {
        idempotency: { key: idempotencyKey, fingerprint: await fingerprint(request) },
      }),
    }
  }

  #assertOpen(): void {
    if (!this.#dispatcher.draining) return
    throw new HoldfastError('unavailable', 'the server is shutting down', { retryAfterMs: this.limits.retryMs })
  }

  #checkMetadata(metadata: unknown): void {
    try {
      serialize(metadata ?? null, 'metadata', {
        depthMax: this.limits.eventDepthMax,
        bytesMax: this.limits.metadataBytesMax,
      })
    } catch (cause) {
      throw new HoldfastError('invalid_request', messageOf(cause), { cause })
    }
  }

  /** Encodes an event that a request made. */
  #encode(event: Event): RecordBody {
    try {
      return encodeEvent(event, { depthMax: this.limits.eventDepthMax, bytesMax: this.limits.eventBytesMax }).body
    } catch (cause) {
      // It is the request that is wrong and not the run.
      if (cause instanceof RunFailure) throw new HoldfastError('invalid_request', cause.message, { cause })
      throw cause
    }
  }

  /**
   * The runs before this one in its lane are asked to stop; it follows when they have. Those that were there before it was
   * created come before it, whatever the clocks say; of several that come at once, the last one lives.
   */
  async #interrupt(run: Run, earlier: readonly Run[]): Promise<void> {
    const known = new Set(earlier.map(({ id }) => id))
    const at = new Date(this.#options.clock.now()).toISOString()
    for (const other of await this.#unfinished(run)) {
      if (known.has(other.id) || comesBefore(run, other)) {
        await this.#store.requestStop(other.id, { at, by: run.owner, reason: `interrupted by run ${run.id}` })
      }
    }
  }

  /** The other unfinished runs of a run's lane. */
  async #unfinished({ id, owner, session, lane }: Run): Promise<readonly Run[]> {
    const status: readonly RunStatus[] = ['queued', 'running', 'paused']
    const found: Run[] = []
    for (let after: string | undefined; ;) {
      const limit = this.limits.pageRunsMax
      const page = await this.#store.list({ owner, session, status, limit, ...(after !== undefined && { after }) })
      found.push(...page.runs.map(({ run }) => run).filter((run) => run.lane === lane && run.id !== id))
      if (page.cursor === undefined) return found
      after = page.cursor
    }
  }

  #drive(stored: StoredRun): void {
    this.#dispatcher.take(stored).catch((cause: unknown) => {
      this.#options.logger.warn(
        { run: stored.run.id, reason: messageOf(cause) },
        'run could not be driven; it will be picked up',
      )
    })
  }
}

export interface ServiceHealth {
  readonly ok: boolean
  readonly store: StoreHealth
  readonly draining: boolean
  readonly running: number
  readonly subscribers: number
}

export interface ServiceLoad {
  readonly running: number
  readonly subscribers: number
  /** Events by which the subscriber that is furthest behind is behind. */
  readonly lag: number
  /** Runs whose worker had died and that went on here. */
  readonly recovered: number
  /** Runs whose worker had died and that were failed here. */
  readonly lost: number
}

function parseInput(component: Component, input: unknown): unknown {
  if (component.parse === undefined) return input
  try {
    return component.parse(input)
  } catch (cause) {
    if (isHoldfastError(cause)) throw cause
    throw new HoldfastError('invalid_request', `the input does not fit ${component.id}: ${messageOf(cause)}`, { cause })
  }
}

function checkAnswers(run: Run, answers: Readonly<Record<string, unknown>>): void {
  if (run.status !== 'paused')
    throw new HoldfastError('conflict', `run ${run.id} is ${run.status}; it waits for nothing`)
  const asked = (run.waiting ?? []).map(({ id }) => id)
  const unknown = Object.keys(answers).filter((id) => !asked.includes(id))
  const missing = asked.filter((id) => !Object.hasOwn(answers, id))
  if (unknown.length === 0 && missing.length === 0) return
  const problem =
    unknown.length > 0 ? `there is no question ${unknown.join(', ')}` : `an answer to ${missing.join(', ')} is missing`
  throw new HoldfastError('invalid_request', `${problem}; run ${run.id} asks: ${asked.join(', ')}`, {
    details: { questions: run.waiting },
  })
}

/** What makes two starts the same start. */
async function fingerprint({ component, input, session, metadata }: StartRequest): Promise<string> {
  const text = JSON.stringify([component, canonical(input), session ?? null, canonical(metadata ?? null)])
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** The same value whatever order its keys came in. */
function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([key, item]) => [key, canonical(item)] as const)
  return Object.fromEntries(entries.toSorted(([left], [right]) => (left < right ? -1 : 1)))
}
