/** What a drive does for the contexts of its agent: their steps, tools, questions and calls come down to these. */
import { conversationBefore } from './conversation.ts'
import { type Encoded, RunFailure } from './emission.ts'
import type { Event, Question } from './event.ts'
import type { Limits } from './limits.ts'
import type { RunLog } from './run-log.ts'
import type { DriveOptions } from './runner.ts'
import type { ContextHost } from './scope.ts'

/** The drive, as its contexts need it. */
export interface Hosting {
  readonly options: DriveOptions
  readonly limits: Limits
  /** Another one after the run was paused and continued. */
  log(): RunLog
  /** The agent did something; throws when the run is over. */
  touch(): void
  readonly put: (encoded: Encoded) => Promise<void> | undefined
  readonly wait: (question: Question) => Promise<unknown>
  /** Ends the run because of what was thrown. */
  failed(thrown: unknown): Promise<void>
  finish(event: Event): Promise<void>
}

/** What an agent gets for anything that it still wants of a run that has ended. */
export function over(): DOMException {
  return new DOMException('the run is over', 'AbortError')
}

export function hostOf(drive: Hosting): ContextHost {
  const { ledger, replay, spending, clock, store } = drive.options
  return {
    ledger,
    bounds: drive.log().bounds,
    now: () => clock.now(),
    isReplaying: (actor) => replay?.isReplaying(actor) ?? false,
    endReplay: (actor) => replay?.withdraw(actor, drive.log()),
    endReplayOfStep: (actor) => replay?.withdrawOwn(actor, drive.log()),
    next: () => drive.log().next,
    discard: (actor, from, scope) => {
      const data = { attempt: drive.log().run.attempt, from, scope, ledger: 'kept', reason: 'failed' } as const
      return record(drive, { type: 'attempt.discarded', data, ...(actor !== undefined && { actor }) })
    },
    put: drive.put,
    record: (event) => record(drive, event),
    show: (event) => show(drive, event),
    spent: (actor, declared) => spending.end(actor, declared),
    wait: drive.wait,
    history: (options) => conversationBefore(store, drive.limits, drive.log().run, options),
    fail: async (failure) => {
      await drive.finish({ type: 'run.failed', data: { error: failure } })
      throw over()
    },
  }
}

async function record(drive: Hosting, event: Event): Promise<void> {
  drive.touch()
  try {
    drive.log().append(event)
    await drive.log().flush()
  } catch (cause) {
    // What an actor cannot have recorded is its own failure and not the run's.
    if (cause instanceof RunFailure && event.actor !== undefined) throw cause
    await drive.failed(cause)
    throw over()
  }
}

function show(drive: Hosting, event: Event): Promise<void> | undefined {
  drive.touch()
  const log = drive.log()
  log.append(event)
  return log.pressed ? log.flush() : undefined
}
