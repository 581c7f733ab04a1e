/** The pieces of a run that are not retracted. Persistent and packed, so that a long message takes little more memory than its text. */
import { addPiece, retractPieces, textFrom } from '../../../core/structure/text-pieces.ts'
import type { Piece, PieceNode } from './state.ts'

type Added = Pick<PieceNode, 'piece' | 'log' | 'actor' | 'recorded'>

export function addToList(newest: PieceNode | undefined, added: Added): PieceNode {
  const { piece, log } = added
  if (!('text' in piece)) return { ...added, previous: newest, texts: undefined }
  if (newest?.texts !== undefined && continues(newest, added))
    return { ...newest, texts: addPiece(newest.texts, log, piece.text) }
  return { ...added, piece: { ...piece, text: '' }, previous: newest, texts: addPiece(undefined, log, piece.text) }
}

function continues({ piece: before, actor, recorded }: PieceNode, added: Added): boolean {
  const { piece } = added
  return (
    'text' in piece &&
    'text' in before &&
    piece.kind === before.kind &&
    piece.id === before.id &&
    !('replaces' in piece) &&
    actor === added.actor &&
    recorded === added.recorded
  )
}

/** Oldest first. */
export function* nodesOf(newest: PieceNode | undefined): Generator<PieceNode, void, void> {
  const nodes: PieceNode[] = []
  for (let node = newest; node !== undefined; node = node.previous) nodes.push(node)
  for (let node = nodes.pop(); node !== undefined; node = nodes.pop()) yield node
}

/** The piece with its text. */
export function pieceOf({ piece, texts }: PieceNode): Piece {
  return 'text' in piece ? { ...piece, text: textFrom(texts) } : piece
}

/** Index of its last event. */
export function lastOf({ log, texts }: PieceNode): number {
  return texts?.index ?? log
}

/** The rest of a node without the events from an index on. */
export function nodeBefore(node: PieceNode, from: number): PieceNode | undefined {
  if (lastOf(node) < from) return node
  const texts = node.log < from ? retractPieces(node.texts, from) : undefined
  return texts === undefined ? undefined : { ...node, texts }
}
