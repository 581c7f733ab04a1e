/** Runs and records like those of an execution, for tests that use a store alone. */
import type { Clock } from '../core/ports/clock.ts'
import type { Event, Question } from '../core/model/event.ts'
import { encodeBody, encodeRecord } from '../core/model/record.ts'
import { reduce, type Run } from '../core/model/run.ts'
import type { LogWriter, NewRun, Store, StoredRun } from '../core/ports/store.ts'

export type NewRunOptions = Partial<Omit<Run, 'id' | 'status' | 'attempt'>> & Omit<NewRun, 'run' | 'record'>

/** A queued run with its `run.created`. */
export function newRun(id: string, time: string, options: NewRunOptions = {}): NewRun {
  const { idempotency, rejectIfBusy, claim, ...given } = options
  const run: Run = {
    id,
    component: 'storyteller',
    session: 'session-1',
    owner: 'owner-1',
    createdAt: time,
    updatedAt: time,
    ...given,
    status: 'queued',
    attempt: 0,
  }
  const { component, session } = run
  return {
    run,
    record: recordOf(id, 0, time, { type: 'run.created', data: { component, session, input: 'Tell me a story.' } }),
    ...(idempotency && { idempotency }),
    ...(rejectIfBusy !== undefined && { rejectIfBusy }),
    ...(claim && { claim }),
  }
}

export function recordOf(run: string, index: number, time: string, event: Event): string {
  return encodeRecord(run, index, time, event.type, encodeBody(event, { maxDepth: 100, maxBytes: 16 * 1024 * 1024 }))
}

/** Writes a run's events under one lease, and remembers every record for comparison. */
export class RunWriter {
  readonly id: string
  readonly epoch: number
  readonly writer: LogWriter
  /** All records of the log from index 0, including those appended here. */
  readonly records: string[]
  readonly #clock: Clock
  #run: Run

  /** `records`: those already in the log. */
  constructor(store: Store, clock: Clock, claim: StoredRun, records: readonly string[]) {
    this.id = claim.run.id
    this.epoch = claim.epoch
    this.writer = store.writer(claim.run.id, claim)
    this.records = [...records]
    this.#clock = clock
    this.#run = claim.run
  }

  /** The run after all appends. */
  get run(): Run {
    return this.#run
  }

  append(event: Event): void {
    const index = this.writer.next
    const time = this.#iso()
    const record = recordOf(this.id, index, time, event)
    const run = reduce(this.#run, { ...event, run: this.id, index, time })
    this.writer.append(record, run === this.#run ? undefined : run)
    this.records.push(record)
    this.#run = run
  }

  text(text: string): void {
    this.append({ type: 'text.delta', data: { text } })
  }

  start(): void {
    this.append({ type: 'run.started', data: { attempt: this.#run.attempt + 1 } })
  }

  /** Asks a question; with `answerWithinMs`, one that becomes overdue. */
  pause(answerWithinMs?: number): void {
    const deadline = answerWithinMs === undefined ? {} : { deadline: this.#iso(answerWithinMs) }
    const question: Question = { id: 'q-1', kind: 'input', prompt: 'And then?', ...deadline }
    this.append({ type: 'run.paused', data: { questions: [question] } })
  }

  resume(): void {
    this.append({ type: 'run.resumed', data: { answers: { 'q-1': 'They woke up.' } } })
  }

  complete(): void {
    this.append({ type: 'run.completed', data: { output: 'The end.' } })
  }

  cancel(): void {
    this.append({ type: 'run.cancelled', data: { reason: 'no longer wanted' } })
  }

  flush(): Promise<void> {
    return this.writer.flush()
  }

  #iso(fromNowMs = 0): string {
    return new Date(this.#clock.now() + fromNowMs).toISOString()
  }
}
