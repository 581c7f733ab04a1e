/** Validates names that clients choose: sessions, keys and documents. One rule for all protocols and stores. */
import { HoldfastError } from './errors.ts'

/**
 * Not every store accepts U+0000. Control characters could inject log lines or headers, so they are refused. All other characters
 * are allowed; protocols encode them as needed.
 */
export function checkName(what: string, name: string, maxChars: number): void {
  if (name === '') throw new HoldfastError('invalid_request', `the ${what} is empty`)
  checkLength(what, name, maxChars)
  if (!name.isWellFormed() || /\p{Cc}/u.test(name))
    throw new HoldfastError('invalid_request', `the ${what} contains a control character or a lone surrogate`)
}

/** Like `checkName`, for text that people read, which may contain line breaks. */
export function checkTitle(what: string, title: string, maxChars: number): void {
  checkLength(what, title, maxChars)
  if (!title.isWellFormed() || title.includes('\0'))
    throw new HoldfastError('invalid_request', `the ${what} contains a character that cannot be stored`)
}

function checkLength(what: string, text: string, maxChars: number): void {
  if (text.length > maxChars)
    throw new HoldfastError('invalid_request', `the ${what} is longer than ${maxChars} characters`)
}
