/** The entries of a run's structure in log order, indexed by log index and by reference. */
import type { LoggedEvent } from '../model/event.ts'
import { actorKey } from './actors.ts'
import { type Entry, isOpen, type WorkEntry } from './entries.ts'
import { refOf } from './saved-structure.ts'

/** `Omit`, distributed over a union. */
type Without<Each, Field extends PropertyKey> = Each extends unknown ? Omit<Each, Field> : never

/** An entry without the fields of its first event. */
type NewEntry = Without<Entry, 'index' | 'time' | 'actor' | 'retracted'>

type EntryOf<Kind extends Entry['kind']> = Extract<Entry, { kind: Kind }>

export class EntryList {
  readonly #kinds: ReadonlySet<Entry['kind']> | undefined
  readonly #max: number
  readonly #entries = new Map<number, Entry>()
  /** The newest entry by kind and reference. */
  readonly #refs = new Map<string, number>()
  readonly #refOf = new Map<number, string>()
  readonly #open = new Set<number>()

  /** `kinds`: default all. Beyond `max`, the oldest entries are dropped. */
  constructor(kinds: readonly Entry['kind'][] | undefined, max: number) {
    this.#kinds = kinds === undefined ? undefined : new Set(kinds)
    this.#max = max
  }

  /** Whether entries of a kind are kept. */
  keeps(kind: Entry['kind']): boolean {
    return this.#kinds?.has(kind) !== false
  }

  /** Undefined if entries of its kind are not kept. */
  begin(event: LoggedEvent, fields: NewEntry, ref?: string): Entry | undefined {
    if (!this.keeps(fields.kind)) return undefined
    const { index, time, actor } = event
    const entry = this.put({ ...fields, index, time, actor: actorKey(actor), retracted: false })
    if (ref !== undefined) this.#name(entry, ref)
    return entry
  }

  /** Inserts a saved entry in log order. */
  restore(entry: Entry): void {
    if (!this.keeps(entry.kind)) return
    const ref = refOf(this.put(entry))
    if (ref !== undefined) this.#name(entry, ref)
  }

  #name({ kind, index }: Entry, ref: string): void {
    this.#refs.set(`${kind} ${ref}`, index)
    this.#refOf.set(index, `${kind} ${ref}`)
  }

  change<Changed extends Entry>(entry: Changed | undefined, changes: Partial<Changed>): Changed | undefined {
    return entry === undefined ? undefined : this.put({ ...entry, ...changes })
  }

  /** Adds an entry, or replaces the one with the same index. */
  put<Put extends Entry>(entry: Put): Put {
    this.#entries.set(entry.index, entry)
    if (isOpen(entry)) this.#open.add(entry.index)
    else this.#open.delete(entry.index)
    if (this.#entries.size > this.#max) this.forget(this.#entries.keys().next().value!)
    return entry
  }

  forget(index: number): void {
    this.#entries.delete(index)
    this.#open.delete(index)
    const ref = this.#refOf.get(index)
    if (ref === undefined) return
    this.#refOf.delete(index)
    if (this.#refs.get(ref) === index) this.#refs.delete(ref)
  }

  get(index: number | undefined): Entry | undefined {
    return index === undefined ? undefined : this.#entries.get(index)
  }

  /** The newest entry with a reference. */
  find<Kind extends Entry['kind']>(kind: Kind, ref: string): EntryOf<Kind> | undefined {
    return this.get(this.#refs.get(`${kind} ${ref}`)) as EntryOf<Kind> | undefined
  }

  /** Work in progress, oldest first. */
  open(): WorkEntry[] {
    return Array.from(this.#open, (index) => this.#entries.get(index) as WorkEntry)
  }

  all(): Entry[] {
    return [...this.#entries.values()]
  }
}
