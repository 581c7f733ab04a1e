/** Runs with 50 events per second each: a server's typical load. */
import type { Bench, Scenario } from '../bench.ts'
import { atLeast, atMost, median } from '../figures.ts'
import { efficiency, interleaved, type Measurement, type Measurements } from '../measure.ts'
import type { Load } from '../messages.ts'

const INTERVAL_MS = 20
const MB = 1_000_000

export const paced: Scenario = {
  name: 'paced',
  about: '20,000 events/s over 400 runs, and 5,000 events/s over 100',
  async run(bench) {
    bench.note('20,000 events/s over 400 runs')
    const fast = await pace(bench, 400)
    bench.note('5,000 events/s over 100 runs')
    const slow = await pace(bench, 100)
    return [
      atLeast('20,000 events/s: deliveries per CPU-second, of A', 0.6, efficiency(fast, 'A')),
      atMost('20,000 events/s: append to frame, p50 above A', 2, aboveA(fast), ' ms'),
      atMost('20,000 events/s: append to frame, p99', 30, median(fast.holdfast.map(({ p99Ms }) => p99Ms)), ' ms'),
      atMost(
        '20,000 events/s: resident memory after it',
        350,
        Math.max(...fast.holdfast.map(({ rssBytes }) => rssBytes)) / MB,
        ' MB',
      ),
      atLeast('5,000 events/s: deliveries per CPU-second, of A', 0.4, efficiency(slow, 'A')),
      atMost('5,000 events/s: append to frame, p50 above A', 1, aboveA(slow), ' ms'),
    ]
  },
}

function pace(bench: Bench, runs: number): Promise<Measurements> {
  const seconds = bench.quick ? 3 : 5
  return interleaved(bench, ['A', 'holdfast'], load(runs, seconds), load(runs, 1.5))
}

function load(runs: number, seconds: number): Load {
  const work = {
    events: (seconds * 1000) / INTERVAL_MS,
    perTurn: 1,
    intervalMs: INTERVAL_MS,
    phaseMs: 0,
    stampEvery: 4,
  }
  return { runs, subscribersPerRun: 1, work }
}

function aboveA({ holdfast, A }: Measurements): number {
  return p50(holdfast) - p50(A)
}

function p50(measurements: readonly Measurement[]): number {
  return median(measurements.map(({ p50Ms }) => p50Ms))
}
