/** Unicode text in headers, which carry only visible ASCII: percent-encoded UTF-8, as in a URL. */

export function encodeHeader(text: string): string {
  return text.replaceAll(/[^\x21-\x24\x26-\x7e]/gu, (character) => encodeURIComponent(character))
}

/** Returns the value unchanged if it is not valid percent-encoding. */
export function decodeHeader(value: string): string {
  try {
    return decodeURIComponent(value)
  } catch {
    return value
  }
}
