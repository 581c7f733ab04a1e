/** Converts the return value of a component's `run` to an iterator. */
import type { Emission } from '../ports/component.ts'
import { RunFailure } from './run-failure.ts'

export function iterate(stream: unknown): AsyncIterator<Emission, unknown> {
  const iterable = stream as Partial<AsyncIterable<Emission>> | null | undefined
  // Handles the rejection of an async function. The wrong return type is reported below.
  if (stream instanceof Promise) stream.catch(() => {})
  if (typeof iterable?.[Symbol.asyncIterator] !== 'function') {
    throw new RunFailure(
      'protocol_violation',
      'the agent did not return an async iterable; is its `run` an async generator (`async *run`)?',
    )
  }
  return iterable[Symbol.asyncIterator]!() as AsyncIterator<Emission, unknown>
}
