/**
 * Frames as a stream sends them. Some frames repeat all that a run has said, so those of one page of the log can be much larger than
 * the page: then they are encoded part by part, when the client has taken what came before (SUB-1).
 */

export interface Encoding<Frame> {
  /** Encodings with the same key give the same text. */
  readonly key: string
  encode(frame: Frame): string
}

/** Bytes, a text, or a text in parts. */
export type Encoded = Uint8Array | string | EncodedParts

/** Characters after which a part ends. The frames of a page are rarely longer. */
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

/** One after another. */
export function joinEncoded(...encoded: readonly Encoded[]): string | EncodedParts {
  const isShort = encoded.every((each) => !(each instanceof EncodedParts))
  return isShort ? [...textsOf(...encoded)].join('') : new EncodedParts(textsOf(...encoded))
}

const decoder = new TextDecoder()

/** The texts of which it consists. */
export function* textsOf(...encoded: readonly Encoded[]): Generator<string, void, void> {
  for (const each of encoded)
    if (typeof each === 'string') yield each
    else if (each instanceof Uint8Array) yield decoder.decode(each)
    else for (let part = each.next(); part !== undefined; part = each.next()) yield part
}
