/**
 * Encoded frames of a stream. Some frames repeat the whole text of a run, so the frames of one page of the log can be much larger than
 * the page: they are then encoded part by part, as the client reads (SUB-1).
 */

export interface Encoding<Frame> {
  /** Encodings with the same key produce the same text. */
  readonly key: string
  encode(frame: Frame): string
}

/** Bytes, a text, or a text in parts. */
export type Encoded = Uint8Array | string | EncodedParts

/** Size at which a part ends, in characters. The frames of a page are rarely longer. */
const PART_CHARS = 4 * 1024 * 1024

export class EncodedParts {
  readonly #parts: Iterator<string, unknown, undefined>

  constructor(parts: Iterable<string>) {
    this.#parts = parts[Symbol.iterator]() as Iterator<string, unknown, undefined>
  }

  /** The next part; undefined when there is none. */
  next(): string | undefined {
    const { value, done } = this.#parts.next()
    return done === true ? undefined : value
  }
}

export function encodeFrames<Frame>(
  encoding: Encoding<Frame>,
  frames: readonly Frame[],
  begin = 0,
  end = frames.length,
): string | EncodedParts {
  let text = ''
  for (let at = begin; at < end; at++) {
    text += encoding.encode(frames[at]!)
    if (text.length >= PART_CHARS && at + 1 < end)
      return joinEncoded(text, new EncodedParts(restOf(encoding, frames, at + 1, end)))
  }
  return text
}

function* restOf<Frame>(
  encoding: Encoding<Frame>,
  frames: readonly Frame[],
  begin: number,
  end: number,
): Generator<string, void, void> {
  let text = ''
  for (let at = begin; at < end; at++) {
    text += encoding.encode(frames[at]!)
    if (text.length < PART_CHARS) continue
    yield text
    text = ''
  }
  if (text !== '') yield text
}

/** The parts, in order. */
export function joinEncoded(...encoded: readonly Encoded[]): string | EncodedParts {
  const isShort = encoded.every((each) => !(each instanceof EncodedParts))
  return isShort ? [...textsOf(...encoded)].join('') : new EncodedParts(textsOf(...encoded))
}

const decoder = new TextDecoder()

/** Its parts, as texts. */
export function* textsOf(...encoded: readonly Encoded[]): Generator<string, void, void> {
  for (const each of encoded)
    if (typeof each === 'string') yield each
    else if (each instanceof Uint8Array) yield decoder.decode(each)
    else for (let part = each.next(); part !== undefined; part = each.next()) yield part
}
