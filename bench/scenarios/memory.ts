/** Memory per idle subscriber: 2,000 subscribers of a silent run. */
import type { Bench, Scenario, ServerKind } from '../bench.ts'
import { atMost, median, show } from '../figures.ts'
import type { Load } from '../messages.ts'

const SUBSCRIBERS = 2000

export const memory: Scenario = {
  name: 'memory',
  about: '2,000 idle subscribers of one run',
  async run(bench) {
    const ratios: number[] = []
    for (let round = 0; round < bench.rounds; round++) {
      const plain = await bytesPerSubscriber(bench, 'A')
      const holdfast = await bytesPerSubscriber(bench, 'holdfast')
      bench.note(`plain ${show(plain / 1024)} KiB, holdfast ${show(holdfast / 1024)} KiB`)
      ratios.push(holdfast / plain)
    }
    return [atMost('memory per idle subscriber, of plain', 1.3, median(ratios))]
  },
}

export async function bytesPerSubscriber(bench: Bench, kind: ServerKind): Promise<number> {
  const client = await bench.client()
  const server = await bench.server(kind, ['--expose-gc'])
  // Warm up: exclude code and pools that the first connections allocate.
  await client.open(server.port, idle(200))
  const before = await residentBytes()
  await client.open(server.port, idle(SUBSCRIBERS))
  const after = await residentBytes()
  await client.close()
  await server.stop()
  return (after - before) / SUBSCRIBERS

  async function residentBytes(): Promise<number> {
    await server.collectGarbage()
    return (await server.usage()).rssBytes
  }
}

function idle(subscribersPerRun: number): Load {
  return { runs: 1, subscribersPerRun, work: { events: 1, perTurn: 1, intervalMs: 0, phaseMs: 0, stampEvery: 0 } }
}
