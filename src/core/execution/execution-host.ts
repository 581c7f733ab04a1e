/** What a drive does for the contexts of its agent: their steps, tools, questions and calls come down to these. */
import { sessionHistory } from '../sessions/session-history.ts'
import { type EncodedEvent, RunFailure } from './emission.ts'
import { settleDivergence } from '../recovery/divergence.ts'
import type { Actor, Event, Failure, Question, WorkMarks } from '../model/event.ts'
import { FanOut } from './fan-out.ts'
import type { Limits } from '../model/limits.ts'
import { ReplayBarrier } from '../recovery/replay-barrier.ts'
import type { SleepDetector } from './sleep-detector.ts'
import type { RunLog } from './run-log.ts'
import type { RunExecutionOptions } from './run-execution.ts'
import type { ExecutionHost } from './actor-scope.ts'

/** The drive, as its contexts need it. */
export interface Hosting {
  readonly options: RunExecutionOptions
  readonly limits: Limits
  /** Another one after the run was paused and continued. */
  log(): RunLog
  /** The agent did something; throws when the run is over. */
  touch(): void
  readonly put: (encoded: EncodedEvent) => Promise<void> | undefined
  /** Adds what is held back of an actor's text; with `isEnd` nothing more of it comes. */
  readonly settle: (actor: Actor | undefined, isEnd: boolean) => void
  readonly wait: (question: Question, work?: WorkMarks) => Promise<unknown>
  readonly rest: SleepDetector
  readonly holdReleasable: () => () => void
  /** The agent sleeps until the returned function is called. */
  readonly slept: () => () => void
  /** Ends the run because of what was thrown. */
  failed(thrown: unknown): Promise<void>
  finish(event: Event): Promise<void>
}

/** What an agent gets for anything that it still wants of a run that has ended. */
export function runEndedError(): DOMException {
  return new DOMException('the run is over', 'AbortError')
}

export function hostOf(drive: Hosting): ExecutionHost {
  const { ledger, replay, spending, clock, store, component, enclosures, digest } = drive.options
  const fail = async (failure: Failure): Promise<never> => {
    await drive.finish({ type: 'run.failed', data: { error: failure } })
    throw runEndedError()
  }
  const policy = component.onDivergence ?? 'ask'
  const diverging = { component: component.id, policy, ledger, wait: drive.wait, fail }
  return {
    ledger,
    past: new ReplayBarrier({
      ledger,
      waitMs: drive.limits.replayWaitMs,
      clock,
      diverged: (divergence) => settleDivergence(diverging, divergence),
    }),
    fanOut: new FanOut(ledger, drive.limits),
    underWay: new Set(),
    enclosures,
    digest,
    bounds: drive.log().bounds,
    clock,
    replayWaitMs: drive.limits.replayWaitMs,
    rest: drive.rest,
    slept: drive.slept,
    isReplaying: (actor) => replay?.isReplaying(actor) ?? false,
    endReplay: (actor) => replay?.withdraw(actor, drive.log()),
    endReplayOfStep: (actor) => replay?.withdrawOwn(actor, drive.log()),
    next: () => drive.log().next,
    discard: async (actor, from, scope) => {
      const data = { attempt: drive.log().run.attempt, from, scope, ledger: 'kept', reason: 'failed' } as const
      await record(drive, { type: 'attempt.discarded', data, ...(actor !== undefined && { actor }) })
    },
    put: drive.put,
    settle: (actor) => drive.settle(actor, false),
    endOutput: (actor) => drive.settle(actor, true),
    redactBy: (options) => drive.log().redactBy(options),
    record: (event) => record(drive, event),
    show: (event) => show(drive, event),
    spent: (actor, declared) => spending.end(actor, declared),
    holdReleasable: drive.holdReleasable,
    wait: drive.wait,
    history: (options) => sessionHistory(store, drive.limits, drive.log().run, options),
    fail,
  }
}

async function record<Recorded extends Event>(drive: Hosting, event: Recorded): Promise<Recorded> {
  drive.touch()
  try {
    const appended = drive.log().append(event)
    await drive.log().flush()
    return appended
  } catch (cause) {
    // What an actor cannot have recorded is its own failure and not the run's.
    if (cause instanceof RunFailure && event.actor !== undefined) throw cause
    await drive.failed(cause)
    throw runEndedError()
  }
}

function show(drive: Hosting, event: Event): Promise<void> | undefined {
  drive.touch()
  const log = drive.log()
  log.append(event)
  return log.pressed ? log.flush() : undefined
}
