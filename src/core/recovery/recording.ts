/**
 * Reads what a run's log recorded, for the next attempt: results of steps, tools and calls, answers to questions, and the output of
 * earlier attempts.
 */
import { digestOfEnvelope, EmittedList, type EmittedDigest } from './emitted-output.ts'
import { type Actor, eventTable, type LoggedEvent } from '../model/event.ts'
import { actorKey, isWithin } from '../structure/actors.ts'
import { type DiscardedAttempt, retractedFrom } from '../structure/retraction.ts'
import type { Ledger } from './ledger.ts'
import { readCheckedLog } from '../delivery/read-log.ts'
import { shareEventLoop } from '../runtime/share-event-loop.ts'
import { rawRecords, type RawRecord } from '../model/slice.ts'
import { RunProgress } from './run-progress.ts'
import { TokenUsage } from '../execution/token-usage.ts'
import type { Store } from '../ports/store.ts'
import { type DivergenceDecision, LedgerReader } from './ledger-reader.ts'

/** Logged output of one actor, or of the run's own component. */
export interface ActorOutput {
  readonly actor: Actor | undefined
  readonly emitted: EmittedList
  /** Events of an upstream. They are not matched, but retracted together with the output derived from them. */
  readonly received: EmittedList
}

/** By actor key: `''` for the run's own component, otherwise the actor's run id. */
export type OutputByActor = Map<string, ActorOutput>

export interface Recording {
  readonly ledger: Ledger
  readonly output: OutputByActor
  readonly tokenUsage: TokenUsage
  /** The decision about the last divergence. */
  readonly decision: DivergenceDecision | undefined
}

/** Reads a run's log once, in slices of the event loop. */
export class RecordingReader {
  readonly progress = new RunProgress()
  /** Index of the first event of the last attempt, or of the attempt that it continues. */
  attemptFrom = 0
  /** End of the sleep that the log ends with; absent if it does not end with a sleep. */
  asleepUntil: number | undefined
  readonly #work = new LedgerReader()
  readonly #output: OutputByActor = new Map()
  readonly #tokenUsage = new TokenUsage()
  #attempt = 0
  #isReleasedWithAnswers = false

  /** Reads a log up to `end`. */
  static async read(store: Store, run: string, end: number, maxBytes: number): Promise<RecordingReader> {
    const reader = new RecordingReader()
    let unshared = 0
    for (let after = -1; after < end - 1;) {
      await shareEventLoop()
      const slice = await readCheckedLog(store, run, after, maxBytes)
      if (slice === undefined) break
      for (const record of rawRecords(slice)) {
        if (record.index >= end) break
        after = record.index
        reader.#take(record)
        unshared += record.envelope.length
        if (unshared < SHARED_EVERY_CHARS) continue
        unshared = 0
        await shareEventLoop()
      }
    }
    return reader
  }

  /** Processes an event, except as output. Returns true if it concerns recorded work. */
  note(event: LoggedEvent): boolean {
    if (event.type === 'run.started') {
      this.#attempt = event.data.attempt
      // An attempt that continues from answers uses the work of the previous one: neither can be retried without the other.
      if (!this.#isReleasedWithAnswers) this.attemptFrom = event.index + 1
    }
    this.#isReleasedWithAnswers = event.type === 'run.released' && event.data.reason === 'answered'
    if (event.type === 'sleep.started') this.asleepUntil = Date.parse(event.data.until)
    else if (event.type !== 'run.started') this.asleepUntil = undefined
    this.progress.note(event)
    this.#tokenUsage.note(event)
    if (event.type === 'step.completed') uncover(this.#work, this.#output, event)
    if (event.type === 'actor.completed' || event.type === 'actor.failed') forgetActor(this.#output, event.actor!)
    if (event.type === 'attempt.discarded') discard(this.#output, event)
    return this.#work.note(event)
  }

  /** The recording that an execution resumes from. */
  async recording(): Promise<Recording> {
    const work = this.#work
    return { ledger: await work.ledger(), output: this.#output, tokenUsage: this.#tokenUsage, decision: work.decision }
  }

  #take({ envelope }: RawRecord): void {
    const event = JSON.parse(envelope) as LoggedEvent
    if (!this.note(event) && isOutput(event)) this.#add(event, digestOfEnvelope(envelope))
  }

  #add({ type, actor, index }: LoggedEvent, digest: EmittedDigest): void {
    const key = actorKey(actor)
    const known = this.#output.get(key) ?? { actor, emitted: new EmittedList(), received: new EmittedList() }
    this.#output.set(key, known)
    const list = type === 'upstream.received' ? known.received : known.emitted
    list.push(index, this.#attempt, digest)
  }
}

/** Characters read between two checks of the clock: a fraction of a millisecond. */
const SHARED_EVERY_CHARS = 4096

/** Whether an event is output that a replay must match. Progress of a tool is not: it can come at any time. */
function isOutput({ type, data }: LoggedEvent): boolean {
  if (type === 'tool.progressed' && data.key !== undefined) return false
  return eventTable[type].effect === 'content'
}

type StepCompleted = Extract<LoggedEvent, { type: 'step.completed' }>

function discard(output: OutputByActor, event: DiscardedAttempt): void {
  for (const [key, { emitted, received }] of output) {
    emitted.dropFrom(retractedFrom(event, key))
    received.dropFrom(retractedFrom(event, key))
  }
}

/** Drops output emitted as part of a completed step: it is not emitted again. */
function uncover(work: LedgerReader, output: OutputByActor, { data, actor }: StepCompleted): void {
  const step = data.key === undefined ? undefined : work.begunStep(data.key)
  if (step?.covers !== true) return
  const known = output.get(actorKey(actor))
  known?.emitted.dropFrom(step.index)
  known?.received.dropFrom(step.index)
}

/** Drops the output of an actor that ended: it is not called again, nor are the actors that it called. */
function forgetActor(output: OutputByActor, { run }: Actor): void {
  for (const key of output.keys()) if (isWithin(key, run)) output.delete(key)
}
