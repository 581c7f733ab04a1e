/** 100 runs with one subscriber each, whose agents emit as fast as possible. */
import type { Bench, Scenario } from '../bench.ts'
import { atLeast, atMost, type Figure, median } from '../figures.ts'
import { efficiency, interleaved, type Measurements } from '../measure.ts'
import type { Load } from '../messages.ts'

export const saturated: Scenario = {
  name: 'saturated',
  about: '100 runs × 1 subscriber, as fast as it goes',
  async run(bench) {
    bench.note('one event per tick of the event loop')
    const one = await saturate(bench, 1)
    bench.note('eight events per turn')
    const eight = await saturate(bench, 8)
    return [
      ...figuresOfOne(one),
      atLeast('saturated, eight per turn: deliveries per CPU-second, of A', 0.7, efficiency(eight, 'A')),
    ]
  },
}

function saturate(bench: Bench, perTurn: number): Promise<Measurements> {
  const events = bench.quick ? 500 : 1000
  return interleaved(bench, ['A', 'B', 'holdfast'], load(events, perTurn), load(300, perTurn))
}

function load(events: number, perTurn: number): Load {
  return { runs: 100, subscribersPerRun: 1, work: { events, perTurn, intervalMs: 0, phaseMs: 0, stampEvery: 0 } }
}

function figuresOfOne(measured: Measurements): Figure[] {
  const cpu = median(measured.holdfast.map(({ cpuSeconds, deliveries }) => (cpuSeconds / deliveries) * 100_000))
  return [
    atLeast('saturated, one per turn: deliveries per CPU-second, of A', 1.3, efficiency(measured, 'A')),
    atMost('saturated, one per turn: CPU-seconds per 100,000 events', 1.5, cpu),
  ]
}
