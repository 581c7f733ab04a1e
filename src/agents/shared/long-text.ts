/** Texts that may exceed the event size. A character takes up to six bytes in JSON; an event has at most 4 MiB by default. */

/** Characters of one `text.delta`. */
const PIECE_CHARS = 256 * 1024
/** Maximum characters of an output that is recorded again when the work ends. A longer one is only in the log as text. */
export const OUTPUT_CHARS_MAX = 512 * 1024

/** Splits a text into pieces without breaking a surrogate pair. */
export function* piecesOf(text: string): Generator<string> {
  for (let at = 0; at < text.length;) {
    const end = at + PIECE_CHARS
    const isWithin = end < text.length && /[\uD800-\uDBFF]/.test(text[end - 1]!)
    yield text.slice(at, isWithin ? end - 1 : end)
    at = isWithin ? end - 1 : end
  }
}

/** Whether an output is too long to be recorded again. */
export function isLongText(output: unknown): boolean {
  return typeof output === 'string' && output.length > OUTPUT_CHARS_MAX
}
