/** Cost of a model agent, compared with the AI SDK streaming the same answers. */
import type { Bench, Scenario } from '../bench.ts'
import { atMost, type Figure, median } from '../figures.ts'
import { interleaved, type Measurement } from '../measure.ts'
import type { Load } from '../messages.ts'
import { PACE } from '../words-model.ts'

/** Holdfast may add 25 %. */
const RATIO_MAX = 1.25

export const components: Scenario = {
  name: 'components',
  about: 'an agent on a model, word by word, each run with one subscriber',
  async run(bench) {
    bench.note('50 answers at once, as fast as it goes')
    const fast = await compare(bench, 'as fast as it goes', (seconds) => load(50, seconds * 100, 0))
    bench.note(`100 answers at once, ${PACE} words a second each`)
    const paced = await compare(bench, `${PACE} words a second`, (seconds) => load(100, seconds * PACE, 1000 / PACE))
    return [...fast, ...paced]
  },
}

async function compare(bench: Bench, pace: string, loadOf: (seconds: number) => Load): Promise<Figure[]> {
  const kinds = ['served', 'drained', 'model'] as const
  const { served, drained, model } = await interleaved(bench, kinds, loadOf(bench.quick ? 3 : 5), loadOf(1.5))
  return [
    atMost(`agent on a model, ${pace}: CPU, of streamText and its response`, RATIO_MAX, ratio(model, served)),
    atMost(`agent on a model, ${pace}: CPU, of streamText with nobody served`, RATIO_MAX, ratio(model, drained)),
  ]
}

function load(runs: number, events: number, intervalMs: number): Load {
  const work = { events, perTurn: 1, intervalMs, phaseMs: 0, stampEvery: 0 }
  return { runs, subscribersPerRun: 1, retold: true, work }
}

/** Median of the ratios per round. */
function ratio(measured: readonly Measurement[], baseline: readonly Measurement[]): number {
  return median(measured.map(({ cpuSeconds }, round) => cpuSeconds / baseline[round]!.cpuSeconds))
}
