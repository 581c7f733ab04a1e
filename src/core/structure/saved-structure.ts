/** A run's structure as JSON, from which a fold can continue. */
import type { Actor, Usage } from '../model/event.ts'
import type { ArtifactEntry, ArtifactPiece, Entry } from './entries.ts'
import { piecesOf } from './entries.ts'
import type { RunLifecycle } from './lifecycle.ts'
import type { TextEntry } from './texts.ts'
import type { ModelUsage } from './usage.ts'

/** Incremented when structures of older versions cannot be restored. */
export const SAVED_VERSION = 1

/** A run's structure as JSON, from which it can be restored. */
export interface SavedStructure {
  readonly version: number
  readonly lifecycle: RunLifecycle
  /** In the order in which they started. */
  readonly actors: readonly Actor[]
  readonly usage: SavedUsage
  /** Time of the last event. */
  readonly time: string
  /** In log order. */
  readonly entries: readonly SavedEntry[]
}

/** Token usage in a saved structure. */
export interface SavedUsage {
  readonly models: readonly ModelUsage[]
  readonly whole?: Usage | undefined
}

export type SavedEntry = Exclude<Entry, TextEntry | ArtifactEntry> | SavedText | SavedArtifact

/** A text in a saved structure. */
export interface SavedText extends TextEntry {
  /**
   * Number of characters that each event added, so that a later retraction finds its position. A negative number stands for that
   * many events in between. Absent if the text is retracted.
   */
  readonly pieces?: readonly number[]
}

/** An artifact in a saved structure. */
export interface SavedArtifact extends Omit<ArtifactEntry, 'pieces'> {
  /** Oldest first. */
  readonly pieces: readonly Omit<ArtifactPiece, 'previous'>[]
}

/** `marks`: by entry index, alternating index and position of each piece of a text that is not retracted. */
export function* saveEntries(
  entries: readonly Entry[],
  marks: ReadonlyMap<number, readonly number[]>,
): Generator<SavedEntry> {
  for (const entry of entries) yield saveEntry(entry, entry.retracted ? undefined : marks.get(entry.index))
}

function saveEntry(entry: Entry, marks: readonly number[] | undefined): SavedEntry {
  if (isText(entry)) return marks === undefined ? entry : { ...entry, pieces: pieceLengths(marks, entry.text.length) }
  if (entry.kind !== 'artifact') return entry
  return { ...entry, pieces: piecesOf(entry).map(({ previous: _previous, ...piece }) => piece) }
}

export function restoreEntry(saved: SavedEntry): Entry {
  if (isText(saved)) {
    const { pieces: _pieces, ...entry } = saved
    return entry
  }
  if (saved.kind !== 'artifact') return saved
  let pieces: ArtifactPiece | undefined
  for (const piece of saved.pieces) pieces = { ...piece, previous: pieces }
  return { ...saved, pieces: pieces! }
}

export function isText(entry: { readonly kind: Entry['kind'] }): entry is TextEntry {
  return entry.kind === 'text' || entry.kind === 'reasoning'
}

function pieceLengths(marks: readonly number[], chars: number): number[] {
  const pieces: number[] = []
  for (let at = 0; at < marks.length; at += 2) {
    const skipped = at === 0 ? 0 : marks[at]! - marks[at - 2]! - 1
    if (skipped > 0) pieces.push(-skipped)
    pieces.push((marks[at + 3] ?? chars) - marks[at + 1]!)
  }
  return pieces
}

/** The marks of a text that starts at an index. */
export function marksOf(index: number, pieces: readonly number[]): number[] {
  const marks: number[] = []
  let [next, chars] = [index, 0]
  for (const piece of pieces) {
    if (piece < 0) next -= piece
    else {
      marks.push(next++, chars)
      chars += piece
    }
  }
  return marks
}

/** The reference by which an entry is found, besides its index. */
export function refOf(entry: Entry): string | undefined {
  switch (entry.kind) {
    case 'tool':
      return `${entry.actor} ${entry.call}`
    case 'step':
      return `${entry.actor} ${entry.id}`
    case 'model':
      return `${entry.actor} ${entry.request}`
    case 'artifact':
      return `${entry.actor} ${entry.artifact}`
    case 'actor':
      return entry.actor
    case 'questions':
      return ''
    default:
      return undefined
  }
}
