/** Text of any language in a header, which carries visible ASCII only: percent-encoded as UTF-8, as in a URL. */

export function encodeHeader(text: string): string {
  return text.replaceAll(/[^\x21-\x24\x26-\x7e]/gu, (character) => encodeURIComponent(character))
}

/** What is not encoded, or not well, is the text itself. */
export function decodeHeader(value: string): string {
  try {
    return decodeURIComponent(value)
  } catch {
    return value
  }
}
