/** Maximum throughput of the store without a server, with synced commits and compaction. */
import { join } from 'node:path'
import type { Bench, Scenario } from '../bench.ts'
import { atLeast, median, show } from '../figures.ts'
import type { StoreLoad, StoreResult } from '../store-load.ts'

export const store: Scenario = {
  name: 'store',
  about: 'the SQLite store alone, 1,000 interleaved runs with a few events on their way each',
  async run(bench) {
    const rates: number[] = []
    for (let round = 0; round < bench.rounds; round++) {
      const bare = await load(bench, 'bare')
      const { eventsPerSecond, cpuMicrosPerEvent, backlog } = await load(bench, 'store')
      const ceiling = `${show(eventsPerSecond / bare.eventsPerSecond)} of ${show(bare.eventsPerSecond)} bare`
      const left = `${show(backlog * 100)} % of the bytes not in segments at the end`
      bench.note(`${show(eventsPerSecond)} events/s (${ceiling}); CPU µs each ${show(cpuMicrosPerEvent)}; ${left}`)
      rates.push(eventsPerSecond)
    }
    return [atLeast('store alone, 1,000 runs: events/s', 180_000, median(rates))]
  },
}

function load(bench: Bench, kind: StoreLoad['kind']): Promise<StoreResult> {
  const events = bench.quick ? 200_000 : 400_000
  const address = `sqlite:${join(bench.folder(), 'store.db')}`
  const request: StoreLoad = { kind, address, runs: 1000, eventsAtOnce: 2, prefill: 200_000, events }
  return bench.storeAlone(request, kind === 'store' ? bench.profiling : [])
}
