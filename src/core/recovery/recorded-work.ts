/** Recorded work of a log: steps, tool calls, component calls, questions and sleeps. */
import type { Failure } from '../model/event.ts'

/** Kinds of work. Each has its own key space. */
export type WorkKind = 'step' | 'tool' | 'actor' | 'ask' | 'sleep'

/** Identity of a request for work. Equal requests are distinguished by their order. */
export interface WorkIdentity {
  readonly kind: WorkKind
  readonly name: string
  /** Key space of the requesting context: '' or ending in a slash. */
  readonly prefix: string
  /** Reference of the work that encloses it; '' for none. */
  readonly within: string
  /** Keyed digest of the input, a step's key or a question; absent for work without one. */
  readonly digest: string | undefined
}

export type WorkOutcome =
  /** `times`: number of starts. The run's owner may have an interrupted tool call repeated. */
  | { readonly state: 'started'; readonly times: number }
  | { readonly state: 'done'; readonly result: unknown }
  | { readonly state: 'failed'; readonly failure: Failure }

export interface WorkRecord {
  readonly kind: WorkKind
  readonly key: string
  readonly name: string
  /** Absent in older logs, whose records do not name the enclosing work: such work is matched by its key alone. */
  readonly within: string | undefined
  readonly digest: string | undefined
  /** Index of its first event. */
  readonly index: number
  readonly outcome: WorkOutcome
  /** Whether the actor's output while the work ran belongs to the work. */
  readonly covers: boolean
  /** Whether new work waits until the code has requested this record again. */
  readonly awaited: boolean
  /** End of a sleep, in milliseconds since 1970. */
  readonly until?: number
}

/** The reference by which a record names its enclosing work. */
export function workRef(kind: WorkKind, key: string): string {
  return `${kind}:${key}`
}

/** The key space of a key: names contain no separators. */
export function prefixOf(key: string): string {
  return key.slice(0, key.lastIndexOf('/') + 1)
}

/** Escapes a name for use in keys. */
export function escapeName(name: string): string {
  return name.replace(/[%/#~]/g, (separator) => `%${separator.charCodeAt(0).toString(16)}`)
}

/** The name in a key, as `escapeName` wrote it. */
export function nameIn(key: string): string {
  return key.slice(prefixOf(key).length).replace(/#\d+$/, '')
}

/** Name of a component call, which may differ from the component's id. */
export function callName(name: string, component: string): string {
  return name === escapeName(component) ? name : `${name} (${component})`
}
