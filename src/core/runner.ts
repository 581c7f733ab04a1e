/** Drives one run under one claim: iterates its agent, appends what it emits, and sees to it that the run ends or pauses. */
import type { Component, Emission, RunContext } from './agent.ts'
import { RejectedError, WorkFailure } from './agent.ts'
import type { Clock, Ids } from './clock.ts'
import { createContext } from './context.ts'
import { conversationBefore } from './conversation.ts'
import { encodeEmission, type Encoded, RunFailure } from './emission.ts'
import { messageOf, readable } from './errors.ts'
import { type Actor, type Event, eventTable, type Failure, type Question, type Usage } from './event.ts'
import { type Ledger, ledgerKey } from './history.ts'
import { iterate } from './iterate.ts'
import type { Limits } from './limits.ts'
import type { Logger } from './logger.ts'
import { eventOf } from './record.ts'
import type { Replay } from './replay.ts'
import { LogLostError, type RunLog } from './run-log.ts'
import type { ContextHost } from './scope.ts'
import type { Spending } from './spending.ts'
import type { StopRequest, Store } from './store.ts'

export interface DriveOptions {
  readonly component: Component
  readonly input: unknown
  readonly store: Store
  readonly log: RunLog
  readonly ledger: Ledger
  readonly replay: Replay | undefined
  readonly spending: Spending
  readonly limits: Limits
  readonly clock: Clock
  readonly ids: Ids
  readonly logger: Logger
}

/**
 * How a stretch of driving ends. `finished`: the log has its terminal. `paused`: it waits for answers. `lost`: the claim or the
 * store is gone, nothing more can be written here. `released`: handed over, for another worker to go on.
 */
export type DriveEnd = 'finished' | 'paused' | 'lost' | 'released'

interface Waiting {
  readonly question: Question
  readonly resolve: (answer: unknown) => void
  readonly reject: (cause: unknown) => void
}

export class Drive {
  readonly #options: DriveOptions
  readonly #limits: Limits
  readonly #controller = new AbortController()
  readonly #waiting = new Map<string, Waiting>()
  #log: RunLog
  readonly #replay: Replay | undefined
  #iterator: AsyncIterator<Emission, unknown> | undefined
  #end: (end: DriveEnd) => void = () => {}
  #over = false
  /** The outcome that the runner has decided on, whatever the agent still does. */
  #verdict: Event | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #deadline = 0
  #lastActivity = 0
  #pausing = false
  #lastBreath = 0

  constructor(options: DriveOptions) {
    this.#options = options
    this.#limits = { ...options.limits, ...options.component.limits }
    this.#log = options.log
    this.#replay = options.replay
  }

  get runId(): string {
    return this.#log.run.id
  }

  /** Nothing more comes from it. */
  get isOver(): boolean {
    return this.#over
  }

  /** Index that the next event will get: where a parked drive stands. */
  get next(): number {
    return this.#log.next
  }

  /** Starts the agent. Resolves when this stretch ends; never rejects. */
  start(): Promise<DriveEnd> {
    const ended = this.#begin()
    this.#consume().catch((cause: unknown) => this.lose(cause))
    return ended
  }

  /** Goes on with a paused agent that is still in memory, under a new claim. */
  continueWith(log: RunLog, answers: Readonly<Record<string, unknown>>): Promise<DriveEnd> {
    this.#log = log
    const ended = this.#begin()
    for (const [key, { resolve }] of this.#waiting) {
      if (!Object.hasOwn(answers, key)) continue
      this.#waiting.delete(key)
      this.#options.ledger.set(ledgerKey('ask', key), { state: 'done', index: log.next - 1, result: answers[key] })
      resolve(answers[key])
    }
    return ended
  }

  /** Carries out a stop: the agent is told, and the run ends as cancelled when it obeys or when its grace is over. */
  stop(request: StopRequest): void {
    if (this.#over || this.#verdict !== undefined) return
    const { at: _at, ...data } = request
    this.#attempt(() => this.#log.append({ type: 'stop.requested', data }))
    this.#decide({ type: 'run.cancelled', data }, 'the run was stopped')
  }

  /** Lets go of the run without ending it: another worker goes on. */
  async release(): Promise<void> {
    if (this.#over) return
    try {
      if (this.#log.run.status === 'running') this.#log.append({ type: 'run.released', data: { reason: 'draining' } })
    } catch (cause) {
      return this.lose(cause)
    }
    const end = this.#end
    this.#cease(undefined)
    await this.#log.flush().catch(() => {})
    end('released')
  }

  /** The claim is gone. Nothing is written any more. */
  lose(cause: unknown): void {
    if (this.#over) return
    this.#options.logger.warn({ run: this.runId, reason: messageOf(cause) }, 'run lost to this worker')
    this.#cease('lost')
  }

  #begin(): Promise<DriveEnd> {
    this.#deadline = this.#options.clock.now() + this.#limits.runDeadlineMs
    this.#touch()
    this.#lastBreath = this.#lastActivity
    this.#watch()
    return new Promise((resolve) => (this.#end = resolve))
  }

  async #consume(): Promise<void> {
    try {
      const { component, input } = this.#options
      const iterator = iterate(component.run(input, this.#context()))
      this.#iterator = iterator
      for (;;) {
        const { done, value } = await iterator.next()
        if (this.#over) return
        if (done === true)
          return await this.#finish({ type: 'run.completed', data: value === undefined ? {} : { output: value } })
        const wait = this.#emit(value)
        if (wait !== undefined) await wait
        if (this.#over) return
      }
    } catch (thrown) {
      await this.#failed(thrown)
    } finally {
      if (this.#over) this.#closeIterator()
    }
  }

  /** How the agent ends, which it cannot do while it asks, but for failing. */
  #endOf(event: Event): Event {
    const [unanswered] = this.#waiting.values()
    if (unanswered === undefined || event.type === 'run.failed') return event
    const message = `the agent ended without waiting for its question ${JSON.stringify(unanswered.question.prompt)}`
    return {
      type: 'run.failed',
      data: { error: this.#failureOf(new RunFailure('protocol_violation', message)) },
    }
  }

  /** Takes one emission; a promise when the agent should be held back for it. */
  #emit(emission: Emission): Promise<void> | undefined {
    const encoded = encodeEmission(emission, this.#log.bounds)
    if (eventTable[encoded.type].effect === 'terminal') return this.#finish(this.#ending(emission as Event))
    return this.#put(encoded)
  }

  /** What an agent itself ends with. A failure is in the server's log too, whoever tells it. */
  #ending(event: Event): Event {
    if (event.type !== 'run.failed') return event
    return { ...event, data: { ...event.data, error: this.#failureOf(new WorkFailure(event.data.error)) } }
  }

  #put(encoded: Encoded): Promise<void> | undefined {
    if (this.#over) throw over()
    this.#touch()
    if (this.#replay?.match(encoded, this.#log) !== true) this.#add(encoded)
    if (this.#log.pressed) return this.#log.flush()
    return this.#lastActivity - this.#lastBreath >= BREATH_MS ? this.#breathe() : undefined
  }

  #add(encoded: Encoded): void {
    this.#log.add(encoded)
    if (encoded.type === 'model.responded') this.#options.spending.note(eventOf(encoded.body))
  }

  /** An agent that never waits would keep the thread from everyone else. */
  async #breathe(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, 0))
    this.#lastBreath = this.#options.clock.now()
  }

  #context(): RunContext {
    const { id: run, session, owner, metadata = {}, attempt } = this.#log.run
    const host: ContextHost = {
      ledger: this.#options.ledger,
      bounds: this.#log.bounds,
      now: () => this.#options.clock.now(),
      isReplaying: (actor) => this.#replay?.isReplaying(actor) ?? false,
      endReplay: (actor) => this.#replay?.withdraw(actor, this.#log),
      endReplayOfStep: (actor) => this.#replay?.withdrawOwn(actor, this.#log),
      next: () => this.#log.next,
      discard: (actor, from, scope) => this.#discard(actor, from, scope),
      put: (encoded) => this.#putOfActor(encoded),
      record: (event) => this.#record(event),
      show: (event) => this.#show(event),
      spent: (actor, declared) => this.#options.spending.end(actor, declared),
      wait: (question) => this.#wait(question),
      history: (options) => conversationBefore(this.#options.store, this.#limits, this.#log.run, options),
      fail: (failure) => this.#failNow(failure),
    }
    return createContext({
      host,
      facts: { run, session, owner, metadata, attempt },
      signal: this.#controller.signal,
      uncertain: this.#options.component.uncertain ?? 'pause',
      actor: undefined,
      prefix: '',
      depth: 0,
    })
  }

  /** What actors emit does not come through the run's own iterator. */
  #putOfActor(encoded: Encoded): Promise<void> | undefined {
    const lost = async (cause: unknown): Promise<never> => {
      await this.#failed(cause)
      throw over()
    }
    try {
      return this.#put(encoded)?.catch(lost)
    } catch (cause) {
      return lost(cause)
    }
  }

  #discard(actor: Actor | undefined, from: number, scope: 'own' | 'below'): Promise<void> {
    const data = { attempt: this.#log.run.attempt, from, scope, ledger: 'kept', reason: 'failed' } as const
    return this.#record({ type: 'attempt.discarded', data, ...(actor !== undefined && { actor }) })
  }

  async #record(event: Event): Promise<void> {
    if (this.#over) throw over()
    this.#touch()
    try {
      this.#log.append(event)
      await this.#log.flush()
    } catch (cause) {
      // What an actor cannot have recorded is its own failure and not the run's.
      if (cause instanceof RunFailure && event.actor !== undefined) throw cause
      await this.#failed(cause)
      throw over()
    }
  }

  #show(event: Event): Promise<void> | undefined {
    if (this.#over) throw over()
    this.#touch()
    this.#log.append(event)
    return this.#log.pressed ? this.#log.flush() : undefined
  }

  async #failNow(failure: Failure): Promise<never> {
    await this.#finish({ type: 'run.failed', data: { error: failure } })
    throw over()
  }

  /** Questions that are asked together are put together. */
  #wait(question: Question): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#over) return reject(over())
      this.#waiting.set(question.id, { question, resolve, reject })
      if (this.#pausing) return
      this.#pausing = true
      setTimeout(() => void this.#pause(), 0)
    })
  }

  async #pause(): Promise<void> {
    this.#pausing = false
    if (this.#over || this.#verdict !== undefined) return
    try {
      this.#log.append({
        type: 'run.paused',
        data: { questions: [...this.#waiting.values()].map(({ question }) => question) },
      })
      clearTimeout(this.#timer)
      await this.#log.flush()
    } catch (cause) {
      return await this.#failed(cause)
    }
    this.#end('paused')
  }

  async #failed(caught: unknown): Promise<void> {
    if (this.#over) return
    const thrown = readable(caught)
    if (thrown instanceof LogLostError) return this.lose(thrown)
    if (thrown instanceof RejectedError) return this.#finish({ type: 'run.rejected', data: { reason: thrown.message } })
    await this.#finish({ type: 'run.failed', data: { error: this.#failureOf(thrown) } })
  }

  #failureOf(thrown: unknown): Failure {
    const { logger, component, ids } = this.#options
    const id = ids.unique()
    const own = thrown instanceof RunFailure || thrown instanceof WorkFailure
    const failure: Failure = own ? thrown.failure : { code: 'agent_failed', message: messageOf(thrown) }
    const type = thrown instanceof Error ? thrown.name : typeof thrown
    const fields = {
      run: this.runId,
      component: component.id,
      errorId: id,
      code: failure.code,
      details: failure.details,
    }
    try {
      if (this.#verdict === undefined)
        logger.error({ ...fields, ...(thrown instanceof Error && { err: thrown }) }, `run failed: ${failure.message}`)
    } catch {
      logger.error(fields, `run failed: ${failure.message}`) // the error has a property that cannot be read
    }
    const known = failure.details
    // What is no object is the agent's own affair; there is no place for the id in it.
    if (known !== undefined && (typeof known !== 'object' || known === null || Array.isArray(known))) return failure
    return { ...failure, details: { ...known, ...(!own && { type }), id } }
  }

  /** Ends the run, by the runner's verdict where there is one. */
  async #finish(event: Event): Promise<void> {
    if (this.#over) return
    const terminal = this.#withUsage(this.#verdict ?? this.#endOf(event))
    try {
      if (terminal.type === 'run.completed') this.#replay?.withdrawAll(this.#log)
      this.#log.append(terminal)
    } catch (cause) {
      if (cause instanceof LogLostError) return this.lose(cause)
      // Only the terminal itself can be unserializable here, and the failure that says so is made of plain text.
      this.#log.append({ type: 'run.failed', data: { error: this.#failureOf(cause) } })
    }
    const end = this.#end
    this.#cease(undefined)
    try {
      await this.#log.flush()
      end('finished')
    } catch (cause) {
      this.#options.logger.warn({ run: this.runId, reason: messageOf(cause) }, 'run lost to this worker')
      end('lost')
    }
  }

  #withUsage(event: Event): Event {
    if (event.type === 'run.rejected') return event
    const usage = this.#options.spending.end(undefined, (event.data as { usage?: Usage }).usage)
    return usage === undefined ? event : ({ ...event, data: { ...event.data, usage } } as Event)
  }

  /** Nothing more comes from this drive. */
  #cease(end: DriveEnd | undefined): void {
    this.#over = true
    clearTimeout(this.#timer)
    // The agent is to come to its `finally`, wherever it waits.
    for (const { reject } of this.#waiting.values()) reject(over())
    this.#waiting.clear()
    if (!this.#controller.signal.aborted) this.#controller.abort(over())
    this.#closeIterator()
    if (end !== undefined) this.#end(end)
  }

  /** The outcome is settled; the agent gets its grace to clean up. */
  #decide(verdict: Event, reason: string): void {
    this.#verdict = verdict
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.#finish(verdict), this.#limits.stopGraceMs)
    this.#controller.abort(new DOMException(reason, 'AbortError'))
  }

  #touch(): void {
    this.#lastActivity = this.#options.clock.now()
  }

  #watch(): void {
    const due = Math.min(this.#deadline, this.#lastActivity + this.#limits.runIdleMs)
    this.#timer = setTimeout(
      () => this.#checkTime(),
      Math.min(Math.max(due - this.#options.clock.now(), 1), TIMER_MAX_MS),
    )
  }

  #checkTime(): void {
    const now = this.#options.clock.now()
    const { runDeadlineMs, runIdleMs } = this.#limits
    if (now >= this.#deadline) return this.#timeOut('deadline_exceeded', `the run took longer than ${runDeadlineMs} ms`)
    if (now >= this.#lastActivity + runIdleMs)
      return this.#timeOut('idle_timeout', `the agent was silent for ${runIdleMs} ms`)
    this.#watch()
  }

  #timeOut(code: 'deadline_exceeded' | 'idle_timeout', message: string): void {
    this.#decide({ type: 'run.failed', data: { error: new RunFailure(code, message).failure } }, message)
  }

  #attempt(act: () => void): void {
    try {
      act()
    } catch (cause) {
      this.lose(cause)
    }
  }

  /** An agent that is suspended at a yield gets to run its `finally`; one that is busy will find out by its signal. */
  #closeIterator(): void {
    const iterator = this.#iterator
    this.#iterator = undefined
    const closed = (async () => iterator?.return?.())()
    closed.catch((cause: unknown) => {
      this.#options.logger.debug({ run: this.runId, reason: messageOf(cause) }, 'agent threw while it was closed')
    })
  }
}

/** Node's timers cannot wait longer than this. */
const TIMER_MAX_MS = 2 ** 31 - 1

/** Longest time for which one agent may keep the thread. */
const BREATH_MS = 20

/** What an agent gets for anything that it still wants of a run that has ended. */
function over(): DOMException {
  return new DOMException('the run is over', 'AbortError')
}
