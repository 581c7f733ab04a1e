/**
 * What a run's log says about work already done, for a run that is driven again: results of steps and tools, answers to
 * questions, and the output that an earlier drive left.
 */
import { eventTable, type EventType, type Failure, type LoggedEvent } from './event.ts'
import { bodyOf, rawRecords, type RawRecord, type RecordBody } from './record.ts'
import type { Store } from './store.ts'

/** What is known of one step, tool call or question, by its key. */
export type LedgerEntry =
  | { readonly state: 'begun'; readonly index: number; readonly call?: string }
  | { readonly state: 'done'; readonly index: number; readonly result: unknown }
  | { readonly state: 'failed'; readonly index: number; readonly failure: Failure }

export type Ledger = Map<string, LedgerEntry>

/** Keys of the three kinds of work cannot meet. */
export const stepKey = (key: string): string => `step:${key}`
export const toolKey = (key: string): string => `tool:${key}`
export const askKey = (key: string): string => `ask:${key}`

/** A run's past, read once from its log. */
export class History {
  readonly ledger: Ledger = new Map()
  readonly #store: Store
  readonly #run: string
  /** Where each discard took effect: output from `from` up to `until` is withdrawn. */
  readonly #discarded: { readonly from: number; readonly until: number }[] = []
  #end = 0

  private constructor(store: Store, run: string) {
    this.#store = store
    this.#run = run
  }

  static async load(store: Store, run: string, end: number, bytesMax: number): Promise<History> {
    const history = new History(store, run)
    history.#end = end
    for await (const record of history.#records(bytesMax)) history.#note(record)
    return history
  }

  /** The output that still stands, in order: what an agent that does the same again will yield first. */
  async *output(bytesMax: number): AsyncGenerator<{ readonly index: number; readonly body: RecordBody }> {
    for await (const record of this.#records(bytesMax)) {
      if (isOutput(record) && !this.#isDiscarded(record.index)) yield { index: record.index, body: bodyOf(record) }
    }
  }

  async *#records(bytesMax: number): AsyncGenerator<RawRecord> {
    for (let after = -1; after < this.#end - 1;) {
      const slice = await this.#store.read(this.#run, after, bytesMax)
      if (slice === undefined) return
      for (const record of rawRecords(slice)) {
        if (record.index >= this.#end) return
        after = record.index
        yield record
      }
    }
  }

  #isDiscarded(index: number): boolean {
    return this.#discarded.some(({ from, until }) => index >= from && index < until)
  }

  #note(record: RawRecord): void {
    if (!LEDGER_TYPES.has(record.type)) return
    const event = JSON.parse(record.envelope) as LoggedEvent
    const { index } = event
    switch (event.type) {
      case 'attempt.discarded':
        this.#discarded.push({ from: event.data.from, until: index })
        if (event.data.ledger === 'dropped')
          for (const [key, entry] of this.ledger) if (entry.index >= event.data.from) this.ledger.delete(key)
        return
      case 'step.started':
        return this.#set(stepKey, event.data.key, { state: 'begun', index })
      case 'step.completed':
        return this.#set(stepKey, event.data.key, { state: 'done', index, result: event.data.output })
      case 'step.failed':
        return this.#set(stepKey, event.data.key, { state: 'failed', index, failure: event.data.error })
      case 'tool.called':
        return this.#set(toolKey, event.data.key, { state: 'begun', index, call: event.data.call })
      case 'tool.completed':
        return this.#set(toolKey, event.data.key, { state: 'done', index, result: event.data.output })
      case 'tool.failed':
        return this.#set(toolKey, event.data.key, { state: 'failed', index, failure: event.data.error })
      case 'run.resumed':
        for (const [key, result] of Object.entries(event.data.answers))
          this.#set(askKey, key, { state: 'done', index, result })
        return
      default:
    }
  }

  #set(keyOf: (key: string) => string, key: string | undefined, entry: LedgerEntry): void {
    if (key !== undefined) this.ledger.set(keyOf(key), entry)
  }
}

const LEDGER_TYPES: ReadonlySet<EventType> = new Set<EventType>([
  'attempt.discarded',
  'step.started',
  'step.completed',
  'step.failed',
  'tool.called',
  'tool.completed',
  'tool.failed',
  'run.resumed',
])

/** Whether an agent yielded it, as opposed to the runner, `context.step` or `context.tool`, which give their events a key. */
function isOutput(record: RawRecord): boolean {
  if (eventTable[record.type].effect !== 'content') return false
  return (
    !LEDGER_TYPES.has(record.type) || (JSON.parse(record.envelope) as { data: { key?: string } }).data.key === undefined
  )
}
