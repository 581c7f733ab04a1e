/** How responsive the event loop of a node is. */
export interface EventLoopHealth {
  /** Longest delay of a timer in the last seconds. Above some hundred milliseconds, something blocks the event loop. */
  readonly delayMs: number
  /** Times that it was blocked for longer than the bound, since the start. */
  readonly blocks: number
  readonly lastBlock?: LoopBlock
}

export interface LoopBlock {
  /** When it ended. */
  readonly at: string
  readonly blockedMs: number
  /** Component whose code was running, if a watchdog looked. */
  readonly component?: string
}
