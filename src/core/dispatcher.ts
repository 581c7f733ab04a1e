/**
 * Which runs this node drives: takes them up to its bound, renews its claims, picks up runs whose worker died, carries out
 * stops, and hands over what is left when it shuts down.
 */
import type { Component } from './agent.ts'
import type { Clock, Ids } from './clock.ts'
import { RunFailure } from './emission.ts'
import { HoldfastError, messageOf } from './errors.ts'
import type { EventData, Failure } from './event.ts'
import { loadHistory } from './history.ts'
import type { Limits } from './limits.ts'
import type { Logger } from './logger.ts'
import { events } from './record.ts'
import type { Registry } from './registry.ts'
import { Replay } from './replay.ts'
import { RunLog } from './run-log.ts'
import { Drive, type DriveEnd } from './runner.ts'
import { Spending } from './spending.ts'
import type { Hint, StopRequest, Store, StoredRun } from './store.ts'

export interface DispatcherOptions {
  readonly store: Store
  readonly registry: Registry
  readonly limits: Limits
  readonly clock: Clock
  readonly ids: Ids
  readonly logger: Logger
}

/** Answers to a paused run's questions. */
export interface Continuation {
  readonly answers: Readonly<Record<string, unknown>>
  readonly by?: string
}

/** How soon to come back when the queue is full. */
const QUEUE_RETRY_MS = 5000

/** How long a run that could not be begun is left alone: twice as long after each failure, within these bounds. */
const SETBACK_MS = 100
const SETBACK_MAX_MS = 5000

/** Claimable runs that are looked at, at a time, for one that nobody serves. */
const UNSERVED_LOOK = 20

interface Begun {
  readonly drive: Drive
  readonly ended: Promise<DriveEnd>
}

export class Dispatcher {
  /** Name under which this node claims runs; another one after every start. */
  readonly owner: string
  readonly #options: DispatcherOptions
  readonly #drives = new Map<string, Drive>()
  /** Claimed and about to be driven. */
  readonly #starting = new Set<string>()
  /** Paused agents that are still in memory, oldest first. */
  readonly #parked = new Map<string, Drive>()
  readonly #stopWatching: () => void
  #timer: ReturnType<typeof setInterval> | undefined
  #looking: Promise<void> | undefined
  #lookAgain = false
  #tending = false
  #draining = false
  #handingOver = false
  #reserved = 0
  #queueing = 0
  #recovered = 0
  #lost = 0
  #strays: ReadonlySet<string> = new Set()
  /** How often in a row a run could not be begun here. */
  readonly #setbacks = new Map<string, number>()
  /** Claims kept for a while after a setback, each with its timer. */
  readonly #resting = new Map<StoredRun, ReturnType<typeof setTimeout>>()
  /** Drives that have ended and are being put away. */
  readonly #ending = new Set<Promise<void>>()

  constructor(options: DispatcherOptions) {
    this.#options = options
    this.owner = options.ids.unique()
    this.#stopWatching = options.store.watch('*', (hint) => this.#hinted(hint))
  }

  /** Looks for runs to take, now and from now on. */
  start(): void {
    const everyMs = Math.max(this.#options.limits.leaseMs / 3, 50)
    this.#timer = setInterval(() => void this.#tend(), everyMs)
    this.#look()
  }

  /** Runs driven by this node. */
  get running(): number {
    return this.#drives.size + this.#starting.size + this.#reserved
  }

  /** Runs of workers that died which were taken up here: how many of them went on, and how many could only be failed. */
  get takenUp(): { readonly recovered: number; readonly lost: number } {
    return { recovered: this.#recovered, lost: this.#lost }
  }

  get draining(): boolean {
    return this.#draining
  }

  /** Keeps a place for a run that is about to be created; false when there is none. Give it back with `free`. */
  reserve(): boolean {
    if (this.#draining || this.running >= this.#options.limits.runsConcurrentMax) return false
    this.#reserved++
    return true
  }

  free(): void {
    this.#reserved--
  }

  /** The same for a place in the queue; throws `rate_limited` when it is full. */
  async reserveInQueue(): Promise<() => void> {
    const { runsQueuedMax } = this.#options.limits
    const queued = (await this.#options.store.queued()) + this.#queueing
    if (queued >= runsQueuedMax) {
      throw new HoldfastError('rate_limited', `${queued} runs wait for a place; try again later`, {
        retryAfterMs: QUEUE_RETRY_MS,
      })
    }
    this.#queueing++
    return () => void this.#queueing--
  }

  /** Drives a run that was claimed for this node. */
  take(claimed: StoredRun, continuation?: Continuation): Promise<void> {
    return this.#drive(claimed, continuation)
  }

  /** Carries out a stop here if the run is driven here, or by nobody. */
  async stop(id: string, request: StopRequest): Promise<void> {
    const drive = this.#drives.get(id)
    if (drive !== undefined) return drive.stop(request)
    if (this.#starting.has(id)) return // it looks for a stop when it starts
    const claimed = await this.#options.store.claim(id, this.owner, this.#options.limits.leaseMs, {
      paused: true,
      outOfTurn: true,
    })
    if (claimed !== undefined) await this.#drive(claimed)
  }

  /** Takes no more runs, lets the running ones finish within the bound, and hands the rest over. */
  async drain(): Promise<void> {
    this.#draining = true
    const until = this.#options.clock.now() + this.#options.limits.drainMs
    while (this.running > 0 && this.#options.clock.now() < until) await pause(20)
    this.#stopWatching()
    await this.#looking
    this.#handingOver = true
    await Promise.all([...this.#resting.keys()].map((claimed) => this.#giveBack(claimed)))
    await Promise.all([...this.#parked.values(), ...this.#drives.values()].map((drive) => drive.release()))
    // Those that were just being started hand themselves over.
    while (this.#starting.size > 0) await pause(5)
    await Promise.all(this.#ending)
    clearInterval(this.#timer) // not before: what still runs keeps its claims
  }

  #hinted(hint: Hint): void {
    if (hint.claimable === true) this.#look()
    if (hint.stop === true) {
      void this.#options.store
        .get(hint.run)
        .then((stored) => (stored?.stop === undefined ? undefined : this.stop(hint.run, stored.stop)))
        .catch((cause: unknown) => this.#complain(hint.run, cause))
    }
  }

  /** Every third of a lease: hints can be lost, workers can die. */
  async #tend(): Promise<void> {
    const { store, limits } = this.#options
    if (this.#tending) return // the last time is not over yet
    this.#tending = true
    try {
      const drives = [...this.#drives] // what is claimed from here on is not in the answer
      const held = new Set(await store.renew(this.owner, limits.leaseMs))
      for (const [id, drive] of drives) {
        if (!held.has(id)) drive.lose(new Error('the claim ran out'))
        else await this.#checkStop(id, drive).catch((cause: unknown) => this.#complain(id, cause))
      }
      await this.#releaseStrays(held)
      await this.#endUnserved()
    } catch (cause) {
      this.#options.logger.warn({ reason: messageOf(cause) }, 'claims could not be renewed')
    } finally {
      this.#tending = false
    }
    this.#look()
  }

  /** A claim that is ours and that nothing here drives, at two looks, was made by a request that went wrong. */
  async #releaseStrays(held: ReadonlySet<string>): Promise<void> {
    const before = this.#strays
    this.#strays = new Set([...held].filter((id) => !this.#drives.has(id) && !this.#starting.has(id)))
    for (const id of this.#strays) {
      if (!before.has(id)) continue
      const stored = await this.#options.store.get(id)
      const isDriven = this.#drives.has(id) || this.#starting.has(id)
      if (stored !== undefined && !isDriven) await this.#options.store.release(id, stored.epoch)
    }
  }

  /** Another node may serve what this one does not. A run that none has taken for long is ended here, and says so (RUN-1). */
  async #endUnserved(): Promise<void> {
    const { store, registry, clock, limits } = this.#options
    if (!store.capabilities.shared || this.#draining || this.running >= limits.runsConcurrentMax) return
    for (const id of await store.claimable(UNSERVED_LOOK)) {
      const stored = await store.get(id)
      if (stored === undefined || registry.find(stored.run.component) !== undefined) continue
      const since = Math.max(Date.parse(stored.run.updatedAt), stored.lease?.until ?? 0)
      if (clock.now() - since < limits.unservedMs) continue
      const claimed = await store.claim(id, this.owner, limits.leaseMs)
      if (claimed !== undefined) await this.#drive(claimed).catch((cause: unknown) => this.#complain(id, cause))
    }
  }

  /** Runs that this node may take. Where no other node can, it takes also what it does not serve, to end it. */
  #claimable(limit: number): Promise<readonly string[]> {
    const { store, registry } = this.#options
    if (!store.capabilities.shared) return store.claimable(limit)
    return store.claimable(
      limit,
      registry.list().map(({ id }) => id),
    )
  }

  async #checkStop(id: string, drive: Drive): Promise<void> {
    const stop = (await this.#options.store.get(id))?.stop
    if (stop !== undefined) drive.stop(stop)
  }

  /** Takes what can be taken; calls that come while it is at it are one more round. */
  #look(): void {
    if (this.#draining) return
    this.#lookAgain = true
    this.#looking ??= this.#takeClaimable()
      .catch((cause: unknown) => this.#options.logger.warn({ reason: messageOf(cause) }, 'runs could not be claimed'))
      .finally(() => (this.#looking = undefined))
  }

  async #takeClaimable(): Promise<void> {
    const { store, limits } = this.#options
    while (this.#lookAgain) {
      this.#lookAgain = false
      const room = limits.runsConcurrentMax - this.running
      if (room <= 0 || this.#draining) return
      for (const id of await this.#claimable(room)) {
        if (this.#draining) return
        // Its claim ran out because this process was busy; nobody took it, so it is renewed and not taken.
        if (this.#drives.has(id) || this.#starting.has(id)) {
          await store.renew(this.owner, limits.leaseMs)
          continue
        }
        if (!this.reserve()) return
        try {
          const claimed = await store.claim(id, this.owner, limits.leaseMs)
          if (claimed !== undefined) this.#drive(claimed).catch((cause: unknown) => this.#complain(id, cause))
        } finally {
          this.free()
        }
      }
    }
  }

  /** Resolves when the run has started, or is settled without starting. */
  async #drive(claimed: StoredRun, continuation?: Continuation): Promise<void> {
    const { id } = claimed.run
    let begun: Begun | undefined
    this.#starting.add(id)
    try {
      begun = await this.#begin(claimed, continuation)
      this.#setbacks.delete(id)
      if (begun === undefined) return this.#look()
      this.#drives.set(id, begun.drive)
      const ending = begun.ended.then((end) => this.#ended(id, end, claimed.epoch))
      this.#ending.add(ending)
      void ending.finally(() => this.#ending.delete(ending))
      if (this.#handingOver) await begun.drive.release()
    } catch (cause) {
      // A paused run waits for its next continuation; any other would be claimed again at once.
      if (continuation !== undefined) await this.#giveBack(claimed)
      else await this.#suffer(claimed, cause)
      throw cause
    } finally {
      this.#starting.delete(id)
    }
    // A stop that came while the run was being started. If the store cannot be asked now, it will be at the next look.
    await this.#checkStop(id, begun.drive).catch((cause: unknown) => this.#complain(id, cause))
  }

  /** A run that cannot be begun is tried again, later each time, and ended when it is not the store that fails. */
  async #suffer(claimed: StoredRun, cause: unknown): Promise<void> {
    const { id } = claimed.run
    const setbacks = (this.#setbacks.get(id) ?? 0) + 1
    this.#setbacks.set(id, setbacks)
    const isOurs = !(cause instanceof HoldfastError && (cause.code === 'unavailable' || cause.code === 'fenced'))
    if (isOurs && setbacks >= this.#options.limits.attemptsMax) {
      try {
        await this.#failUnbegun(claimed, setbacks)
        this.#setbacks.delete(id)
        return
      } catch (failed) {
        this.#complain(id, failed)
      }
    }
    if (this.#handingOver) return this.#giveBack(claimed)
    const delay = Math.min(SETBACK_MS * 2 ** (setbacks - 1), SETBACK_MAX_MS)
    this.#resting.set(
      claimed,
      setTimeout(() => void this.#giveBack(claimed), delay),
    )
  }

  async #failUnbegun({ run, epoch }: StoredRun, setbacks: number): Promise<void> {
    const { store, clock, limits } = this.#options
    const now = await store.get(run.id)
    if (now === undefined || now.epoch !== epoch) return
    const message = `the run could not be started, ${setbacks} times in a row; the server's log says why`
    await settle(
      new RunLog(now.run, store.writer(run.id, { epoch, next: now.next }), clock, limits),
      now.stop,
      new RunFailure('internal', message).failure,
    )
  }

  async #giveBack(claimed: StoredRun): Promise<void> {
    clearTimeout(this.#resting.get(claimed))
    this.#resting.delete(claimed)
    await this.#options.store.release(claimed.run.id, claimed.epoch).catch(() => {})
  }

  /** Decides what a claimed run needs. Undefined when it was settled at once. */
  async #begin(claimed: StoredRun, continuation: Continuation | undefined): Promise<Begun | undefined> {
    const { store, clock, limits } = this.#options
    const { run, epoch, next } = claimed
    const log = new RunLog(run, store.writer(run.id, { epoch, next }), clock, limits)
    const parked = this.#unpark(run.id, next)
    try {
      return await this.#settleOrDrive(claimed, continuation, log, parked)
    } catch (cause) {
      await parked?.release() // an agent that is not continued comes to its `finally`
      throw cause
    }
  }

  async #settleOrDrive(
    claimed: StoredRun,
    continuation: Continuation | undefined,
    log: RunLog,
    parked: Drive | undefined,
  ): Promise<Begun | undefined> {
    const { store, limits, registry } = this.#options
    const { run, next } = claimed
    const stop = claimed.stop ?? (await store.get(run.id))?.stop
    const component = registry.find(run.component)
    const failure = stop === undefined ? refusal(claimed, component, continuation, limits) : undefined
    const isOrphan = continuation === undefined && run.status === 'running' && run.released !== true
    if (stop !== undefined || failure !== undefined || component === undefined) {
      await parked?.release()
      await settle(log, stop, failure)
      if (isOrphan && stop === undefined) this.#lost++
      return undefined
    }
    if (continuation !== undefined) {
      log.append({ type: 'run.resumed', data: continuation })
      await log.flush()
      if (parked !== undefined) return { drive: parked, ended: parked.continueWith(log, continuation.answers) }
    } else {
      await this.#startAttempt(log, component, claimed)
      if (isOrphan) this.#recovered++
    }
    const drive = await this.#prepare(log, component, run.status === 'queued' ? undefined : next)
    return { drive, ended: drive.start() }
  }

  async #startAttempt(log: RunLog, component: Component, { run }: StoredRun): Promise<void> {
    if (run.status === 'running' && component.recovery === 'retry') {
      const from = await this.#firstOfAttempt(run.id, run.attempt)
      log.append({
        type: 'attempt.discarded',
        data: { attempt: run.attempt, from, scope: 'all', ledger: 'dropped', reason: 'interrupted' },
      })
    }
    log.append({ type: 'run.started', data: { attempt: run.attempt + 1 } })
    await log.flush()
  }

  async #firstOfAttempt(id: string, attempt: number): Promise<number> {
    const { store, limits } = this.#options
    for (let after = -1; ;) {
      const slice = await store.read(id, after, limits.readBytesMax)
      if (slice === undefined) return 0
      for (const event of events(slice)) {
        if (event.type === 'run.started' && event.data.attempt === attempt) return event.index + 1
        after = event.index
      }
    }
  }

  /** A drive for a run; `past` is where its earlier log ends, absent for a run that never ran. */
  async #prepare(log: RunLog, component: Component, past: number | undefined): Promise<Drive> {
    const { store, limits } = this.#options
    const { id } = log.run
    const first = await store.read(id, -1, 1)
    const created = events(first!)[0]!.data as EventData['run.created']
    const history = past === undefined ? undefined : await loadHistory(store, id, log.next, limits.readBytesMax)
    const replay = history && new Replay(history.output)
    return new Drive({
      ...this.#options,
      component,
      input: created.input,
      log,
      ledger: history?.ledger ?? new Map(),
      spending: history?.spending ?? new Spending(),
      replay,
    })
  }

  async #ended(id: string, end: DriveEnd, epoch: number): Promise<void> {
    const drive = this.#drives.get(id)
    this.#drives.delete(id)
    if (end === 'paused' && drive !== undefined) this.#park(id, drive)
    if (end === 'released' || end === 'lost') await this.#options.store.release(id, epoch).catch(() => {})
    this.#look()
  }

  #park(id: string, drive: Drive): void {
    this.#parked.set(id, drive)
    if (this.#parked.size <= this.#options.limits.runsParkedMax) return
    const [oldest, evicted] = this.#parked.entries().next().value!
    this.#parked.delete(oldest)
    void evicted.release()
  }

  /** The parked agent, if nothing was written to its log behind its back. */
  #unpark(id: string, next: number): Drive | undefined {
    const drive = this.#parked.get(id)
    this.#parked.delete(id)
    if (drive === undefined || (drive.next === next && !drive.isOver)) return drive
    void drive.release()
    return undefined
  }

  #complain(run: string, cause: unknown): void {
    this.#options.logger.warn({ run, reason: messageOf(cause) }, 'run could not be driven')
  }
}

/** Why a claimed run must end as failed instead of being driven. */
function refusal(
  claimed: StoredRun,
  component: Component | undefined,
  continuation: Continuation | undefined,
  limits: Limits,
): Failure | undefined {
  const { status, waiting, released, interruptions = 0 } = claimed.run
  if (component === undefined)
    return { code: 'unsupported', message: `component ${claimed.run.component} is not served any more` }
  if (continuation !== undefined || status === 'queued') return undefined
  if (status === 'paused') {
    const prompts = (waiting ?? []).map(({ prompt }) => prompt).join('; ')
    return new RunFailure('deadline_exceeded', `nobody answered in time: ${prompts}`).failure
  }
  const attemptsMax = component.limits?.attemptsMax ?? limits.attemptsMax
  if ((component.recovery ?? 'fail') === 'fail') {
    return interrupted(released ? 'the server that drove the run was shut down' : 'the worker that drove the run died')
  }
  // A run that was handed over in good order may be started any number of times.
  if (!released && interruptions + 1 >= attemptsMax) {
    return interrupted(`the run was interrupted in each of its ${interruptions + 1} attempts`)
  }
  return undefined
}

function interrupted(message: string): Failure {
  return new RunFailure('interrupted', message).failure
}

/** Ends a run that nobody drives. */
async function settle(log: RunLog, stop: StopRequest | undefined, failure: Failure | undefined): Promise<void> {
  if (stop !== undefined) {
    const { at: _at, ...data } = stop
    log.append({ type: 'stop.requested', data })
    log.append({ type: 'run.cancelled', data })
  } else {
    log.append({ type: 'run.failed', data: { error: failure! } })
  }
  await log.flush()
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}
