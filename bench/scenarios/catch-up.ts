/** A subscriber that comes when all is over and reads the whole log. */
import type { Scenario, ServerKind } from '../bench.ts'
import { atMost, median, show } from '../figures.ts'
import { measure } from '../measure.ts'
import type { Load } from '../messages.ts'
import type { ServerProcess } from '../processes.ts'

const EVENTS = 10_000

export const catchUp: Scenario = {
  name: 'catch-up',
  about: 'a finished run of 10,000 events, read whole; plain sends it from memory in 64 KiB writes',
  async run(bench) {
    const client = await bench.client()
    const kinds: readonly ServerKind[] = ['A', 'holdfast']
    const times: Record<ServerKind, number[]> = { A: [], B: [], holdfast: [] }
    // The client follows the run that it started last, so the servers take turns at the outside and not at the inside.
    for (let round = 0; round < bench.rounds; round++) {
      for (const kind of kinds) {
        const server = await bench.server(kind)
        await measure(server, client, finishedRun)
        times[kind].push(median(await readings(() => timed(server))))
        bench.note(`${kind.padEnd(8)} ${show(times[kind].at(-1)!)} ms`)
        await server.stop()
      }
    }
    const timed = async (server: ServerProcess): Promise<number> => (await client.catchUp(server.port, EVENTS)).ms
    const ratio = median(times.holdfast.map((ms, round) => ms / times.A[round]!))
    return [atMost('catch-up of 10,000 events: time, of plain from memory', 3, ratio), atMost('catch-up of 10,000 events, warm', 10, median(times.holdfast), ' ms')]
  },
}

const finishedRun: Load = {
  runs: 1,
  // Two, so that the run is started apart and can be read again by its id.
  subscribersPerRun: 2,
  keep: true,
  work: { events: EVENTS, perTurn: 8, intervalMs: 0, phaseMs: 0, stampEvery: 0 },
}

const WARM_UPS = 10
const READINGS = 30

async function readings(read: () => Promise<number>): Promise<number[]> {
  const times: number[] = []
  for (let reading = 0; reading < WARM_UPS + READINGS; reading++) times.push(await read())
  return times.slice(WARM_UPS)
}
