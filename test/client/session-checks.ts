/** Compares the stream of a session with the logs of its runs. */
import { expect } from 'vitest'
import type { Client, LoggedEvent, SessionStream } from '../../src/client/index.ts'

/** Collects what a stream delivers until the test ends. */
export function collect(stream: SessionStream): LoggedEvent[] {
  const events: LoggedEvent[] = []
  void (async () => {
    for await (const event of stream) events.push(event)
  })().catch(() => {})
  return events
}

/** Each event of each run once, in order, and all of them. */
export async function expectWhole(
  client: Client,
  events: readonly LoggedEvent[],
  runs: readonly string[],
): Promise<void> {
  for (const id of runs) {
    const log: LoggedEvent[] = []
    for await (const event of client.runs.open(id).events()) log.push(event)
    expect(events.filter(({ run }) => run === id)).toEqual(log)
  }
  expect(new Set(events.map(({ run }) => run))).toEqual(new Set(runs))
}

export const ends = (events: readonly LoggedEvent[]): number =>
  events.filter(({ type }) => /^run\.(completed|failed|cancelled|rejected)$/.test(type)).length
