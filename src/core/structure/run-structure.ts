/**
 * Folds a run's log, event by event, into its structure, with all retractions resolved. The cost of an event does not depend on the
 * length of the run; a retraction visits the entries since its `from`.
 */
import type { Actor, LoggedEvent, LoggedEventOf } from '../model/event.ts'
import { actorKey } from './actors.ts'
import { type ActorEntry, type ArtifactPiece, type Entry, isOpen, type WorkEntry } from './entries.ts'
import { EntryList } from './entry-list.ts'
import { lifecycleAfter, queuedRun, type RunLifecycle } from './lifecycle.ts'
import { type DiscardedAttempt, retractedFrom, workRetractedFrom } from './retraction.ts'
import {
  isText,
  marksOf,
  restoreEntry,
  SAVED_VERSION,
  saveEntries,
  type SavedEntry,
  type SavedStructure,
} from './saved-structure.ts'
import { BREAKS, BREAKS_ALL } from './text-breaks.ts'
import { type Delta, type TextEntry, TextFold } from './texts.ts'
import { UsageFold } from './usage.ts'
import { callingActorOf, WorkFold } from './work.ts'

/** Options of `RunStructure`. */
export interface StructureOptions {
  /** Kinds of entries to keep. Default: all. */
  readonly kinds?: readonly Entry['kind'][]
  /** Maximum entries; the oldest beyond it are dropped. Default: 200,000. */
  readonly maxEntries?: number
}

const ENTRIES_MAX = 200_000

/**
 * Folds a run's events into its structure: messages, tool calls, steps, artifacts, questions. Retracted output is marked.
 *
 * @example
 * ```ts
 * const structure = new RunStructure()
 * for await (const event of run.events()) structure.apply(event)
 * console.log(structure.entries())
 * ```
 */
export class RunStructure {
  /** Actors by key, in the order in which they started. */
  readonly actors = new Map<string, Actor>()
  readonly usage = new UsageFold()
  lifecycle: RunLifecycle = queuedRun
  readonly #entries: EntryList
  readonly #texts = new TextFold()
  readonly #work: WorkFold
  /** Indexes of output and work that is not retracted, ascending, except text. */
  #live: number[] = []
  #maxLive = LIVE_MIN
  /** Indexes of artifacts: a retraction may affect only the end of one. */
  readonly #artifacts = new Set<number>()
  #attempt: number | undefined
  /** Time of the last event, which is the end time of work that was cut off. */
  #last = ''

  constructor({ kinds, maxEntries = ENTRIES_MAX }: StructureOptions = {}) {
    this.#entries = new EntryList(kinds, maxEntries)
    this.#work = new WorkFold(this.#entries)
  }

  /** Restores a structure that `save` returned (a JSON round trip is fine). Throws if another version saved it. */
  static restore(saved: SavedStructure, options?: StructureOptions): RunStructure {
    if (saved.version !== SAVED_VERSION)
      throw new TypeError(`the structure has version ${saved.version}, but this code restores version ${SAVED_VERSION}`)
    const structure = new RunStructure(options)
    structure.lifecycle = saved.lifecycle
    for (const actor of saved.actors) structure.actors.set(actor.run, actor)
    structure.usage.restore(saved.usage)
    structure.#last = saved.time
    for (const entry of saved.entries) structure.#restore(entry)
    structure.#live.sort((one, other) => one - other)
    return structure
  }

  /** Everything needed to continue the fold, as JSON. Later events do not change it. */
  save(): SavedStructure {
    const { entries, ...rest } = this.saving()
    return { ...rest, entries: [...entries] }
  }

  /** Like `save`, with lazy entries: read them before the next event. */
  saving(): Omit<SavedStructure, 'entries'> & { readonly entries: Iterable<SavedEntry> } {
    const { lifecycle, actors, usage } = this
    const { models, whole } = usage
    const [marks, entries] = [this.#texts.marks(), this.entries()]
    return {
      version: SAVED_VERSION,
      lifecycle,
      actors: [...actors.values()],
      usage: { models, ...(whole !== undefined && { whole }) },
      time: this.#last,
      entries: saveEntries(entries, marks),
    }
  }

  #restore(saved: SavedEntry): void {
    const entry = restoreEntry(saved)
    this.#entries.restore(entry)
    this.#work.restore(entry)
    if ('pieces' in saved && isText(entry)) this.#texts.restore(entry, marksOf(entry.index, saved.pieces as number[]))
    if (RETRACTABLE.has(entry.kind) && !entry.retracted) this.#addLive(entry)
    if (entry.kind === 'attempt') this.#attempt = entry.state === 'running' ? entry.index : undefined
  }

  /** A snapshot: later events change neither the list nor its entries. */
  entries(): readonly Entry[] {
    return this.#entries.all()
  }

  /** Work in progress, oldest first. */
  open(): readonly WorkEntry[] {
    return this.#entries.open()
  }

  get(index: number | undefined): Entry | undefined {
    return this.#entries.get(index)
  }

  /** The newest call of a component, by its key. */
  called(whose: string): ActorEntry | undefined {
    return this.#entries.find('actor', whose)
  }

  /** The enclosing step or called component of an entry. */
  around(entry: Entry): Entry | undefined {
    const step = 'step' in entry ? this.get(entry.step) : undefined
    return step ?? this.called(entry.kind === 'actor' ? entry.caller : entry.actor)
  }

  /** Frees an entry that its reader no longer needs. */
  forget(index: number): void {
    this.#entries.forget(index)
  }

  /** Applies an event. Returns the entry that it started or changed. */
  apply(event: LoggedEvent): Entry | undefined {
    const { actor, index } = event
    if (actor !== undefined && !this.actors.has(actor.run)) this.actors.set(actor.run, actor)
    this.lifecycle = lifecycleAfter(this.lifecycle, event)
    this.usage.apply(event)
    this.#breakText(event)
    const entry = this.#fold(event)
    if (entry?.index === index && RETRACTABLE.has(entry.kind)) this.#addLive(entry)
    this.#last = event.time
    return entry
  }

  #fold(event: LoggedEvent): Entry | undefined {
    switch (event.type) {
      case 'run.created':
        return this.#entries.begin(event, { kind: 'input', value: event.data.input })
      case 'run.started':
        return this.#startAttempt(event)
      case 'run.released':
        this.#endAttempt('done', event.time)
        return this.#entries.begin(event, { kind: 'release', reason: event.data.reason })
      case 'stop.requested':
        return this.#entries.begin(event, { kind: 'stop', reason: event.data.reason })
      case 'run.paused':
        this.#endQuestions(event)
        return this.#entries.begin(event, { kind: 'questions', questions: event.data.questions }, '')
      case 'run.resumed':
        return this.#answer(event)
      case 'run.completed':
      case 'run.failed':
      case 'run.cancelled':
      case 'run.rejected':
        return this.#end(event)
      case 'attempt.discarded':
        return this.#retract(event)
      case 'text.delta':
      case 'reasoning.delta':
        return this.#addText(event)
      case 'artifact.added':
        return this.#addArtifact(event)
      case 'source.cited':
        return this.#entries.begin(event, { kind: 'source', ...event.data })
      case 'state.replaced':
        return this.#entries.begin(event, { kind: 'state', name: 'state', value: event.data.state })
      case 'state.patched':
        return this.#entries.begin(event, { kind: 'patch', name: 'state', value: event.data.patch })
      case 'custom.emitted':
        return this.#entries.begin(event, { kind: 'custom', name: event.data.name, value: event.data.value })
      default:
        return this.#work.apply(event)
    }
  }

  #startAttempt(event: LoggedEventOf<'run.started'>): Entry | undefined {
    this.#endAttempt('cut', this.#last)
    // Steps and actors in the ledger are resumed. A repeated tool call has an event of its own.
    for (const entry of this.open())
      if (entry.kind === 'tool' || !entry.recorded) this.#entries.change(entry, { state: 'cut', endedAt: this.#last })
    this.#attempt = event.index
    return this.#entries.begin(event, { kind: 'attempt', number: event.data.attempt, state: 'running' })
  }

  #endAttempt(state: 'done' | 'failed' | 'cut', endedAt: string, retracted = false): void {
    const attempt = this.get(this.#attempt)
    if (attempt?.kind === 'attempt') this.#entries.change(attempt, { state, endedAt, retracted })
    this.#attempt = undefined
  }

  #answer({ data, time }: LoggedEventOf<'run.resumed'>): Entry | undefined {
    const questions = this.#entries.find('questions', '')
    return questions?.answers === undefined
      ? this.#entries.change(questions, { answers: data.answers, endedAt: time })
      : undefined
  }

  /** Closes the questions of a pause: the run no longer waits, or waits for other questions. */
  #endQuestions({ time }: LoggedEvent): void {
    const questions = this.#entries.find('questions', '')
    if (questions?.endedAt === undefined) this.#entries.change(questions, { endedAt: time })
  }

  #end(event: LoggedEventOf<`run.${'completed' | 'failed' | 'cancelled' | 'rejected'}`>): Entry | undefined {
    this.#endQuestions(event)
    const { status } = this.lifecycle
    this.#endAttempt(status === 'completed' ? 'done' : 'failed', event.time)
    for (const entry of this.open()) this.#entries.change(entry, { state: 'cut', endedAt: event.time })
    const { output, error, reason } = event.data as Partial<Extract<Entry, { kind: 'end' }>>
    return this.#entries.begin(event, { kind: 'end', status, output, error, reason })
  }

  #addText(event: Delta): TextEntry | undefined {
    if (!this.#entries.keeps(event.type === 'text.delta' ? 'text' : 'reasoning')) return undefined
    const { entry, closed } = this.#texts.add(event)
    if (closed !== undefined) this.#entries.put(closed)
    return this.#entries.put(entry)
  }

  /** Ends texts that the event separates from later ones. */
  #breakText(event: LoggedEvent): void {
    if (BREAKS_ALL.has(event.type)) {
      this.#closeText('')
      for (const whose of this.actors.keys()) this.#closeText(whose)
    } else if (event.type === 'actor.started') this.#closeText(callingActorOf(event))
    else if (BREAKS.has(event.type)) this.#closeText(actorKey(event.actor))
  }

  #closeText(whose: string): void {
    const closed = this.#texts.close(whose)
    if (closed !== undefined) this.#entries.put(closed)
  }

  #addArtifact(event: LoggedEventOf<'artifact.added'>): Entry | undefined {
    const { artifact, name, mediaType, append = false, last = false, text, bytes, url, value } = event.data
    const ref = `${actorKey(event.actor)} ${artifact}`
    const known = append ? this.#entries.find('artifact', ref) : undefined
    const isKnown = known !== undefined && !known.retracted
    const pieces = { index: event.index, previous: isKnown ? known.pieces : undefined, text, bytes, url, value }
    if (isKnown) return this.#entries.change(known, { pieces, whole: last })
    this.#closeText(actorKey(event.actor))
    return this.#entries.begin(
      event,
      { kind: 'artifact', artifact, name, mediaType, pieces, whole: !append || last },
      ref,
    )
  }

  #retract(event: DiscardedAttempt): Entry | undefined {
    // In log order, whichever actor came first.
    const retractions = this.#texts.retract(event).toSorted((one, other) => one.retracted.index - other.retracted.index)
    for (const { left, retracted } of retractions) {
      if (left !== undefined) this.#entries.put(left)
      this.#entries.put(retracted)
    }
    if (this.#attempt !== undefined && workRetractedFrom(event, '') <= this.#attempt + 1)
      this.#endAttempt('cut', this.#last, true)
    this.#retractLive(event)
    for (const index of this.#artifacts) this.#retractPieces(event, this.get(index))
    return this.#entries.begin(event, { kind: 'retraction', from: event.data.from, reason: event.data.reason })
  }

  #retractLive(event: DiscardedAttempt): void {
    const lowest = retractedFrom(event, actorKey(event.actor))
    const staying: number[] = []
    for (let last = this.#live.at(-1); last !== undefined && last >= lowest; last = this.#live.at(-1)) {
      this.#live.pop()
      const entry = this.get(last)
      if (entry === undefined) continue
      if (isRetracted(entry, event)) this.#entries.put(markRetracted(entry, this.#last))
      else staying.push(last)
    }
    for (const index of staying.toReversed()) this.#live.push(index)
  }

  /** Keeps the pieces of an artifact from before the retraction. */
  #retractPieces(event: DiscardedAttempt, entry: Entry | undefined): void {
    if (entry?.kind !== 'artifact' || entry.retracted) return
    const from = retractedFrom(event, entry.actor)
    let pieces: ArtifactPiece | undefined = entry.pieces
    while (pieces !== undefined && pieces.index >= from) pieces = pieces.previous
    if (pieces !== undefined && pieces !== entry.pieces) this.#entries.change(entry, { pieces, whole: false })
  }

  #addLive({ index, kind }: Entry): void {
    this.#live.push(index)
    if (kind === 'artifact') this.#artifacts.add(index)
    if (this.#live.length < this.#maxLive) return
    // Removes indexes of dropped entries.
    this.#live = this.#live.filter((known) => this.get(known) !== undefined)
    for (const known of this.#artifacts) if (this.get(known) === undefined) this.#artifacts.delete(known)
    this.#maxLive = 2 * this.#live.length + LIVE_MIN
  }
}

const LIVE_MIN = 1000

const RETRACTABLE: ReadonlySet<Entry['kind']> = new Set([
  'tool',
  'step',
  'actor',
  'model',
  'artifact',
  'source',
  'state',
  'patch',
  'custom',
])

function isRetracted(entry: Entry, event: DiscardedAttempt): boolean {
  const isRecorded = 'recorded' in entry && entry.recorded
  return entry.index >= (isRecorded ? workRetractedFrom : retractedFrom)(event, entry.actor)
}

function markRetracted(entry: Entry, endedAt: string): Entry {
  return isOpen(entry) ? { ...entry, retracted: true, state: 'cut', endedAt } : { ...entry, retracted: true }
}
