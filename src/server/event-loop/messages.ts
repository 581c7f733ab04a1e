/** What the watchdog thread is given, and what it finds. */
export interface WatchdogData {
  /** A counter that the main thread increments as often as `lookMs`. */
  readonly heartbeat: SharedArrayBuffer
  readonly lookMs: number
  /** Looks in a row without a heartbeat that make a block. Counted, and not timed: a process that was suspended is not blocked. */
  readonly looksMax: number
}

/** What the main thread was doing while it was blocked. */
export interface Suspect {
  readonly run?: string
  readonly component?: string
  /** Innermost first: `function file:line`. */
  readonly frames: readonly string[]
}

/** Under this name the main thread has a function that says which run's code is running. */
export const EXECUTION_SYMBOL = 'holdfast.currentExecution'
