/** Executes one run under one lease: iterates its agent, appends what it emits, and makes sure that the run ends or pauses. */
import type { Component, Emission, RunContext } from '../ports/component.ts'
import { RejectedError, WorkFailure } from '../ports/component.ts'
import { elapsedOf } from '../ports/clock.ts'
import { createContext } from './context.ts'
import { type ExecutionHost, hostOf, runEndedError } from './execution-host.ts'
import { ExecutionOutput } from './execution-output.ts'
import { encodeEmission, type EncodedEvent } from './emission.ts'
import { RunFailure } from './run-failure.ts'
import { isHoldfastError, messageOf, readable } from '../model/errors.ts'
import { countedKeys } from './branches.ts'
import { type Event, eventTable, type Failure, type Question, type Usage, type WorkMarks } from '../model/event.ts'
import { iterate } from './iterate.ts'
import { type ExecutionTrace, originText, type UncaughtOrigin } from '../ports/execution-trace.ts'
import type { Ledger } from '../recovery/ledger.ts'
import type { Limits } from '../model/limits.ts'
import { eventLoop } from '../runtime/event-loop-tick.ts'
import { OpenQuestions } from './open-questions.ts'
import type { Digest, NodeDeps } from '../ports/node-deps.ts'
import type { Replay } from '../recovery/replay.ts'
import { SleepDetector } from './sleep-detector.ts'
import { toRunFailure } from './to-run-failure.ts'
import { LogLostError, refusalOf, type RunLog } from './run-log.ts'
import type { RunSlot } from '../scheduling/sleeping-runs.ts'
import type { TokenUsage } from './token-usage.ts'
import type { StopRequest } from '../ports/store.ts'
import { startTimer } from '../runtime/timer.ts'
import { isAbort, logUncaught } from './log-uncaught.ts'
import { RunWatchdog } from './run-watchdog.ts'

export interface RunExecutionOptions extends Omit<NodeDeps, 'registry' | 'digests'> {
  readonly component: Component
  readonly input: unknown
  readonly log: RunLog
  readonly ledger: Ledger
  readonly digest: Digest
  readonly replay: Replay | undefined
  readonly spending: TokenUsage
  readonly slot: RunSlot
}

/**
 * How a stretch of execution ends. `finished`: the log has its terminal. `paused`: it waits for answers. `lost`: the lease is gone,
 * nothing more can be written here. `given up`: the store was unavailable for too long, or lost events. `released`: handed over, for
 * another worker to resume.
 */
export type ExecutionEnd = 'finished' | 'paused' | 'lost' | 'given up' | 'released'

export class RunExecution {
  readonly options: RunExecutionOptions
  readonly limits: Limits
  readonly output: ExecutionOutput
  /** Knows when the run does nothing but sleep. */
  readonly rest: SleepDetector
  readonly #controller = new AbortController()
  readonly #questions = new OpenQuestions()
  readonly #watchdog: RunWatchdog
  readonly #execution: ExecutionTrace
  #iterator: AsyncIterator<Emission, unknown> | undefined
  #host: ExecutionHost | undefined
  #end: (end: ExecutionEnd) => void = () => {}
  #over = false
  /** Terminal event that the execution has decided on, whatever the agent still does. */
  #verdict: Event | undefined
  #stopGrace: (() => void) | undefined
  #lastActivity = 0
  #pausing = false
  readonly #firstIndex: number
  /** Running components that are not kept while the run is paused. */
  #releasable = 0

  constructor(options: RunExecutionOptions) {
    this.options = options
    this.limits = { ...options.limits, ...options.component.limits }
    this.output = new ExecutionOutput(options.log, options.replay, options.spending)
    this.#firstIndex = options.log.next
    if (options.component.whenPaused === 'release') this.#releasable = 1
    this.#heed(options.log)
    this.rest = new SleepDetector(options.slot)
    this.#execution = {
      run: options.log.run.id,
      component: options.component.id,
      crash: (thrown, origin) => this.#crash(readable(thrown), origin),
    }
    this.#watchdog = new RunWatchdog(options.clock, this.limits, {
      lastActivity: () => this.#lastActivity,
      timedOut: ({ failure }) => this.#decide({ type: 'run.failed', data: { error: failure } }, failure.message),
    })
  }

  get runId(): string {
    return this.output.log.run.id
  }

  /** Nothing more comes from it. */
  get isOver(): boolean {
    return this.#over
  }

  /** Index that the next event will get: where a parked execution stands. */
  get next(): number {
    return this.output.log.next
  }

  /** Epoch of its current claim. It changes each time the run is resumed. */
  get epoch(): number {
    return this.output.log.epoch
  }

  /** Index of the first event that is not durable yet. */
  get durable(): number {
    return this.output.log.durable
  }

  /** It has written `run.paused`, which gives up the claim: a missing lease is then no loss. */
  get isPausing(): boolean {
    return this.output.log.run.status === 'paused'
  }

  /** Whether its agent stays in memory while it is paused. */
  get isParkable(): boolean {
    return this.#releasable === 0
  }

  /** Its agent has written something: what it replays is in the log already. */
  get hasWritten(): boolean {
    return this.next > this.#firstIndex
  }

  /** Starts the agent. Resolves when this stretch ends; never rejects. */
  start(): Promise<ExecutionEnd> {
    const ended = this.#begin()
    this.#asAgent(() => this.#consume()).catch((cause: unknown) => this.lose(cause))
    return ended
  }

  /** Resumes a paused agent that is still in memory, under a new claim. */
  continueWith(log: RunLog, answers: Readonly<Record<string, unknown>>): Promise<ExecutionEnd> {
    this.output.continueIn(log)
    this.#heed(log)
    const ended = this.#begin()
    this.#questions.answer(answers)
    return ended
  }

  /** Carries out a stop: aborts the agent's signal, and the run ends as cancelled when it obeys or when its grace is over. */
  stop(request: StopRequest): void {
    if (this.#over || this.#verdict !== undefined) return
    const { at: _at, ...data } = request
    this.#attempt(() => this.output.log.append({ type: 'stop.requested', data }))
    this.#decide({ type: 'run.cancelled', data }, 'the run was stopped')
  }

  /** Releases the run without ending it: another worker resumes it. */
  async release(reason: 'draining' | 'answered' = 'draining'): Promise<void> {
    if (this.#over) return
    try {
      if (this.output.log.run.status === 'running') this.output.log.append({ type: 'run.released', data: { reason } })
    } catch (cause) {
      return this.lose(cause)
    }
    const end = this.#end
    this.#cease(undefined)
    await this.output.log.flush().catch((cause: unknown) => {
      this.options.logger.debug({ run: this.runId, err: cause }, 'failed to flush a released run')
    })
    end('released')
  }

  /** The claim or the store is gone. Nothing is written any more. */
  lose(cause: unknown): void {
    if (this.#over) return
    this.#cease(this.#lossOf(cause))
  }

  #lossOf(cause: unknown): ExecutionEnd {
    const isAway = isHoldfastError(refusalOf(cause), 'unavailable')
    const message = isAway ? 'gave up a run because the store was unavailable' : 'lost the lease of a run'
    this.options.logger.warn({ run: this.runId, err: cause }, message)
    return isAway ? 'given up' : 'lost'
  }

  /** A rejected write ends the execution at once: an idle agent would never notice it, and no node would recover the run. */
  #heed(log: RunLog): void {
    log.onLost = (cause) => {
      if (this.output.log === log) this.lose(cause)
    }
  }

  /** Calls code of the agent, so that whatever it starts can be traced back to this run. */
  #asAgent<Result>(work: () => Result): Result {
    return this.options.executions.run(this.#execution, work)
  }

  #crash(thrown: unknown, origin: UncaughtOrigin): void {
    if (this.#over || this.#verdict !== undefined || this.isPausing) {
      const { run, component } = this.#execution
      const level = this.#controller.signal.aborted && isAbort(thrown) ? 'debug' : 'error'
      logUncaught(this.options.logger, level, { run, component, origin }, thrown)
      // Its claim is given up, so nothing can be written: an answer rebuilds the run from its log.
      if (this.isPausing) void this.release()
      return
    }
    const failure = this.#failureOf(thrown)
    const message = `${originText[origin]}: ${failure.message}`
    this.#decide({ type: 'run.failed', data: { error: { ...failure, message } } }, message)
  }

  #begin(): Promise<ExecutionEnd> {
    this.#touch()
    this.#watchdog.start()
    return new Promise((resolve) => (this.#end = resolve))
  }

  async #consume(): Promise<void> {
    try {
      const { component, input } = this.options
      const iterator = iterate(component.run(input, this.#context()))
      this.#iterator = iterator
      for (;;) {
        const { done, value } = await iterator.next()
        if (this.#over) return
        if (done === true)
          return await this.#conclude({ type: 'run.completed', data: value === undefined ? {} : { output: value } })
        const wait = this.#emit(value)
        if (wait !== undefined) await wait
        if (this.#over) return
      }
    } catch (thrown) {
      await this.#threw(readable(thrown))
    } finally {
      if (this.#over) this.#closeIterator()
    }
  }

  /** The agent has ended. Ends the run once the agent has requested all recorded work. */
  async #conclude(event: Event): Promise<void> {
    await this.#ended('the agent')
    await this.finish(event)
  }

  async #threw(thrown: unknown): Promise<void> {
    if (!(thrown instanceof LogLostError)) await this.#ended(`the agent failed (${messageOf(thrown)}) and`)
    await this.fail(thrown)
  }

  async #ended(who: string): Promise<void> {
    const { signal } = this.#controller
    try {
      await this.#host?.past.end({ kind: 'end', name: who }, undefined, undefined, signal)
    } catch {
      // The run was ended in the meantime, or is about to be: its end does not wait.
    }
  }

  /** The terminal event. While a question is open, the agent can only fail. */
  #endOf(event: Event): Event {
    const unanswered = this.#questions.first
    if (unanswered === undefined || event.type === 'run.failed') return event
    const message = `the agent ended without waiting for its question ${JSON.stringify(unanswered.prompt)}`
    return {
      type: 'run.failed',
      data: { error: this.#failureOf(new RunFailure('protocol_violation', message)) },
    }
  }

  /** Takes one emission; a promise if the agent should wait (backpressure). */
  #emit(emission: Emission): Promise<void> | undefined {
    const encoded = encodeEmission(emission, this.output.log.bounds)
    if (eventTable[encoded.type].effect === 'terminal') return this.#conclude(this.#ending(emission as Event))
    return this.#put(encoded)
  }

  /** The terminal event that an agent emitted. A failure is also written to the server log. */
  #ending(event: Event): Event {
    if (event.type !== 'run.failed') return event
    return { ...event, data: { ...event.data, error: this.#failureOf(new WorkFailure(event.data.error)) } }
  }

  #put(encoded: EncodedEvent): Promise<void> | undefined {
    this.touch()
    return this.output.put(encoded, this.#lastActivity)
  }

  #context(): RunContext {
    const { id: run, session, owner, metadata = {}, attempt } = this.output.log.run
    this.#host = hostOf(this)
    return createContext({
      host: this.#host,
      facts: { run, session, owner, metadata, attempt },
      signal: this.#controller.signal,
      uncertain: this.options.component.uncertain ?? 'pause',
      actor: undefined,
      prefix: '',
      within: '',
      branch: undefined,
      counted: countedKeys(''),
      depth: 0,
    })
  }

  // Used by the contexts of its agent, through their host.

  /** The agent did something; throws when the run is over. */
  touch(): void {
    if (this.#over) throw runEndedError()
    this.#touch()
  }

  /** Takes what an actor emitted, which does not come through the run's own iterator. */
  putOfActor(encoded: EncodedEvent): Promise<void> | undefined {
    const lost = async (cause: unknown): Promise<never> => {
      await this.fail(cause)
      throw runEndedError()
    }
    try {
      return this.#put(encoded)?.catch(lost)
    } catch (cause) {
      return lost(cause)
    }
  }

  /** An agent that is not kept while the run is paused executes, until the returned function is called. */
  holdReleasable(): () => void {
    this.#releasable++
    return () => void this.#releasable--
  }

  /** The agent sleeps until the returned function is called. */
  sleep(): () => void {
    const woken = this.#watchdog.suspend()
    return () => {
      this.#touch()
      woken()
    }
  }

  /** Pauses the run until the question is answered. Concurrent questions share one pause. */
  wait(question: Question, work?: WorkMarks): Promise<unknown> {
    if (this.#over) return Promise.reject(runEndedError())
    const answer = this.#questions.ask(question, work)
    if (!this.#pausing) eventLoop.soon(() => void this.#pause())
    this.#pausing = true
    return answer
  }

  async #pause(): Promise<void> {
    this.#pausing = false
    if (this.#over || this.#verdict !== undefined) return
    try {
      this.output.log.append({
        type: 'run.paused',
        data: { questions: this.#questions.all(), ...this.#questions.work() },
      })
      this.#watchdog.stop()
      await this.output.log.flush()
    } catch (cause) {
      return await this.fail(cause)
    }
    this.#end('paused')
  }

  /** Ends the run because of what was thrown. */
  async fail(caught: unknown): Promise<void> {
    if (this.#over) return
    const thrown = readable(caught)
    if (thrown instanceof LogLostError) {
      // Written by another branch before the run was answered, and refused because of the answer: the log has not lost its worker.
      return thrown.epoch === this.epoch ? this.lose(thrown) : this.release('answered')
    }
    if (thrown instanceof RejectedError) return this.finish({ type: 'run.rejected', data: { reason: thrown.message } })
    await this.finish({ type: 'run.failed', data: { error: this.#failureOf(thrown) } })
  }

  #failureOf(thrown: unknown): Failure {
    const { logger, component, ids } = this.options
    return toRunFailure(thrown, {
      run: this.runId,
      component: component.id,
      errorId: ids.unique(),
      logger: this.#verdict === undefined ? logger : undefined,
    })
  }

  /** Ends the run, with the execution's own verdict if there is one. */
  async finish(event: Event): Promise<void> {
    if (this.#over) return
    const terminal = this.#withUsage(this.#verdict ?? this.#endOf(event))
    try {
      this.output.end(terminal.type === 'run.completed')
      this.output.log.append(terminal)
    } catch (cause) {
      if (cause instanceof LogLostError) return this.lose(cause)
      // Only the terminal itself can be unserializable here, and the failure that says so is made of plain text.
      this.output.log.append({ type: 'run.failed', data: { error: this.#failureOf(cause) } })
    }
    const end = this.#end
    this.#cease(undefined)
    try {
      await this.output.log.flush()
      end('finished')
    } catch (cause) {
      end(this.#lossOf(cause))
    }
  }

  #withUsage(event: Event): Event {
    if (event.type === 'run.rejected') return event
    const usage = this.options.spending.end(undefined, (event.data as { usage?: Usage }).usage)
    return usage === undefined ? event : ({ ...event, data: { ...event.data, usage } } as Event)
  }

  /** Nothing more comes from this execution. */
  #cease(end: ExecutionEnd | undefined): void {
    this.#over = true
    this.#watchdog.stop()
    this.#stopGrace?.()
    this.#questions.close(runEndedError()) // the agent is to come to its `finally`, wherever it waits
    if (!this.#controller.signal.aborted) this.#abort(runEndedError())
    this.#closeIterator()
    if (end !== undefined) this.#end(end)
  }

  /** The outcome is settled; the agent gets its grace to clean up. */
  #decide(verdict: Event, reason: string): void {
    this.#verdict = verdict
    this.#watchdog.stop()
    this.#stopGrace = startTimer(() => void this.finish(verdict), this.limits.stopGraceMs, this.options.clock)
    this.#abort(new DOMException(reason, 'AbortError'))
  }

  /** Abort listeners are agent code, so they run in the trace of the agent and not of the caller. */
  #abort(reason: DOMException): void {
    this.#asAgent(() => this.#controller.abort(reason))
  }

  #touch(): void {
    this.#lastActivity = elapsedOf(this.options.clock)
    if (this.rest.isResting) this.rest.disturb()
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
    const closed = this.#asAgent(async () => iterator?.return?.())
    closed.catch((cause: unknown) => {
      this.options.logger.debug({ run: this.runId, err: cause }, 'the agent threw while it was closed')
    })
  }
}
