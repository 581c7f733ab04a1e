/** The error for an agent that still uses the context of a run that has ended. */
export function runEndedError(): DOMException {
  return new DOMException('the run has ended', 'AbortError')
}
