/** Replaces control and bidirectional characters in text for terminals. */
const COMMANDS = /(?![\n\t])[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu

/** Escapes text for a terminal: an agent's output must not move the cursor, set a title or hide a line. */
export function printable(text: string): string {
  return text.replaceAll('\r\n', '\n').replace(COMMANDS, '\u{fffd}').replaceAll('\t', '    ')
}
