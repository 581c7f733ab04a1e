/** Live runs with subscribers of other protocols, beside native ones on the same server. */
import type { Work } from './agent.ts'
import type { Bench } from './bench.ts'
import { atLeast, type Figure, median, show } from './figures.ts'
import { measure } from './measure.ts'
import type { FollowProtocol, Load, StartProtocol } from './messages.ts'

const FANNED = ['agentos', 'responses', 'a2a'] as const
const STARTED = ['agentos', 'chat', 'ai-sdk', 'a2a'] as const

/** One run with 1,000 subscribers. */
export async function fanOut(bench: Bench): Promise<Figure[]> {
  const events = bench.quick ? 75 : 150
  const ratios = await ofNative(bench, FANNED, (protocol, isWarmUp) => fannedLoad(protocol, isWarmUp ? 50 : events))
  return FANNED.map((protocol) =>
    atLeast(`1,000 ${protocol} subscribers, paced: deliveries per CPU-second, of native`, 0.8, ratios[protocol]),
  )
}

function fannedLoad(protocol: FollowProtocol, events: number): Load {
  const work = { events, perTurn: 8, intervalMs: 20, phaseMs: 0, stampEvery: 0 }
  return { runs: 1, subscribersPerRun: 1000, protocol, retold: true, work }
}

/** The loads of the scenarios `saturated` and `paced`: many runs with one subscriber each. */
export async function manyRuns(bench: Bench): Promise<Figure[]> {
  const events = bench.quick ? 500 : 1000
  const loads = [
    { name: 'saturated, one per turn', runs: 100, events, warmUp: 300, perTurn: 1, intervalMs: 0 },
    { name: 'saturated, eight per turn', runs: 100, events, warmUp: 300, perTurn: 8, intervalMs: 0 },
    { name: '20,000 events/s', runs: 400, events: 150, warmUp: 75, perTurn: 1, intervalMs: 20 },
    { name: '5,000 events/s', runs: 100, events: 150, warmUp: 75, perTurn: 1, intervalMs: 20 },
  ]
  const figures: Figure[] = []
  for (const { name, runs, events: measured, warmUp, ...pace } of loads) {
    bench.note(`${name}: ${runs} runs with a subscriber each`)
    const ratios = await ofNative(bench, STARTED, (protocol, isWarmUp) =>
      startedLoad(protocol, runs, { events: isWarmUp ? warmUp : measured, ...pace, phaseMs: 0, stampEvery: 0 }),
    )
    for (const protocol of STARTED)
      figures.push(atLeast(`${name}, ${protocol}: deliveries per CPU-second, of native`, 0.6, ratios[protocol]))
  }
  return figures
}

function startedLoad(startProtocol: StartProtocol, runs: number, work: Work): Load {
  return { runs, subscribersPerRun: 1, startProtocol, retold: true, work }
}

/** Deliveries per CPU-second relative to native subscribers: the median of all rounds. */
async function ofNative<Protocol extends string>(
  bench: Bench,
  protocols: readonly Protocol[],
  load: (protocol: Protocol | 'native', isWarmUp: boolean) => Load,
): Promise<Readonly<Record<Protocol, number>>> {
  const client = await bench.client()
  const server = await bench.server('holdfast')
  const all = ['native', ...protocols] as const
  const rates = new Map<string, number[]>(all.map((protocol) => [protocol, []]))
  for (const protocol of all) await measure(server, client, load(protocol, true))
  for (let round = 0; round < bench.rounds; round++) {
    for (const protocol of all) {
      const loaded = load(protocol, false)
      const { cpuSeconds } = await measure(server, client, loaded)
      // The text that some protocols repeat in their last frame does not count.
      const rate = (loaded.work.events * loaded.runs * loaded.subscribersPerRun) / cpuSeconds
      rates.get(protocol)!.push(rate)
      bench.note(`${protocol.padEnd(9)} ${show(rate)} deliveries per CPU-second`)
    }
  }
  await server.stop()
  const ratioOf = (protocol: Protocol): number =>
    median(rates.get(protocol)!.map((rate, round) => rate / rates.get('native')![round]!))
  return Object.fromEntries(protocols.map((protocol) => [protocol, ratioOf(protocol)])) as Record<Protocol, number>
}
