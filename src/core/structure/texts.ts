/** Folds text and reasoning by actor. Linear in the log: each piece is added once and retracted at most once. */
import type { LoggedEvent } from '../model/event.ts'
import { actorKey } from './actors.ts'
import { type DiscardedAttempt, retractedFrom } from './retraction.ts'

export type Delta = Extract<LoggedEvent, { type: 'text.delta' | 'reasoning.delta' }>

/** Consecutive text or reasoning of an actor within one message. A change creates a new object. */
export interface TextEntry {
  readonly kind: 'text' | 'reasoning'
  /** Index of its first event. */
  readonly index: number
  readonly time: string
  /** Key of the actor. */
  readonly actor: string
  readonly message: string | undefined
  readonly text: string
  readonly open: boolean
  readonly retracted: boolean
}

export interface TextAddition {
  readonly entry: TextEntry
  readonly closed: TextEntry | undefined
}

export interface TextRetraction {
  /** The rest of the entry, if any. */
  readonly left: TextEntry | undefined
  readonly retracted: TextEntry
}

interface Segment {
  entry: TextEntry
  /** Alternating: index of each piece, and its position in the text. */
  readonly marks: number[]
}

export class TextFold {
  readonly #segments = new Map<string, Segment[]>()

  /** Text and reasoning of an actor that is not retracted. */
  of(whose: string): TextEntry[] {
    return this.#segments.get(whose)?.map(({ entry }) => entry) ?? []
  }

  /** By entry index: index and position of the pieces of each entry that is not retracted. */
  marks(): ReadonlyMap<number, readonly number[]> {
    const found = new Map<number, readonly number[]>()
    for (const segments of this.#segments.values())
      for (const { entry, marks } of segments) found.set(entry.index, marks)
    return found
  }

  /** Adds a saved entry that is not retracted, after the others of its actor. */
  restore(entry: TextEntry, marks: number[]): void {
    const segments = this.#segments.get(entry.actor)
    if (segments === undefined) this.#segments.set(entry.actor, [{ entry, marks }])
    else segments.push({ entry, marks })
  }

  /** Continues the actor's open entry, or closes it and starts a new one. */
  add({ type, index, time, actor, data: { text, message } }: Delta): TextAddition {
    const whose = actorKey(actor)
    const kind = type === 'text.delta' ? 'text' : 'reasoning'
    const segments = this.#segments.get(whose) ?? []
    if (segments.length === 0) this.#segments.set(whose, segments)
    let last = segments.at(-1)
    let closed: TextEntry | undefined
    if (last?.entry.open !== true || last.entry.kind !== kind || last.entry.message !== message) {
      closed = this.close(whose)
      const entry = { kind, index, time, actor: whose, message, text: '', open: true, retracted: false } as const
      segments.push((last = { entry, marks: [] }))
    }
    last.marks.push(index, last.entry.text.length)
    last.entry = { ...last.entry, text: last.entry.text + text }
    return { entry: last.entry, closed }
  }

  /** Closes the open entry of an actor. */
  close(whose: string): TextEntry | undefined {
    const last = this.#segments.get(whose)?.at(-1)
    if (last?.entry.open !== true) return undefined
    return (last.entry = { ...last.entry, open: false })
  }

  /** Retracts text. Returns the retractions, newest first for each actor. */
  retract(event: DiscardedAttempt): TextRetraction[] {
    const retractions: TextRetraction[] = []
    for (const [whose, segments] of this.#segments) {
      const from = retractedFrom(event, whose)
      for (let last = segments.at(-1); last !== undefined && last.marks.at(-2)! >= from; last = segments.at(-1)) {
        const retraction = cutSegment(last, from)
        retractions.push(retraction)
        if (retraction.left === undefined) segments.pop()
      }
    }
    return retractions
  }
}

/** Closes the remaining entry. Later text starts a new entry, so a retraction never copies a long text. */
function cutSegment(segment: Segment, from: number): TextRetraction {
  const { entry, marks } = segment
  const retracted = { ...entry, open: false, retracted: true }
  if (entry.index >= from) return { left: undefined, retracted }
  let [index, at] = [0, 0]
  while (marks.at(-2)! >= from) {
    at = marks.pop()!
    index = marks.pop()!
  }
  segment.entry = { ...entry, text: entry.text.slice(0, at), open: false }
  return { left: segment.entry, retracted: { ...retracted, index, text: entry.text.slice(at) } }
}
