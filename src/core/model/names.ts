/** Names that clients choose: of sessions, keys and documents. One rule for all protocols and stores. */
import { HoldfastError } from './errors.ts'

/**
 * Stores keep UTF-8 text, and not every one of them takes U+0000; control characters forge lines of logs and headers. All other
 * characters are taken: a wire that cannot carry them encodes them.
 */
export function checkName(what: string, name: string, maxChars: number): void {
  if (name === '') throw new HoldfastError('invalid_request', `the ${what} is empty`)
  checkLength(what, name, maxChars)
  if (!name.isWellFormed() || /\p{Cc}/u.test(name))
    throw new HoldfastError('invalid_request', `the ${what} contains a control character or a lone surrogate`)
}

/** A text that people read, which may have lines. */
export function checkTitle(what: string, title: string, maxChars: number): void {
  checkLength(what, title, maxChars)
  if (!title.isWellFormed() || title.includes('\0'))
    throw new HoldfastError('invalid_request', `the ${what} contains a character that cannot be stored`)
}

function checkLength(what: string, text: string, maxChars: number): void {
  if (text.length > maxChars)
    throw new HoldfastError('invalid_request', `the ${what} is longer than ${maxChars} characters`)
}
