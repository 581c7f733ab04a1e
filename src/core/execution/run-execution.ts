/**
 * Executes one run under one lease, from its start or resumption until it ends, pauses or is released. `run-agent.ts` runs the agent;
 * this class decides how the run ends, and makes sure that it does.
 */
import { type Component, RejectedError } from '../ports/component.ts'
import { AgentActivity } from './agent-activity.ts'
import { AgentCode } from './agent-code.ts'
import { runEndedError } from './run-ended-error.ts'
import { ExecutionOutput } from './execution-output.ts'
import type { EncodedBatch, EncodedEvent } from './emission.ts'
import { isHoldfastError, readable } from '../model/errors.ts'
import type { Event, Failure, Question, WorkMarks } from '../model/event.ts'
import type { Run } from '../model/run.ts'
import type { SerializeBounds } from '../model/serialize.ts'
import { originText, type UncaughtOrigin } from '../ports/execution-trace.ts'
import type { Ledger } from '../recovery/ledger.ts'
import type { Limits } from '../model/limits.ts'
import { eventLoop } from '../runtime/event-loop-tick.ts'
import { OpenQuestions } from './open-questions.ts'
import type { Digest, NodeDeps } from '../node-deps.ts'
import type { Replay } from '../recovery/replay.ts'
import { runAgent } from './run-agent.ts'
import { openQuestionFailure, withUsage } from './terminal-event.ts'
import { toRunFailure } from './to-run-failure.ts'
import { WriteRefusedError, refusalOf, type RunLog } from './run-log.ts'
import type { RunSlot } from '../scheduling/sleeping-runs.ts'
import type { TokenUsage } from './token-usage.ts'
import type { StopRequest } from '../ports/store.ts'
import { startTimer } from '../runtime/timer.ts'
import { isAbort, logUncaught } from './log-uncaught.ts'

export interface RunExecutionOptions extends Omit<NodeDeps, 'registry' | 'digests'> {
  readonly component: Component
  readonly input: unknown
  readonly log: RunLog
  readonly ledger: Ledger
  readonly digest: Digest
  readonly replay: Replay | undefined
  readonly tokenUsage: TokenUsage
  readonly slot: RunSlot
}

/**
 * How an execution ends, or its part until a pause. `finished`: the terminal event is logged. `paused`: it waits for answers.
 * `lost`: another worker has the lease, so nothing more can be written. `given-up`: the store was unavailable for too long, or lost
 * events. `released`: handed over for another worker to resume.
 */
export type ExecutionEnd = 'finished' | 'paused' | 'lost' | 'given-up' | 'released'

export class RunExecution {
  readonly options: RunExecutionOptions
  readonly limits: Limits
  readonly output: ExecutionOutput
  readonly activity: AgentActivity
  readonly #code: AgentCode
  readonly #questions = new OpenQuestions()
  readonly #firstIndex: number
  #resolveEnd: (end: ExecutionEnd) => void = () => {}
  #isOver = false
  /** Terminal event that the execution has decided on, whatever the agent still does. */
  #decidedEnd: Event | undefined
  #cancelGrace: (() => void) | undefined
  #isPauseScheduled = false
  /** Number of running components with `onPause: 'release'`. */
  #releasable = 0

  constructor(options: RunExecutionOptions) {
    const { component, log, clock, slot } = options
    this.options = options
    this.limits = { ...options.limits, ...component.limits }
    this.output = new ExecutionOutput(log, options.replay, options.tokenUsage)
    this.#firstIndex = log.next
    if (component.onPause === 'release') this.#releasable = 1
    this.#loseWith(log)
    this.#code = new AgentCode(options, {
      run: log.run.id,
      component: component.id,
      crash: (thrown, origin) => this.#crash(readable(thrown), origin),
    })
    this.activity = new AgentActivity({
      clock,
      limits: this.limits,
      slot,
      timedOut: ({ failure }) => this.#decide({ type: 'run.failed', data: { error: failure } }, failure.message),
    })
  }

  get runId(): string {
    return this.run.id
  }

  /** The run, including events that are not durable yet. */
  get run(): Run {
    return this.output.log.run
  }

  /** Size limits of one event. */
  get bounds(): SerializeBounds {
    return this.output.log.bounds
  }

  /** Whether the execution has ended: it appends nothing more. */
  get isOver(): boolean {
    return this.#isOver
  }

  /** Index of the next event. Used to detect that another node wrote to the log of a paused run. */
  get next(): number {
    return this.output.log.next
  }

  /** Epoch of the current lease. Changes each time the run is resumed. */
  get epoch(): number {
    return this.output.log.epoch
  }

  /** Index of the first event that is not durable yet. */
  get durable(): number {
    return this.output.log.durable
  }

  /** `run.paused` was written, which releases the lease: a missing lease is then not a loss. */
  get isPausing(): boolean {
    return this.run.status === 'paused'
  }

  /** Whether the agent stays in memory while the run is paused. */
  get isParkable(): boolean {
    return this.#releasable === 0
  }

  /** Whether the agent has written anything. What it replays is already logged and does not count. */
  get hasWritten(): boolean {
    return this.next > this.#firstIndex
  }

  // Called by the node that executes the run.

  /** Starts the agent. Resolves when the run ends, pauses or is released; never rejects. */
  start(): Promise<ExecutionEnd> {
    const end = this.#nextEnd()
    this.#code.call(() => runAgent(this, this.#code)).catch((cause: unknown) => this.lose(cause))
    return end
  }

  /** Resumes a paused agent that is still in memory, under a new lease. */
  resumeWith(log: RunLog, answers: Readonly<Record<string, unknown>>): Promise<ExecutionEnd> {
    this.output.resumeIn(log)
    this.#loseWith(log)
    const end = this.#nextEnd()
    this.#questions.answer(answers)
    return end
  }

  /** Carries out a stop: aborts the agent's signal. The run ends as cancelled when the agent ends or the grace period is over. */
  stop(request: StopRequest): void {
    if (this.#isOver || this.#decidedEnd !== undefined) return
    const { at: _at, ...data } = request
    try {
      this.output.log.append({ type: 'stop.requested', data })
    } catch (cause) {
      return this.lose(cause)
    }
    this.#decide({ type: 'run.cancelled', data }, 'the run was stopped')
  }

  /** Releases the run without ending it: another worker resumes it. */
  async release(reason: 'draining' | 'answered' = 'draining'): Promise<void> {
    if (this.#isOver) return
    try {
      if (this.run.status === 'running') this.output.log.append({ type: 'run.released', data: { reason } })
    } catch (cause) {
      return this.lose(cause)
    }
    const resolveEnd = this.#resolveEnd
    this.#close()
    await this.output.log.flush().catch((cause: unknown) => {
      this.options.logger.debug({ run: this.runId, err: cause }, 'failed to flush a released run')
    })
    resolveEnd('released')
  }

  /** Ends the execution because the lease or the store is lost. Nothing more is written. */
  lose(cause: unknown): void {
    if (this.#isOver) return
    const end = this.#lossOf(cause)
    this.#close()
    this.#resolveEnd(end)
  }

  // Called by the agent of the run and its contexts.

  /** Notes activity of the agent. Throws if the run has ended. */
  touch(): void {
    if (this.#isOver) throw runEndedError()
    this.activity.touch()
  }

  /** Appends an event that the run's own agent emitted. Returns a promise if the agent must wait (backpressure). */
  append(encoded: EncodedEvent): Promise<void> | undefined {
    this.touch()
    return this.output.append(encoded, this.activity.last)
  }

  /** Appends events that must be committed together. */
  appendTogether(batch: EncodedBatch): Promise<void> | undefined {
    this.touch()
    return this.output.appendTogether(batch, this.activity.last)
  }

  /** Appends what an actor emitted, which does not pass through the run's own iterator. */
  appendOfActor(append: () => Promise<void> | undefined): Promise<void> | undefined {
    const lost = async (cause: unknown): Promise<never> => {
      await this.fail(cause)
      throw runEndedError()
    }
    try {
      return append()?.catch(lost)
    } catch (cause) {
      return lost(cause)
    }
  }

  /** Marks that an agent with `onPause: 'release'` executes, until the returned function is called. */
  holdReleasable(): () => void {
    this.#releasable++
    return () => void this.#releasable--
  }

  /** Pauses the run until the question is answered. Concurrent questions share one pause. */
  wait(question: Question, work?: WorkMarks): Promise<unknown> {
    if (this.#isOver) return Promise.reject(runEndedError())
    const answer = this.#questions.ask(question, work)
    if (!this.#isPauseScheduled) eventLoop.afterPending(() => void this.#pause())
    this.#isPauseScheduled = true
    return answer
  }

  /** Fails the run with what was thrown. */
  async fail(caught: unknown): Promise<void> {
    if (this.#isOver) return
    const thrown = readable(caught)
    if (thrown instanceof WriteRefusedError) {
      // Another branch wrote this before the run was answered, and the answer's new lease refused it: the lease is not lost.
      return thrown.epoch === this.epoch ? this.lose(thrown) : this.release('answered')
    }
    if (thrown instanceof RejectedError) return this.finish({ type: 'run.rejected', data: { reason: thrown.message } })
    await this.finish({ type: 'run.failed', data: { error: this.failureOf(thrown) } })
  }

  /** Ends the run, with the terminal event that the execution decided on, if any. */
  async finish(event: Event): Promise<void> {
    if (this.#isOver) return
    const terminal = withUsage(this.#decidedEnd ?? this.#unlessAsking(event), this.options.tokenUsage)
    try {
      this.output.end(terminal.type === 'run.completed')
      this.output.log.append(terminal)
    } catch (cause) {
      if (cause instanceof WriteRefusedError) return this.lose(cause)
      // Only the terminal event itself can be unserializable here. The failure that reports it is plain text.
      this.output.log.append({ type: 'run.failed', data: { error: this.failureOf(cause) } })
    }
    const resolveEnd = this.#resolveEnd
    this.#close()
    try {
      await this.output.log.flush()
      resolveEnd('finished')
    } catch (cause) {
      resolveEnd(this.#lossOf(cause))
    }
  }

  /** Converts what was thrown to a failure, and logs it unless the outcome is already decided. */
  failureOf(thrown: unknown): Failure {
    const { logger, component, ids } = this.options
    return toRunFailure(thrown, {
      run: this.runId,
      component: component.id,
      errorId: ids.unique(),
      logger: this.#decidedEnd === undefined ? logger : undefined,
    })
  }

  #nextEnd(): Promise<ExecutionEnd> {
    this.activity.start()
    return new Promise((resolve) => (this.#resolveEnd = resolve))
  }

  async #pause(): Promise<void> {
    this.#isPauseScheduled = false
    if (this.#isOver || this.#decidedEnd !== undefined) return
    try {
      this.output.log.append({
        type: 'run.paused',
        data: { questions: this.#questions.all(), ...this.#questions.work() },
      })
      this.activity.stop()
      await this.output.log.flush()
    } catch (cause) {
      return await this.fail(cause)
    }
    this.#resolveEnd('paused')
  }

  #unlessAsking(event: Event): Event {
    const failure = openQuestionFailure(event, this.#questions.first)
    return failure === undefined ? event : { type: 'run.failed', data: { error: this.failureOf(failure) } }
  }

  /** A refused write ends the execution immediately: an idle agent would never notice it, and no node would recover the run. */
  #loseWith(log: RunLog): void {
    log.onLost = (cause) => {
      if (this.output.log === log) this.lose(cause)
    }
  }

  #lossOf(cause: unknown): ExecutionEnd {
    const isStoreUnavailable = isHoldfastError(refusalOf(cause), 'unavailable')
    const message = isStoreUnavailable ? 'gave up a run because the store was unavailable' : 'lost the lease of a run'
    this.options.logger.warn({ run: this.runId, err: cause }, message)
    return isStoreUnavailable ? 'given-up' : 'lost'
  }

  #crash(thrown: unknown, origin: UncaughtOrigin): void {
    if (this.#isOver || this.#decidedEnd !== undefined || this.isPausing) {
      const { run, component } = this.#code.trace
      const level = this.#code.signal.aborted && isAbort(thrown) ? 'debug' : 'error'
      logUncaught(this.options.logger, level, { run, component, origin }, thrown)
      // The lease is released, so nothing can be written. An answer rebuilds the run from its log.
      if (this.isPausing) void this.release()
      return
    }
    const failure = this.failureOf(thrown)
    const message = `${originText[origin]}: ${failure.message}`
    this.#decide({ type: 'run.failed', data: { error: { ...failure, message } } }, message)
  }

  /** Decides the outcome. The agent gets a grace period to clean up. */
  #decide(end: Event, reason: string): void {
    this.#decidedEnd = end
    this.activity.stop()
    this.#cancelGrace = startTimer(() => void this.finish(end), this.limits.stopGraceMs, this.options.clock)
    this.#code.abort(new DOMException(reason, 'AbortError'))
  }

  /** Ends the execution. */
  #close(): void {
    this.#isOver = true
    this.activity.stop()
    this.#cancelGrace?.()
    this.#questions.close(runEndedError()) // rejects pending questions, so that the agent reaches its `finally`
    if (!this.#code.signal.aborted) this.#code.abort(runEndedError())
    this.#code.close()
  }
}
