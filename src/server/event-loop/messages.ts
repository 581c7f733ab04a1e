/** Input and output of the watchdog thread. */
export interface WatchdogData {
  /** A counter that the main thread increments every `lookMs`. */
  readonly heartbeat: SharedArrayBuffer
  readonly lookMs: number
  /** Consecutive checks without a heartbeat that mean a block. Counted rather than timed: a suspended process is not blocked. */
  readonly maxLooks: number
}

/** What the main thread was doing while it was blocked. */
export interface BlockingRun {
  readonly run?: string
  readonly component?: string
  /** Innermost first: `function file:line`. */
  readonly frames: readonly string[]
}

/** Global of the main thread: a function that returns the run whose code is executing. */
export const EXECUTION_SYMBOL = 'holdfast.currentExecution'
