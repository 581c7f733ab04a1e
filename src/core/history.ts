/**
 * What a run's log says about work already done, for a run that is driven again: results of steps, tools and actors, answers to
 * questions, and the output that an earlier drive left.
 */
import { type Actor, actorKey, eventTable, type EventType, type Failure, type LoggedEvent } from './event.ts'
import { bodyOf, rawRecords, type RawRecord } from './record.ts'
import { Spending } from './spending.ts'
import type { Store } from './store.ts'

/** What is known of one piece of work, by its key. */
export type LedgerEntry =
  /** `times`: how often it was begun; a cut-off tool call may be repeated on somebody's word. */
  | { readonly state: 'begun'; readonly index: number; readonly times: number; readonly covers?: true }
  | { readonly state: 'done'; readonly index: number; readonly result: unknown }
  | { readonly state: 'failed'; readonly index: number; readonly failure: Failure }

export type Ledger = Map<string, LedgerEntry>

/** Kinds of work; their keys cannot meet. */
export type WorkKind = 'step' | 'tool' | 'ask' | 'actor'

export function ledgerKey(kind: WorkKind, key: string): string {
  return `${kind}:${key}`
}

/** An emission of an earlier drive: where it is, and what it was, as a digest. */
export interface Emitted {
  readonly index: number
  /** The attempt that emitted it. */
  readonly attempt: number
  readonly digest: string
}

/** What one actor emitted, or the run's own component. */
export interface ActorOutput {
  readonly actor: Actor | undefined
  readonly emitted: Emitted[]
}

/** By actor: `''` for the run's own component, the actor's run id otherwise. */
export type OutputByActor = Map<string, ActorOutput>

export interface History {
  readonly ledger: Ledger
  readonly output: OutputByActor
  readonly spending: Spending
}

/** Reads a run's past once, from its log up to `end`. */
export async function loadHistory(store: Store, run: string, end: number, bytesMax: number): Promise<History> {
  const history: Draft = { ledger: new Map(), output: new Map(), spending: new Spending(), attempt: 0 }
  for (let after = -1; after < end - 1;) {
    const slice = await store.read(run, after, bytesMax)
    if (slice === undefined) break
    for (const record of rawRecords(slice)) {
      if (record.index >= end) break
      after = record.index
      note(history, record)
    }
  }
  return history
}

interface Draft extends History {
  attempt: number
}

function note(history: Draft, record: RawRecord): void {
  const event = JSON.parse(record.envelope) as LoggedEvent
  if (event.type === 'run.started') history.attempt = event.data.attempt
  history.spending.note(event)
  if (event.type === 'step.completed') uncover(history, event)
  if (event.type === 'actor.completed' || event.type === 'actor.failed') forgetActor(history.output, event.actor!)
  const work = workOf(event, history.ledger)
  if (work !== undefined) for (const [key, entry] of work) history.ledger.set(key, entry)
  else if (event.type === 'attempt.discarded') discard(history, event.data, event.actor)
  else if (isOutput(event)) addOutput(history, event, digest(bodyOf(record)))
}

/** What a tool shows while it works comes at any time: no later drive is expected to emit it again at the same place. */
function isOutput({ type, data }: LoggedEvent): boolean {
  if (type === 'tool.progressed' && data.key !== undefined) return false
  return eventTable[type].effect === 'content'
}

function addOutput({ output, attempt }: Draft, { actor, index }: LoggedEvent, digested: string): void {
  const key = actorKey(actor)
  const emitted = { index, attempt, digest: digested }
  const known = output.get(key)
  if (known === undefined) output.set(key, { actor, emitted: [emitted] })
  else known.emitted.push(emitted)
}

type Discarded = Extract<LoggedEvent, { type: 'attempt.discarded' }>['data']

function discard(history: History, { from, scope, ledger }: Discarded, actor: Actor | undefined): void {
  const own = actorKey(actor)
  for (const key of history.output.keys()) {
    if (scope === 'all' || key === own || (scope === 'below' && key.startsWith(`${own}/`)))
      forgetFrom(history.output, key, from)
  }
  if (ledger === 'dropped')
    for (const [key, entry] of history.ledger) if (entry.index >= from) history.ledger.delete(key)
}

/** What was emitted as part of a step is not emitted again once the step has its result. */
function uncover({ ledger, output }: History, { data, actor }: Extract<LoggedEvent, { type: 'step.completed' }>): void {
  const begun = data.key === undefined ? undefined : ledger.get(ledgerKey('step', data.key))
  if (begun?.state === 'begun' && begun.covers === true) forgetFrom(output, actorKey(actor), begun.index)
}

/** An actor that ended is not called again, nor are those that it called. */
function forgetActor(output: OutputByActor, { run }: Actor): void {
  for (const key of output.keys()) if (key === run || key.startsWith(`${run}/`)) output.delete(key)
}

function forgetFrom(output: OutputByActor, key: string, from: number): void {
  const known = output.get(key)
  if (known === undefined) return
  output.set(key, { actor: known.actor, emitted: known.emitted.filter(({ index }) => index < from) })
}

/** What an event adds to the ledger; undefined for one that is none of its business. */
function workOf(event: LoggedEvent, ledger: Ledger): (readonly [string, LedgerEntry])[] | undefined {
  const { index } = event
  if (event.type === 'run.resumed') {
    return Object.entries(event.data.answers).map(([key, result]) => [
      ledgerKey('ask', key),
      { state: 'done', index, result },
    ])
  }
  const kind = LEDGER_KINDS[event.type]
  const data = event.data as { key?: string; output?: unknown; error?: Failure; covers?: true }
  if (kind === undefined || data.key === undefined) return undefined
  const key = ledgerKey(kind, data.key)
  if (data.error !== undefined) return [[key, { state: 'failed', index, failure: data.error }]]
  if (event.type.endsWith('.completed')) return [[key, { state: 'done', index, result: data.output }]]
  const known = ledger.get(key)
  const times = known?.state === 'begun' ? known.times + 1 : 1
  return [[key, { state: 'begun', index, times, ...(data.covers && { covers: data.covers }) }]]
}

const LEDGER_KINDS: Partial<Record<EventType, WorkKind>> = {
  'step.started': 'step',
  'step.completed': 'step',
  'step.failed': 'step',
  'tool.called': 'tool',
  'tool.completed': 'tool',
  'tool.failed': 'tool',
  'actor.started': 'actor',
  'actor.completed': 'actor',
  'actor.failed': 'actor',
}

/**
 * Length and 106 bits of hash: enough that two different emissions never meet, small enough to keep for every event of a long
 * run. (The mixing is that of cyrb53, twice with different seeds.)
 */
export function digest(text: string): string {
  return `${text.length}.${mix(text, 0x9e3779b9)}.${mix(text, 0x85ebca6b)}`
}

function mix(text: string, seed: number): string {
  let high = 0xdeadbeef ^ seed
  let low = 0x41c6ce57 ^ seed
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    high = Math.imul(high ^ unit, 2654435761)
    low = Math.imul(low ^ unit, 1597334677)
  }
  high = Math.imul(high ^ (high >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909)
  low = Math.imul(low ^ (low >>> 16), 2246822507) ^ Math.imul(high ^ (high >>> 13), 3266489909)
  return (4294967296 * (2097151 & low) + (high >>> 0)).toString(36)
}
