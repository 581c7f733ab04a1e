/** Catch-up: a subscriber reads the complete log of a finished run. */
import type { Bench, Scenario, ServerKind } from '../bench.ts'
import { atMost, median, show } from '../figures.ts'
import { assertWhole, LOAD_MS_MAX } from '../measure.ts'
import type { Load } from '../messages.ts'

const EVENTS = 10_000
const WARM_UPS = 20
const READINGS = 100

export const catchUp: Scenario = {
  name: 'catch-up',
  about: 'a finished run of 10,000 events, read whole; plain sends it from memory in 64 KiB writes',
  async run(bench) {
    const readers = { plain: await finishedRun(bench, 'A'), holdfast: await finishedRun(bench, 'holdfast') }
    const times: Record<keyof typeof readers, number[]> = { plain: [], holdfast: [] }
    for (let reading = -WARM_UPS; reading < READINGS; reading++) {
      for (const kind of ['plain', 'holdfast'] as const) {
        const ms = await readers[kind].read()
        if (reading >= 0) times[kind].push(ms)
      }
    }
    await readers.plain.stop()
    await readers.holdfast.stop()
    const plain = median(times.plain)
    const holdfast = median(times.holdfast)
    bench.note(`plain ${show(plain)} ms, holdfast ${show(holdfast)} ms`)
    return [
      atMost('catch-up of 10,000 events: time, of plain from memory', 3, holdfast / plain),
      atMost('catch-up of 10,000 events, warm', 10, holdfast, ' ms'),
    ]
  },
}

const load: Load = {
  runs: 1,
  // More than one, so that the run is started separately and can be read again by id.
  subscribersPerRun: 2,
  keep: true,
  work: { events: EVENTS, perTurn: 8, intervalMs: 0, phaseMs: 0, stampEvery: 0 },
}

interface FinishedRun {
  /** Reads the log; returns milliseconds. */
  read(): Promise<number>
  stop(): Promise<void>
}

async function finishedRun(bench: Bench, kind: ServerKind): Promise<FinishedRun> {
  const client = await bench.client()
  const server = await bench.server(kind)
  const [run] = await client.open(server.port, load)
  await server.go(load.runs)
  assertWhole(await client.finish(LOAD_MS_MAX), load)
  // The end of the run is compacted later.
  await new Promise((resolve) => setTimeout(resolve, 3000))
  return { read: () => client.catchUp(server.port, run!, EVENTS), stop: () => server.stop() }
}
