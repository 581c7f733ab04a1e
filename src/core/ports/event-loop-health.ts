/** How responsive the event loop of a node is. */
export interface EventLoopHealth {
  /** Longest timer delay of the last seconds. More than a few hundred milliseconds mean that something blocks the event loop. */
  readonly delayMs: number
  /** Number of blocks longer than the limit, since the start. */
  readonly blocks: number
  readonly lastBlock?: LoopBlock
}

export interface LoopBlock {
  /** When it ended. */
  readonly at: string
  readonly blockedMs: number
  /** Component whose code was running, if the watchdog identified it. */
  readonly component?: string
}
