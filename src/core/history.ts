/**
 * What a run's log says about work already done, for a run that is driven again: results of steps, tools and actors, answers to
 * questions, and the output that an earlier drive left.
 */
import { type Actor, actorKey, eventTable, type LoggedEvent } from './event.ts'
import type { Ledger } from './ledger.ts'
import { readLog } from './log-read.ts'
import { bodyOf, rawRecords, type RawRecord } from './record.ts'
import { RunProgress } from './run-progress.ts'
import { Spending } from './spending.ts'
import { ThreadShare } from './thread-share.ts'
import type { Store } from './store.ts'
import { type DivergenceDecision, WorkReader } from './work-reader.ts'

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
  readonly progress: RunProgress
  /** Index of the first event of the last attempt. */
  readonly attemptFrom: number
  /** When the sleep ends that is the last thing in the log; absent where there is none. */
  readonly asleepUntil: number | undefined
  /** What was decided when the code no longer fitted the log. */
  readonly decision: DivergenceDecision | undefined
}

/** Reads a run's past once, from its log up to `end`. */
export async function loadHistory(store: Store, run: string, end: number, bytesMax: number): Promise<History> {
  const draft: Draft = {
    work: new WorkReader(),
    output: new Map(),
    spending: new Spending(),
    progress: new RunProgress(),
    attempt: 0,
    attemptFrom: 0,
    asleepUntil: undefined,
  }
  const share = new ThreadShare()
  for (let after = -1; after < end - 1;) {
    const slice = await readLog(store, run, after, bytesMax)
    if (slice === undefined) break
    for (const record of rawRecords(slice)) {
      if (record.index >= end) break
      after = record.index
      note(draft, record)
      if (record.index % LOOKED_EVERY === 0) await share.rest()
    }
  }
  const { work, ...rest } = draft
  return { ...rest, ledger: work.ledger(), decision: work.decision }
}

/** Events between two looks at the clock. */
const LOOKED_EVERY = 16

interface Draft extends Pick<History, 'output' | 'spending' | 'progress'> {
  readonly work: WorkReader
  attempt: number
  attemptFrom: number
  asleepUntil: number | undefined
}

function note(history: Draft, record: RawRecord): void {
  const event = JSON.parse(record.envelope) as LoggedEvent
  if (event.type === 'run.started') {
    history.attempt = event.data.attempt
    history.attemptFrom = event.index + 1
  }
  if (event.type === 'sleep.started') history.asleepUntil = Date.parse(event.data.until)
  else if (event.type !== 'run.started') history.asleepUntil = undefined
  history.progress.note(event)
  history.spending.note(event)
  if (event.type === 'step.completed') uncover(history, event)
  if (event.type === 'actor.completed' || event.type === 'actor.failed') forgetActor(history.output, event.actor!)
  const isWork = history.work.note(event)
  if (event.type === 'attempt.discarded') discard(history, event.data, event.actor)
  else if (!isWork && isOutput(event)) addOutput(history, event, digest(bodyOf(record)))
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

function discard({ output }: Draft, { from, scope }: Discarded, actor: Actor | undefined): void {
  const own = actorKey(actor)
  for (const key of output.keys()) {
    if (scope === 'all' || key === own || (scope === 'below' && key.startsWith(`${own}/`)))
      forgetFrom(output, key, from)
  }
}

/** What was emitted as part of a step is not emitted again once the step has its result. */
function uncover({ work, output }: Draft, { data, actor }: Extract<LoggedEvent, { type: 'step.completed' }>): void {
  const begun = data.key === undefined ? undefined : work.begunStep(data.key)
  if (begun?.covers === true) forgetFrom(output, actorKey(actor), begun.index)
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
