/** Fan-out: one run with a thousand subscribers. */
import type { Scenario } from '../bench.ts'
import { atLeast } from '../figures.ts'
import { efficiency, interleaved } from '../measure.ts'
import type { Load } from '../messages.ts'

export const fanOut: Scenario = {
  name: 'fan-out',
  about: 'one run × 1,000 subscribers',
  async run(bench) {
    bench.note('paced, 50 events/s')
    const paced = await interleaved(bench, ['B', 'holdfast'], load(bench.quick ? 75 : 150, 20), load(50, 20))
    bench.note('eight events per turn')
    const fast = await interleaved(bench, ['B', 'holdfast'], load(bench.quick ? 400 : 1000, 0), load(200, 0))
    return [
      atLeast('1,000 subscribers, paced: deliveries per CPU-second, of B', 0.9, efficiency(paced, 'B')),
      atLeast('1,000 subscribers, eight per turn: deliveries per CPU-second, of B', 2, efficiency(fast, 'B')),
    ]
  },
}

function load(events: number, intervalMs: number): Load {
  return { runs: 1, subscribersPerRun: 1000, work: { events, perTurn: 8, intervalMs, phaseMs: 0, stampEvery: 0 } }
}
