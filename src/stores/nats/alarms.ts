/**
 * What an operator must hear of although the store goes on: runs that cannot be trusted, replicas that differ, streams that
 * somebody purged. The log names the run; health, which anybody may ask, only counts.
 */
import { HoldfastError } from '../../core/model/errors.ts'
import type { Logger } from '../../core/ports/logger.ts'

interface Quarantine {
  readonly reason: string
  /** The message that is wrong; undefined where the run as a whole is. */
  readonly seq: number | undefined
  /** When that was last found. */
  readonly at: number
}

/** Runs that are remembered as quarantined; of more than that only the number is known. */
const RUNS_MAX = 10_000
const STREAMS_MAX = 1000
/** How long a run of which a message is wrong is left alone. */
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

  /** What the leader says of a message is not what the run says of it. The error is what whoever asked is told. */
  quarantine(run: string, reason: string, seq?: number): HoldfastError {
    const known = this.#quarantined.get(run)
    if (known?.seq === seq && known !== undefined) this.#quarantined.set(run, { ...known, at: performance.now() })
    if (known === undefined || (known.seq !== undefined && seq === undefined)) {
      if (this.#quarantined.size < RUNS_MAX) this.#quarantined.set(run, { reason, seq, at: performance.now() })
      this.#logger.error(
        { run, seq, reason },
        'run quarantined: its messages on the NATS servers are not what was written',
      )
    }
    return quarantined(run, reason)
  }

  /** A message that was wrong is right: a server was repaired. */
  cleared(run: string, seq: number): void {
    if (this.#quarantined.size === 0 || this.#quarantined.get(run)?.seq !== seq) return
    this.#quarantined.delete(run)
    this.#logger.info({ run, seq }, 'run no longer quarantined: its messages are right again')
  }

  /** Throws for a run that is quarantined as a whole. */
  expectSound(run: string): void {
    const found = this.#quarantined.size === 0 ? undefined : this.#quarantined.get(run)
    if (found !== undefined && found.seq === undefined) throw quarantined(run, found.reason)
  }

  /** Whether nobody should take a run now. One of which a message is wrong is tried again from time to time. */
  isSuspended(run: string): boolean {
    const found = this.#quarantined.size === 0 ? undefined : this.#quarantined.get(run)
    return found !== undefined && (found.seq === undefined || performance.now() - found.at < RETRY_MS)
  }

  /** A replica returned something else than was asked for, and the leader was asked instead. */
  diverged(stream: string, reason: string): void {
    // The first ones, and then fewer and fewer: a replica that has diverged may be asked thousands of times.
    if (isPowerOfTwo(++this.#diverged))
      this.#logger.warn({ stream, reason, times: this.#diverged }, 'a NATS replica differs from its leader')
  }

  /** Something on a subject of ours that no Holdfast wrote. */
  foreign(subject: string, reason: string): void {
    if (isPowerOfTwo(++this.#unreadable))
      this.#logger.warn({ subject, reason, times: this.#unreadable }, 'ignored a NATS message that is not Holdfast’s')
  }

  /** A server that cannot be relied on is part of the cluster. */
  server(fault: string): void {
    if (this.#servers.has(fault) || this.#servers.size >= STREAMS_MAX) return
    this.#servers.add(fault)
    this.#logger.error({ reason: fault }, 'a NATS server of the cluster is not supported')
  }

  /** What is the matter with a stream; undefined: nothing any more. */
  stream(stream: string, reason: string | undefined): void {
    if (reason === this.#streams.get(stream)) return
    if (reason === undefined) this.#streams.delete(stream)
    else if (this.#streams.size < STREAMS_MAX) this.#streams.set(stream, reason)
    if (reason !== undefined) this.#logger.error({ stream, reason }, 'messages of a NATS stream are missing')
  }

  /** What health says; empty where all is well. */
  get texts(): readonly string[] {
    const runs = this.#quarantined.size
    return [
      ...(runs === 0 ? [] : [`${runs} quarantined: the servers return other messages than were written; see the log`]),
      ...(this.#diverged === 0 ? [] : [`a replica differed from its leader ${this.#diverged} times`]),
      ...(this.#unreadable === 0 ? [] : [`${this.#unreadable} messages were ignored: no Holdfast wrote them`]),
      ...this.#servers,
      ...this.#streams.values(),
    ]
  }
}

function quarantined(run: string, reason: string): HoldfastError {
  return new UnreadableRun(run, `it is quarantined: the NATS servers returned ${reason}`)
}

/** One run cannot be read; the others, and the store, are well. */
export class UnreadableRun extends HoldfastError {
  constructor(run: string, reason: string) {
    const message = `run ${run} cannot be read`
    super('unavailable', message, { detail: `${message}: ${reason}`, retryAfterMs: 5000 })
  }
}

function isPowerOfTwo(count: number): boolean {
  return Number.isInteger(Math.log2(count))
}
