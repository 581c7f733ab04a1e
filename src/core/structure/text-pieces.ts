/**
 * A text that grows piece by piece and remembers which event added which piece, so that a retraction finds its position. Persistent:
 * a longer text shares the pieces of the shorter one. Older pieces are packed, so a text takes little more memory than its
 * characters.
 */

/** The newest piece, which represents the text up to it. Undefined represents the empty text. */
export interface TextPieces extends TextPiece {
  /** The previous piece, if it is not packed. */
  readonly previous: TextPieces | undefined
  readonly packed: PackedPieces | undefined
  /** Number of pieces that are not packed. */
  readonly loose: number
  /** Characters of the text including this piece. */
  readonly length: number
}

export interface TextPiece {
  /** Index of its event. */
  readonly index: number
  readonly text: string
}

interface PackedPieces {
  readonly previous: PackedPieces | undefined
  readonly text: string
  /** Alternating: index of each piece, and its end in `text`. */
  readonly marks: readonly number[]
  /** Characters including these pieces. */
  readonly length: number
}

/** Number of pieces that are packed together. */
const PACKED = 64

export function addPiece(pieces: TextPieces | undefined, index: number, text: string): TextPieces {
  if (pieces === undefined) return firstAfter(undefined, index, text)
  const { packed, loose } = pieces
  if (loose === PACKED) return firstAfter(pack(pieces), index, text)
  return { index, text, previous: pieces, packed, loose: loose + 1, length: pieces.length + text.length }
}

/** Adds the pieces of consecutive events. */
export function addPieces(
  pieces: TextPieces | undefined,
  first: number,
  texts: readonly string[],
): TextPieces | undefined {
  let added = pieces
  for (let at = 0; at < texts.length; at++) added = addPiece(added, first + at, texts[at]!)
  return added
}

function firstAfter(packed: PackedPieces | undefined, index: number, text: string): TextPieces {
  return { index, text, previous: undefined, packed, loose: 1, length: (packed?.length ?? 0) + text.length }
}

function pack(pieces: TextPieces): PackedPieces {
  const { packed, length } = pieces
  const marks: number[] = []
  const texts: string[] = []
  for (let at: TextPieces | undefined = pieces; at !== undefined; at = at.previous) {
    marks.push(at.length - (packed?.length ?? 0), at.index)
    texts.push(at.text)
  }
  return { previous: packed, text: texts.toReversed().join(''), marks: marks.toReversed(), length }
}

export function lengthOf(pieces: TextPieces | undefined): number {
  return pieces?.length ?? 0
}

/** The text from a position on. */
export function textFrom(pieces: TextPieces | undefined, start = 0): string {
  if (pieces === undefined || pieces.length <= start) return ''
  const texts: string[] = []
  let begin = pieces.length
  const take = ({ text }: { readonly text: string }): void => {
    texts.push(text)
    begin -= text.length
  }
  for (let at: TextPieces | undefined = pieces; at !== undefined && begin > start; at = at.previous) take(at)
  for (let at = pieces.packed; at !== undefined && begin > start; at = at.previous) take(at)
  return texts
    .toReversed()
    .join('')
    .slice(start - begin)
}

/** Oldest first. */
export function piecesOf(pieces: TextPieces | undefined): TextPiece[] {
  return [...newestPieces(pieces)].toReversed()
}

/** Newest first. */
export function* newestPieces(pieces: TextPieces | undefined): Generator<TextPiece, void, void> {
  for (let at = pieces; at !== undefined; at = at.previous) yield at
  for (let at = pieces?.packed; at !== undefined; at = at.previous) yield* unpack(at).toReversed()
}

function unpack({ text, marks }: PackedPieces): TextPiece[] {
  const pieces: TextPiece[] = []
  for (let at = 0; at < marks.length; at += 2)
    pieces.push({ index: marks[at]!, text: text.slice(marks[at - 1] ?? 0, marks[at + 1]) })
  return pieces
}

/** The text without the pieces of events from an index on. */
export function retractPieces(pieces: TextPieces | undefined, from: number): TextPieces | undefined {
  let at = pieces
  while (at !== undefined && at.index >= from) at = at.previous
  return at ?? retractPacked(pieces?.packed, from)
}

function retractPacked(packed: PackedPieces | undefined, from: number): TextPieces | undefined {
  let at = packed
  while (at !== undefined && at.marks[0]! >= from) at = at.previous
  if (at === undefined) return undefined
  let left: TextPieces | undefined
  for (const { index, text } of unpack(at))
    if (index < from) left = left === undefined ? firstAfter(at.previous, index, text) : addPiece(left, index, text)
  return left
}
