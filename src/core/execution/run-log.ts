/** The log of one run under one lease: adds index and time to events, folds them into the run, and passes them to the store. */
import type { CallerCredentials } from '../access/caller-credentials.ts'
import { type Clock, isoTimer } from '../ports/clock.ts'
import { encodeEvent, type EncodedEvent } from './emission.ts'
import { detailOf } from '../model/errors.ts'
import { type Event, eventTable } from '../model/event.ts'
import type { Limits } from '../model/limits.ts'
import type { Logger } from '../ports/logger.ts'
import type { NodeDeps } from '../node-deps.ts'
import { encodeRecord } from '../model/record.ts'
import type { RedactOptions } from '../redaction/redaction.ts'
import { redactorOf } from '../redaction/redactor.ts'
import { RunRedaction } from '../redaction/run-redaction.ts'
import { reduce, type Run } from '../model/run.ts'
import type { SerializeBounds } from '../model/serialize.ts'
import type { RunCounts } from '../runtime/run-counts.ts'
import type { LogWriter, StoredRun } from '../ports/store.ts'

const iso = isoTimer()

/** The store refused a write: the lease was lost, the log is closed, or the store is unavailable. The execution must release the run. */
export class WriteRefusedError extends Error {
  override readonly name = 'WriteRefusedError'
  /** Epoch of the lease under which it was written. */
  readonly epoch: number

  constructor(epoch: number, cause: unknown) {
    super(detailOf(cause), { cause })
    this.epoch = epoch
  }
}

/** The store's error behind a refused write, which decides whether a retry makes sense. Other errors are returned unchanged. */
export function refusalOf(cause: unknown): unknown {
  return cause instanceof WriteRefusedError ? (cause.cause ?? cause) : cause
}

export class RunLog {
  /** Called as soon as the store refuses a write, even if nobody waits for it. */
  onLost: (cause: WriteRefusedError) => void = () => {}
  /** Epoch of the lease under which it is written. */
  readonly epoch: number
  readonly bounds: SerializeBounds
  /** Absent if nothing is redacted. */
  redaction: RunRedaction | undefined
  readonly #writer: LogWriter
  readonly #clock: Clock
  readonly #limits: Limits
  readonly #logger: Logger
  readonly #callerCredentials: CallerCredentials | undefined
  readonly #counts: RunCounts | undefined
  #run: Run

  constructor(
    { store, clock, limits, logger, registry, redactor, callerCredentials, counts }: NodeDeps,
    claimed: StoredRun,
  ) {
    const { run, epoch, next } = claimed
    const rules = redactorOf(redactor, registry.find(run.component)?.redact)
    this.epoch = epoch
    this.#run = run
    this.#writer = store.writer(run.id, { epoch, next }, (cause) => this.#lost(cause))
    this.#clock = clock
    this.#limits = limits
    this.#logger = logger
    this.#callerCredentials = callerCredentials
    this.#counts = counts
    this.bounds = { maxDepth: limits.maxEventDepth, maxBytes: limits.maxEventBytes }
    this.redaction = rules && new RunRedaction(rules, this.bounds)
  }

  get run(): Run {
    return this.#run
  }

  /** Index of the next event. */
  get next(): number {
    return this.#writer.next
  }

  /** Index of the first event that is not durable yet. */
  get durable(): number {
    return this.#writer.next - this.#writer.pending
  }

  /** Whether too much waits for its commit. If so, flush before the next event (backpressure). */
  get isUnderBackpressure(): boolean {
    return (
      this.#writer.pending >= this.#limits.maxPendingEvents || this.#writer.pendingChars >= this.#limits.maxPendingChars
    )
  }

  /** Appends an encoded event that does not change the run. */
  appendEncoded({ type, body }: Pick<EncodedEvent, 'type' | 'body'>): void {
    this.#write(encodeRecord(this.#run.id, this.#writer.next, iso(this.#clock.now()), type, body))
  }

  /** Redacts and appends an event, with the changed run if it changes it. Returns the event as appended. */
  append<Appended extends Event>(unredacted: Appended): Appended {
    const event = this.redact(unredacted)
    this.#add(event, encodeEvent(event, this.bounds))
    return event
  }

  /** Appends redacted events: all of them, or none if one cannot be encoded. */
  appendTogether(events: readonly Event[]): void {
    const encoded = events.map((event) => encodeEvent(event, this.bounds))
    for (const [at, event] of events.entries()) this.#add(event, encoded[at]!)
  }

  redact<Redacted extends Event>(event: Redacted): Redacted {
    return this.redaction === undefined ? event : (this.redaction.event(event) as Redacted)
  }

  #add(event: Event, { type, body }: EncodedEvent): void {
    if (eventTable[type].effect === 'content') return this.appendEncoded({ type, body })
    const index = this.#writer.next
    const time = iso(this.#clock.now())
    const run = reduce(this.#run, { ...event, run: this.#run.id, index, time })
    this.#write(encodeRecord(run.id, index, time, type, body), run)
    this.#run = run
    this.#counts?.added(type)
    if (eventTable[type].effect === 'terminal') this.#dropCredential()
  }

  /** Also redacts by these rules from now on. */
  redactBy(options: RedactOptions): void {
    if (this.redaction !== undefined) this.redaction.include(options)
    else this.redaction = new RunRedaction(redactorOf(undefined, options)!, this.bounds)
  }

  /** Resolves when everything added is durable. */
  async flush(): Promise<void> {
    try {
      await this.#writer.flush()
    } catch (cause) {
      throw new WriteRefusedError(this.epoch, cause)
    }
  }

  /** Deletes the caller's credential once the terminal event is durable. Before that, recovery may still need it. */
  #dropCredential(): void {
    const { id, owner } = this.#run
    const credentials = this.#callerCredentials
    if (credentials !== undefined)
      void this.flush().then(
        () =>
          credentials.drop({ id, owner }).catch((cause: unknown) => {
            this.#logger.warn({ run: id, err: cause }, "failed to delete the caller's credential of a finished run")
          }),
        () => {}, // `onLost` reports it
      )
  }

  #lost(cause: unknown): void {
    this.onLost(new WriteRefusedError(this.epoch, cause))
  }

  #write(record: string, change?: Run): void {
    try {
      this.#writer.append(record, change)
    } catch (cause) {
      throw new WriteRefusedError(this.epoch, cause)
    }
  }
}
