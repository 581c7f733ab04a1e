/** Arguments of a model's tool call. */

/** Parses JSON text; returns the text itself if it is invalid. */
export function parseToolArguments(text: unknown): unknown {
  if (typeof text !== 'string') return text ?? null
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
