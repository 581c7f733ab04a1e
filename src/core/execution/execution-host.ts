/** Interface of a run's execution to the contexts of its agent: steps, tools, questions and calls are built on it. */
import { sessionHistory } from '../sessions/session-history.ts'
import type { EncodedBatch, EncodedEvent } from './emission.ts'
import { RunFailure } from './run-failure.ts'
import { settleDivergence } from '../recovery/divergence.ts'
import type { Actor, Event, Failure, Question, Usage, WorkMarks } from '../model/event.ts'
import { FanOut } from './fan-out.ts'
import { ReplayBarrier } from '../recovery/replay-barrier.ts'
import type { SleepDetector } from './sleep-detector.ts'
import type { RunExecution } from './run-execution.ts'
import { runEndedError } from './run-ended-error.ts'
import type { Clock } from '../ports/clock.ts'
import type { HistoryMessage, HistoryOptions } from '../ports/component.ts'
import type { AsyncLocal, Enclosure } from '../recovery/enclosure.ts'
import type { Ledger } from '../recovery/ledger.ts'
import type { RedactOptions } from '../redaction/redaction.ts'
import type { SerializeBounds } from '../model/serialize.ts'

/** What contexts need from their execution. */
export interface ExecutionHost {
  readonly ledger: Ledger
  /** Holds new work until all recorded work was requested. */
  readonly replayBarrier: ReplayBarrier
  /** Limits the run's work in progress and in total. */
  readonly fanOut: FanOut
  /** Identities of exclusive work in progress. */
  readonly underWay: Set<string>
  readonly enclosures: AsyncLocal<Enclosure>
  readonly bounds: SerializeBounds
  /** Keyed digest of a text, equal in every attempt and on every node. */
  digest(text: string): string
  isReplaying(actor: Actor | undefined): boolean
  /** Ends the replay of an actor: retracts its logged output that it did not emit again. */
  endReplay(actor: Actor): void
  /** Ends the replay of a step: retracts its logged output that it did not emit again. */
  endReplayOfStep(actor: Actor | undefined): void
  /** Index of the next event. */
  next(): number
  /** Retracts an actor's output from an index on; with `below`, also that of the actors it called. */
  discard(actor: Actor | undefined, from: number, scope: 'own' | 'below'): Promise<void>
  /** Appends an event that an actor emitted. Returns a promise if the actor must wait (backpressure). */
  append(encoded: EncodedEvent): Promise<void> | undefined
  /** Appends events that must be committed together, and are matched together in a replay. */
  appendTogether(batch: EncodedBatch): Promise<void> | undefined
  /** Appends text of the actor that redaction has buffered, before other events of the actor. */
  flushBuffered(actor: Actor | undefined): void
  /** Like `flushBuffered`, at the end of an actor or of a step that emits. */
  endOutput(actor: Actor | undefined): void
  /** Also redacts by the rules of a called component. */
  redactBy(options: RedactOptions): void
  /** Appends an event of the ledger and resolves, when it is durable, with the event as stored. */
  record<Recorded extends Event>(event: Recorded): Promise<Recorded>
  /**
   * Appends an event that no later attempt is expected to emit at the same position. Returns a promise if the producer must wait
   * (backpressure).
   */
  show(event: Event): Promise<void> | undefined
  /** Usage of an actor that ends, including the actors that it called. */
  endUsage(actor: Actor, declared: Usage | undefined): Usage | undefined
  /** Marks that an agent with `onPause: 'release'` executes, until the returned function is called. */
  holdReleasable(): () => void
  /** Pauses the run until the question is answered. */
  wait(question: Question, work?: WorkMarks): Promise<unknown>
  /** Ends the run as failed; never returns to the agent. */
  fail(failure: Failure): Promise<never>
  /** Messages of earlier runs of the session. */
  history(options: HistoryOptions): Promise<readonly HistoryMessage[]>
  readonly clock: Clock
  readonly replayWaitMs: number
  /** Detects that the run does nothing but sleep. */
  readonly rest: SleepDetector
  /** Marks the agent as sleeping, which does not count as idle time, until the returned function is called. */
  startSleep(): () => void
}

export function hostOf(execution: RunExecution): ExecutionHost {
  const { limits, output, activity } = execution
  const { ledger, replay, tokenUsage, clock, store, component, enclosures, digest } = execution.options
  const fail = async (failure: Failure): Promise<never> => {
    await execution.finish({ type: 'run.failed', data: { error: failure } })
    throw runEndedError()
  }
  const wait: ExecutionHost['wait'] = (question, work) => execution.wait(question, work)
  const policy = component.onDivergence ?? 'ask'
  const diverging = { component: component.id, policy, ledger, wait, fail }
  return {
    ledger,
    replayBarrier: new ReplayBarrier({
      ledger,
      waitMs: limits.replayWaitMs,
      clock,
      diverged: (divergence) => settleDivergence(diverging, divergence),
    }),
    fanOut: new FanOut(ledger, limits),
    underWay: new Set(),
    enclosures,
    digest,
    bounds: execution.bounds,
    clock,
    replayWaitMs: limits.replayWaitMs,
    rest: activity.rest,
    startSleep: () => activity.sleep(),
    isReplaying: (actor) => replay?.isReplaying(actor) ?? false,
    endReplay: (actor) => replay?.retract(actor, output.log),
    endReplayOfStep: (actor) => replay?.retractOwn(actor, output.log),
    next: () => output.log.next,
    discard: async (actor, from, scope) => {
      const data = { attempt: execution.run.attempt, from, scope, ledger: 'kept', reason: 'failed' } as const
      await record(execution, { type: 'attempt.discarded', data, ...(actor !== undefined && { actor }) })
    },
    append: (encoded) => execution.appendOfActor(() => execution.append(encoded)),
    appendTogether: (batch) => execution.appendOfActor(() => execution.appendTogether(batch)),
    flushBuffered: (actor) => flushBuffered(execution, actor, false),
    endOutput: (actor) => flushBuffered(execution, actor, true),
    redactBy: (options) => output.log.redactBy(options),
    record: (event) => record(execution, event),
    show: (event) => show(execution, event),
    endUsage: (actor, declared) => tokenUsage.end(actor, declared),
    holdReleasable: () => execution.holdReleasable(),
    wait,
    history: (options) => sessionHistory(store, limits, execution.run, options),
    fail,
  }
}

function flushBuffered(execution: RunExecution, actor: Actor | undefined, isEnd: boolean): void {
  if (execution.isOver) return
  try {
    execution.output.flushBuffered(actor, isEnd)
  } catch (cause) {
    void execution.fail(cause)
    throw runEndedError()
  }
}

async function record<Recorded extends Event>(execution: RunExecution, event: Recorded): Promise<Recorded> {
  execution.touch()
  const { log } = execution.output
  try {
    const appended = log.append(event)
    await log.flush()
    return appended
  } catch (cause) {
    // An event that cannot be recorded fails the actor, not the run.
    if (cause instanceof RunFailure && event.actor !== undefined) throw cause
    await execution.fail(cause)
    throw runEndedError()
  }
}

function show(execution: RunExecution, event: Event): Promise<void> | undefined {
  execution.touch()
  const { log } = execution.output
  log.append(event)
  return log.isUnderBackpressure ? log.flush() : undefined
}
