/** Recorded work: steps, tool calls, calls of components, questions and sleeps, as a run's log knows them. */
import type { Failure } from '../model/event.ts'

/** Kinds of work. Each has its own key space. */
export type WorkKind = 'step' | 'tool' | 'actor' | 'ask' | 'sleep'

/** What makes a request for work the same as a recorded one. Identical requests are distinguished by their order. */
export interface WorkIdentity {
  readonly kind: WorkKind
  readonly name: string
  /** Key space of the context that was asked: '' or ending in a slash. */
  readonly prefix: string
  /** Reference of the work that encloses it; '' for none. */
  readonly within: string
  /** Keyed digest of the input, a step's key or a question; absent for work without one. */
  readonly digest: string | undefined
}

export type WorkOutcome =
  /** `times`: how often it was started. The run's owner may have an interrupted tool call repeated. */
  | { readonly state: 'started'; readonly times: number }
  | { readonly state: 'done'; readonly result: unknown }
  | { readonly state: 'failed'; readonly failure: Failure }

export interface WorkRecord {
  readonly kind: WorkKind
  readonly key: string
  readonly name: string
  /** Absent in logs that were written before records named the work around them: such work is matched by its key alone. */
  readonly within: string | undefined
  readonly digest: string | undefined
  /** Index of its first event. */
  readonly index: number
  readonly outcome: WorkOutcome
  /** Whether the output of its actor while it ran belongs to it. */
  readonly covers: boolean
  /** Whether new work waits until the code has requested this record again. */
  readonly awaited: boolean
  /** End of a sleep, in milliseconds since 1970. */
  readonly until?: number
}

/** How a record refers to the work around it. */
export function workRef(kind: WorkKind, key: string): string {
  return `${kind}:${key}`
}

/** The key space that a key belongs to: names have no separators in them. */
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

/** Name of a call of a component, which may be called by another name than its own. */
export function callName(name: string, component: string): string {
  return name === escapeName(component) ? name : `${name} (${component})`
}
