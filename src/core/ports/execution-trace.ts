/** Traces code back to the run that started it, however detached: its timers, listeners and promises. */

/** Where an error was left uncaught, as Node.js names it. */
export type UncaughtOrigin = 'uncaughtException' | 'unhandledRejection'

/** A run that executes on this node. It is the value of `NodeDeps.executions` in everything its code starts. */
export interface ExecutionTrace {
  readonly run: string
  readonly component: string
  /** Code of the run threw where nothing catches it: fails the run, if it has not ended, and logs the error. */
  crash(thrown: unknown, origin: UncaughtOrigin): void
}

export const originText: Readonly<Record<UncaughtOrigin, string>> = {
  uncaughtException: 'uncaught exception',
  unhandledRejection: 'unhandled rejection',
}
