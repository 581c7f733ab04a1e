/**
 * Problems an operator must know about although the store keeps working: quarantined runs, replicas that differ, purged
 * streams. The log names the run; the public health endpoint only counts.
 */
import { HoldfastError } from '../../../core/model/errors.ts'
import type { Logger } from '../../../core/ports/logger.ts'

interface Quarantine {
  readonly reason: string
  /** The wrong message; undefined: the run as a whole is wrong. */
  readonly seq: number | undefined
  /** When this was last detected. */
  readonly at: number
}

/** Maximum quarantined runs that are listed. Further runs are only counted. */
const RUNS_MAX = 10_000
const STREAMS_MAX = 1000
/** Delay before a run with a wrong message is tried again. */
const RETRY_MS = 30_000

export class Alarms {
  readonly #logger: Logger
  readonly #quarantined = new Map<string, Quarantine>()
  readonly #streams = new Map<string, string>()
  readonly #servers = new Set<string>()
  #diverged = 0
  #unreadable = 0

  constructor(logger: Logger) {
    this.#logger = logger
  }

  /** The leader's message differs from what the run's chain says. Returns the error for the caller. */
  quarantine(run: string, reason: string, seq?: number): HoldfastError {
    const known = this.#quarantined.get(run)
    if (known?.seq === seq && known !== undefined) this.#quarantined.set(run, { ...known, at: performance.now() })
    if (known === undefined || (known.seq !== undefined && seq === undefined)) {
      if (this.#quarantined.size < RUNS_MAX) this.#quarantined.set(run, { reason, seq, at: performance.now() })
      this.#logger.error(
        { run, seq, reason },
        'run quarantined: its messages on the NATS servers differ from what was written',
      )
    }
    return quarantineError(run, reason)
  }

  /** The message is correct again: a server was repaired. */
  cleared(run: string, seq: number): void {
    if (this.#quarantined.size === 0 || this.#quarantined.get(run)?.seq !== seq) return
    this.#quarantined.delete(run)
    this.#logger.info({ run, seq }, 'run no longer quarantined: its messages are correct again')
  }

  /** Throws for a run that is quarantined as a whole. */
  expectSound(run: string): void {
    const found = this.#quarantined.size === 0 ? undefined : this.#quarantined.get(run)
    if (found !== undefined && found.seq === undefined) throw quarantineError(run, found.reason)
  }

  /** Whether the run should not be claimed now. A run with a wrong message is retried from time to time. */
  isSuspended(run: string): boolean {
    const found = this.#quarantined.size === 0 ? undefined : this.#quarantined.get(run)
    return found !== undefined && (found.seq === undefined || performance.now() - found.at < RETRY_MS)
  }

  /** A replica returned a wrong message, so the leader was queried instead. */
  diverged(stream: string, reason: string): void {
    // Logged with exponential thinning: a diverged replica may be queried thousands of times.
    if (isPowerOfTwo(++this.#diverged))
      this.#logger.warn({ stream, reason, times: this.#diverged }, 'a NATS replica differs from its leader')
  }

  /** Reports a message on one of Holdfast's subjects that Holdfast did not write. */
  foreign(subject: string, reason: string): void {
    if (isPowerOfTwo(++this.#unreadable))
      this.#logger.warn(
        { subject, reason, times: this.#unreadable },
        'ignored a NATS message that Holdfast did not write',
      )
  }

  /** Reports a server of an unsupported version. */
  server(fault: string): void {
    if (this.#servers.has(fault) || this.#servers.size >= STREAMS_MAX) return
    this.#servers.add(fault)
    this.#logger.error({ reason: fault }, 'a NATS server of the cluster is not supported')
  }

  /** Sets or clears (undefined) the problem of a stream. */
  stream(stream: string, reason: string | undefined): void {
    if (reason === this.#streams.get(stream)) return
    if (reason === undefined) this.#streams.delete(stream)
    else if (this.#streams.size < STREAMS_MAX) this.#streams.set(stream, reason)
    if (reason !== undefined) this.#logger.error({ stream, reason }, 'messages of a NATS stream are missing')
  }

  /** The alarms for the health endpoint; empty if there are none. */
  get texts(): readonly string[] {
    const runs = this.#quarantined.size
    return [
      ...(runs === 0
        ? []
        : [`${runs} quarantined: the servers return messages that differ from what was written; see the log`]),
      ...(this.#diverged === 0 ? [] : [`a replica differed from its leader ${this.#diverged} times`]),
      ...(this.#unreadable === 0 ? [] : [`${this.#unreadable} messages were ignored: Holdfast did not write them`]),
      ...this.#servers,
      ...this.#streams.values(),
    ]
  }
}

function quarantineError(run: string, reason: string): HoldfastError {
  return new UnreadableRun(run, `it is quarantined: the NATS servers returned ${reason}`)
}

/** One run cannot be read; the store and all other runs are healthy. */
export class UnreadableRun extends HoldfastError {
  constructor(run: string, reason: string) {
    const message = `run ${run} cannot be read`
    super('unavailable', message, { internalMessage: `${message}: ${reason}`, retryAfterMs: 5000 })
  }
}

function isPowerOfTwo(count: number): boolean {
  return Number.isInteger(Math.log2(count))
}
