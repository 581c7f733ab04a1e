/** What a run is given, as the one text that many agents take. */

export function textOf(input: unknown): string {
  if (typeof input === 'string') return input
  if (typeof input === 'object' && input !== null && 'text' in input && typeof input.text === 'string')
    return input.text
  return JSON.stringify(input ?? null)
}
