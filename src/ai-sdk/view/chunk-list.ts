/**
 * The chunks of a run that are not retracted. Persistent: adding one shares the others. Consecutive deltas of one part share a node,
 * so a long text takes little more memory than its characters.
 */
import {
  addPiece,
  addPieces,
  newestPieces,
  retractPieces,
  textFrom,
  type TextPieces,
} from '../../core/structure/text-pieces.ts'
import type { Chunk } from '../chunks.ts'
import type { OpenTool } from './state.ts'

export interface StandingChunk {
  readonly chunk: Chunk
  /** Index of its event. */
  readonly log: number
  /** Key of the actor. */
  readonly actor: string
  /** Whether it belongs to recorded work. */
  readonly recorded: boolean
  /** Number of the answer that started its message. */
  readonly message: number
  /** Number of the step whose parts it changes. */
  readonly step: number
  /** The call that it ends, in its state before. */
  readonly ends?: OpenTool | undefined
}

/** The newest chunk, and the list before it. */
export interface ChunkList {
  readonly previous: ChunkList | undefined
  /** The chunk, or the first of several deltas. */
  readonly first: StandingChunk
  readonly deltas: TextPieces | undefined
}

export function addChunk(list: ChunkList | undefined, added: StandingChunk): ChunkList {
  const delta = deltaOf(added.chunk)
  if (delta === undefined) return { previous: list, first: added, deltas: undefined }
  if (list?.deltas === undefined || !isSamePart(list.first, added))
    return { previous: list, first: added, deltas: addPiece(undefined, added.log, delta) }
  return { ...list, deltas: addPiece(list.deltas, added.log, delta) }
}

/** Adds deltas of consecutive events to the newest chunk; undefined if they do not continue it. `added` is the first one. */
export function addDeltas(
  list: ChunkList | undefined,
  added: StandingChunk,
  deltas: readonly string[],
): ChunkList | undefined {
  if (list?.deltas === undefined || !isSamePart(list.first, added)) return undefined
  return { ...list, deltas: addPieces(list.deltas, added.log, deltas) }
}

function isSamePart(first: StandingChunk, { chunk, actor, recorded, message, step }: StandingChunk): boolean {
  return (
    first.chunk.type === chunk.type &&
    partOf(first.chunk) === partOf(chunk) &&
    first.actor === actor &&
    first.recorded === recorded &&
    first.message === message &&
    first.step === step
  )
}

function partOf(chunk: Chunk): string | undefined {
  if ('toolCallId' in chunk) return chunk.toolCallId
  return 'id' in chunk ? chunk.id : undefined
}

/** Deltas with more than text are kept one by one. */
function deltaOf(chunk: Chunk): string | undefined {
  if ('providerMetadata' in chunk) return undefined
  if (chunk.type === 'tool-input-delta') return chunk.inputTextDelta
  return chunk.type === 'text-delta' || chunk.type === 'reasoning-delta' ? chunk.delta : undefined
}

function withDelta(chunk: Chunk, text: string): Chunk {
  if (chunk.type === 'tool-input-delta') return { ...chunk, inputTextDelta: text }
  return { ...chunk, delta: text } as Chunk
}

/** The newest chunks that satisfy a condition, oldest first. */
export function newestChunks(
  list: ChunkList | undefined,
  condition: (chunk: StandingChunk) => boolean,
): readonly StandingChunk[] {
  const found: StandingChunk[] = []
  for (const chunk of newestFirst(list)) {
    if (!condition(chunk)) break
    found.push(chunk)
  }
  return found.toReversed()
}

/** Newest first, with consecutive deltas of one part joined: as cheap as the parts are few. */
export function* joinedChunks(list: ChunkList | undefined): Generator<StandingChunk, void, void> {
  for (let at = list; at !== undefined; at = at.previous) {
    const { first, deltas } = at
    yield deltas === undefined ? first : { ...first, chunk: withDelta(first.chunk, textFrom(deltas)) }
  }
}

function* newestFirst(list: ChunkList | undefined): Generator<StandingChunk, void, void> {
  for (let at = list; at !== undefined; at = at.previous) {
    const { first } = at
    if (at.deltas === undefined) yield first
    else
      for (const { index: log, text } of newestPieces(at.deltas))
        yield { ...first, log, chunk: withDelta(first.chunk, text) }
  }
}

/** The chunks of events before an index. */
export function chunksBefore(list: ChunkList | undefined, index: number): ChunkList | undefined {
  let at = list
  while (at !== undefined && at.first.log >= index) at = at.previous
  return at?.deltas === undefined ? at : { ...at, deltas: retractPieces(at.deltas, index) }
}
