/** Texts that may exceed the event size. A character takes up to six bytes in JSON; an event has at most 4 MiB by default. */

/** Characters of one `text.delta`. */
const PIECE_CHARS = 256 * 1024
/** Maximum characters of an output that is recorded again when the work ends. A longer one is only in the log as text. */
export const OUTPUT_CHARS_MAX = 512 * 1024

/** Maximum size of a value in an event, as JSON: the rest of the event needs room, too. */
const VALUE_BYTES_MAX = 3.5 * 1024 * 1024

/** Splits a text into pieces without breaking a surrogate pair. */
export function* piecesOf(text: string): Generator<string> {
  for (let at = 0; at < text.length;) {
    const end = at + PIECE_CHARS
    const isWithin = end < text.length && /[\uD800-\uDBFF]/.test(text[end - 1]!)
    yield text.slice(at, isWithin ? end - 1 : end)
    at = isWithin ? end - 1 : end
  }
}

/** Base64 characters of one chunk; each four are three bytes, so that every chunk can be decoded alone. */
const BASE64_CHARS = 2 * 1024 * 1024

/** Splits base64 text into chunks that one event can hold. */
export function* base64Pieces(text: string): Generator<string> {
  if (text === '') yield text
  for (let at = 0; at < text.length; at += BASE64_CHARS) yield text.slice(at, at + BASE64_CHARS)
}

/** Whether an output is too long to be recorded again. */
export function isLongText(output: unknown): boolean {
  return typeof output === 'string' && output.length > OUTPUT_CHARS_MAX
}

/** Cuts a text to what one event can hold, and says so at its end. */
export function clipped(text: string): string {
  if (text.length <= OUTPUT_CHARS_MAX) return text
  const [beginning = ''] = piecesOf(text)
  return `${beginning}\n[cut: ${beginning.length} of ${text.length} characters; the whole is too long for an event]`
}

/** A value that one event can hold: itself, or the beginning of its text or JSON. */
export function fitToEvent(value: unknown): unknown {
  if (!isLongText(value) && (typeof value !== 'object' || value === null)) return value
  if (fitsEvent(value)) return value
  return clipped(typeof value === 'string' ? value : JSON.stringify(value))
}

/** Whether one event can hold a value. */
export function fitsEvent(value: unknown): boolean {
  return Buffer.byteLength(JSON.stringify(value)) <= VALUE_BYTES_MAX
}
