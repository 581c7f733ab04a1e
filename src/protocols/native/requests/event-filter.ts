/**
 * Selects the events of a log that a stream delivers, by type and actor. The terminal event and retractions are always delivered:
 * without them a reader would consider its output complete, or valid.
 */
import { type EventType, eventTable, isTerminal } from '../../../core/model/event.ts'
import { HoldfastError } from '../../../core/model/errors.ts'
import { type RawRecord, rawRecords, recordsOf, type Slice } from '../../../core/model/slice.ts'
import type { Run } from '../../../core/model/run.ts'

/** Maximum names in one parameter. */
const NAMES_MAX = 100
/** Filters whose results are cached per slice. */
const FILTERS_MAX = 8

export class EventFilter {
  /** Filters with the same key select the same records of a run. */
  readonly key: string
  readonly #types: ReadonlySet<EventType> | undefined
  readonly #actors: ReadonlySet<string> | undefined
  readonly #ownNames: readonly string[]

  private constructor(
    { id, component }: Pick<Run, 'id' | 'component'>,
    types: ReadonlySet<EventType> | undefined,
    actors: ReadonlySet<string> | undefined,
  ) {
    this.key = JSON.stringify([types && [...types].toSorted(), actors && [...actors].toSorted()])
    this.#types = types
    this.#actors = actors
    this.#ownNames = [id, component]
  }

  /** Undefined if the query has no filter. */
  static read(query: URLSearchParams, run: Pick<Run, 'id' | 'component'>): EventFilter | undefined {
    const types = namesIn('types', query.getAll('types'))
    const actors = namesIn('actors', query.getAll('actors'))
    if (types === undefined && actors === undefined) return undefined
    return new EventFilter(run, types && new Set(types.flatMap(typesNamed)), actors && new Set(actors))
  }

  /** The delivered records of a slice, shared by all readers of the slice. */
  recordsOf(slice: Slice): readonly RawRecord[] {
    let known = selected.get(slice)
    if (known === undefined) selected.set(slice, (known = new Map()))
    const found = known.get(this.key)
    if (found !== undefined) return found
    const records = this.#select(slice)
    if (known.size < FILTERS_MAX) known.set(this.key, records)
    return records
  }

  #select(slice: Slice): RawRecord[] {
    return rawRecords(slice).filter((record, at) => {
      if (isTerminal(record.type) || record.type === 'attempt.discarded') return true
      if (this.#types?.has(record.type) === false) return false
      return this.#actors === undefined || this.#isOfActor(record, slice, at)
    })
  }

  #isOfActor({ envelope, type }: RawRecord, slice: Slice, at: number): boolean {
    // Envelopes have the actor right after the type, so most need not be parsed.
    const actor = envelope.includes(`"type":"${type}","actor":`) ? recordsOf(slice)[at]!.event.actor : undefined
    const names = actor === undefined ? this.#ownNames : [actor.run, actor.component]
    return names.some((name) => this.#actors!.has(name))
  }
}

const selected = new WeakMap<Slice, Map<string, readonly RawRecord[]>>()

/** Parses names separated by commas, in one or several parameters. */
function namesIn(parameter: string, given: readonly string[]): string[] | undefined {
  if (given.length === 0) return undefined
  const names = given.flatMap((value) => value.split(',')).map((name) => name.trim())
  if (names.includes(''))
    throw new HoldfastError('invalid_request', `${parameter} has an empty name; separate names by commas`)
  if (names.length > NAMES_MAX)
    throw new HoldfastError(
      'invalid_request',
      `${parameter} has ${names.length} names; at most ${NAMES_MAX} are allowed`,
    )
  return names
}

const eventTypes = Object.keys(eventTable) as EventType[]

/** `tool.called`, or `tool.*` for all types of a noun. */
function typesNamed(name: string): readonly EventType[] {
  const found = name.endsWith('.*')
    ? eventTypes.filter((type) => type.startsWith(name.slice(0, -1)))
    : eventTypes.filter((type) => type === name)
  if (found.length > 0) return found
  throw new HoldfastError(
    'invalid_request',
    `${JSON.stringify(name.slice(0, 100))} is not an event type; use one such as tool.called, or tool.* for all of a kind`,
  )
}
