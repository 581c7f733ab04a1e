/** Traces code back to the run that started it, including timers, listeners and detached promises. */

/** Kind of an uncaught error, as Node.js names it. */
export type UncaughtOrigin = 'uncaughtException' | 'unhandledRejection'

/** A run that this node executes. `NodeDeps.executions` has it as value in everything its code starts. */
export interface ExecutionTrace {
  readonly run: string
  readonly component: string
  /** Handles an uncaught error of the run's code: logs it, and fails the run unless it has ended. */
  crash(thrown: unknown, origin: UncaughtOrigin): void
}

export const originText: Readonly<Record<UncaughtOrigin, string>> = {
  uncaughtException: 'uncaught exception',
  unhandledRejection: 'unhandled rejection',
}
