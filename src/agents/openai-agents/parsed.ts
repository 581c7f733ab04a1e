/** A model's arguments of a tool call. */

/** They are text, of JSON if all is well. */
export function parsed(text: unknown): unknown {
  if (typeof text !== 'string') return text ?? null
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
