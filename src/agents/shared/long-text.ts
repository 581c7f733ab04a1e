/** Texts that may be longer than an event. In JSON a character takes up to six bytes, and an event has at most 4 MiB by default. */

/** Characters of one `text.delta`. */
const PIECE_CHARS = 256 * 1024
/** Characters of an output that is recorded once more when the work ends; a longer one is in the log as text alone. */
export const OUTPUT_CHARS_MAX = 512 * 1024

/** A text in pieces that are joined again by whoever reads them. No piece ends within a character. */
export function* piecesOf(text: string): Generator<string> {
  for (let at = 0; at < text.length;) {
    const end = at + PIECE_CHARS
    const isWithin = end < text.length && /[\uD800-\uDBFF]/.test(text[end - 1]!)
    yield text.slice(at, isWithin ? end - 1 : end)
    at = isWithin ? end - 1 : end
  }
}

/** Whether an output is too long to be recorded once more. */
export function isLongText(output: unknown): boolean {
  return typeof output === 'string' && output.length > OUTPUT_CHARS_MAX
}
