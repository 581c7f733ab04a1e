/** A run's input as text, for agents that take one string. */

export function textOf(input: unknown): string {
  if (typeof input === 'string') return input
  if (typeof input === 'object' && input !== null && 'text' in input && typeof input.text === 'string')
    return input.text
  return JSON.stringify(input ?? null)
}
