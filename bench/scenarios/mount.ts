/** Mounted instances compared with a standalone server: the same runs and subscribers, in node:http and in Hono. */
import type { Scenario, ServerKind } from '../bench.ts'
import { atLeast, atMost, median, show } from '../figures.ts'
import { interleaved, type Measurements } from '../measure.ts'
import type { Load } from '../messages.ts'
import { bytesPerSubscriber } from './memory.ts'

export const mount: Scenario = {
  name: 'mount',
  about: '100 runs × 1 subscriber, one run × 1,000, and 2,000 idle ones, mounted and not',
  async run(bench) {
    const kinds = ['holdfast', 'node', 'hono'] as const
    bench.note('100 runs × 1 subscriber, one event per turn')
    const single = await interleaved(bench, kinds, alone(bench.quick ? 200 : 500), alone(50))
    bench.note('one run × 1,000 subscribers, 50 events/s')
    const fanOut = await interleaved(bench, kinds, shared(bench.quick ? 75 : 150), shared(50))
    const memory: number[] = []
    for (let round = 0; round < bench.rounds; round++) {
      const own = await bytesPerSubscriber(bench, 'holdfast')
      const mounted = await bytesPerSubscriber(bench, 'hono')
      bench.note(`own server ${show(own / 1024)} KiB, Hono ${show(mounted / 1024)} KiB per idle subscriber`)
      memory.push(mounted / own)
    }
    return [
      atLeast('hf.node, 100 runs: deliveries per CPU-second, of the server', 0.95, ratio(single, 'node')),
      atLeast('hf.node, 1,000 subscribers: deliveries per CPU-second, of the server', 0.95, ratio(fanOut, 'node')),
      atLeast('hf.fetch in Hono, 100 runs: deliveries per CPU-second, of the server', 0.6, ratio(single, 'hono')),
      atLeast(
        'hf.fetch in Hono, 1,000 subscribers: deliveries per CPU-second, of the server',
        0.6,
        ratio(fanOut, 'hono'),
      ),
      atMost('hf.fetch in Hono: memory per idle subscriber, of the server', 2, median(memory)),
    ]
  },
}

/** One event per tick of the event loop. */
function alone(events: number): Load {
  return { runs: 100, subscribersPerRun: 1, work: { events, perTurn: 1, intervalMs: 0, phaseMs: 0, stampEvery: 0 } }
}

/** A write per event and subscriber, which is where mounting costs most. */
function shared(events: number): Load {
  return {
    runs: 1,
    subscribersPerRun: 1000,
    work: { events, perTurn: 1, intervalMs: 20, phaseMs: 0, stampEvery: 0 },
  }
}

function ratio(measured: Measurements, kind: ServerKind): number {
  return median(measured[kind].map(({ perCpuSecond }, round) => perCpuSecond / measured.holdfast[round]!.perCpuSecond))
}
