/** Measures event-loop delay, and starts a watchdog thread that detects agents blocking the event loop. */
import { Worker } from 'node:worker_threads'
import type { EventLoopHealth, LoopBlock } from '../../core/ports/event-loop-health.ts'
import type { Logger } from '../../core/ports/logger.ts'
import { currentExecution } from '../uncaught-errors.ts'
import { EXECUTION_SYMBOL, type BlockingRun, type WatchdogData } from './messages.ts'
import { watchdogThreadUrl } from './watchdog-thread-url.ts'

const BEAT_MS = 250
/** Reports the maximum delay of the current and the previous window. */
const WINDOW_MS = 10_000
/** Delay above which a block is logged if the watchdog is off. */
const BLOCKED_MS = 2000
/** Delay before the watchdog starts, so that the first requests are not slowed down. */
const WATCHDOG_START_MS = 1000

export interface MonitorOptions {
  /** How long the event loop may be blocked before the watchdog inspects it; 0 turns the watchdog off. */
  readonly eventLoopBlockedMs: number
  readonly logger: Logger
}

export class EventLoopMonitor {
  readonly #logger: Logger
  readonly #blockedMs: number
  readonly #beats = new Int32Array(new SharedArrayBuffer(4))
  readonly #timer: NodeJS.Timeout
  readonly #starting: NodeJS.Timeout | undefined
  #watchdog: Worker | undefined
  #lastBeat = performance.now()
  #windowStart = performance.now()
  #delays: readonly [before: number, now: number] = [0, 0]
  #blocks = 0
  #lastBlock: LoopBlock | undefined
  /** What the watchdog found for the current block. */
  #suspect: BlockingRun | undefined

  constructor({ eventLoopBlockedMs, logger }: MonitorOptions) {
    this.#logger = logger
    this.#blockedMs = eventLoopBlockedMs > 0 ? eventLoopBlockedMs : BLOCKED_MS
    this.#timer = setInterval(() => this.#beat(), BEAT_MS)
    this.#timer.unref()
    if (eventLoopBlockedMs > 0 && !isDebugged())
      this.#starting = setTimeout(() => this.#startWatchdog(), WATCHDOG_START_MS).unref()
  }

  health(): EventLoopHealth {
    return {
      delayMs: Math.round(Math.max(...this.#delays, this.#delay())),
      blocks: this.#blocks,
      ...(this.#lastBlock !== undefined && { lastBlock: this.#lastBlock }),
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    clearTimeout(this.#starting)
    await this.#watchdog?.terminate()
  }

  /** How late the next heartbeat already is. */
  #delay(): number {
    return Math.max(performance.now() - this.#lastBeat - BEAT_MS, 0)
  }

  #beat(): void {
    const delayMs = this.#delay()
    const now = (this.#lastBeat = performance.now())
    Atomics.add(this.#beats, 0, 1)
    const isNewWindow = now - this.#windowStart >= WINDOW_MS
    if (isNewWindow) this.#windowStart = now
    this.#delays = isNewWindow ? [this.#delays[1], delayMs] : [this.#delays[0], Math.max(this.#delays[1], delayMs)]
    // The watchdog's message is delivered only after this timer callback.
    if (delayMs >= this.#blockedMs) setTimeout(() => this.#report(Math.round(delayMs)), SETTLE_MS).unref()
  }

  #report(blockedMs: number): void {
    const { run, component, frames } = this.#suspect ?? { frames: [] }
    this.#suspect = undefined
    this.#blocks++
    this.#lastBlock = { at: new Date().toISOString(), blockedMs, ...(component !== undefined && { component }) }
    this.#logger.warn({ run, component, frames, blockedMs }, `the event loop was blocked for ${blockedMs} ms`)
  }

  #startWatchdog(): void {
    Object.assign(globalThis, { [Symbol.for(EXECUTION_SYMBOL)]: currentRun })
    const lookMs = Math.max(Math.ceil(this.#blockedMs / LOOKS), BEAT_MS)
    const workerData: WatchdogData = {
      heartbeat: this.#beats.buffer,
      lookMs,
      maxLooks: Math.max(Math.round(this.#blockedMs / lookMs), 2),
    }
    const watchdog = new Worker(watchdogThreadUrl, { workerData, execArgv: [], resourceLimits: SMALL_HEAP })
    watchdog.on('message', (suspect: BlockingRun) => (this.#suspect = suspect))
    watchdog.on('error', (err) =>
      this.#logger.warn({ err }, 'the event-loop watchdog failed; blocks are no longer traced to a run'),
    )
    watchdog.unref()
    this.#watchdog = watchdog
  }
}

const LOOKS = 8
const SETTLE_MS = 50
const SMALL_HEAP = { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 2 }

/** Called by the watchdog in the paused frame of the main thread. */
function currentRun(): object | undefined {
  const execution = currentExecution()
  return execution && { run: execution.run, component: execution.component }
}

/** Under a debugger, the watchdog's pause would show up there. */
function isDebugged(): boolean {
  return process.getBuiltinModule('node:inspector').url() !== undefined
}
