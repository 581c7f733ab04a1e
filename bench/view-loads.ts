/** Live runs with subscribers of other protocols, beside native ones on the same server. */
import type { Bench } from './bench.ts'
import { atLeast, type Figure, median, show } from './figures.ts'
import { measure } from './measure.ts'
import type { FollowProtocol, Load, StartProtocol } from './messages.ts'

const FANNED = ['agentos', 'responses', 'a2a'] as const
const STARTED = ['agentos', 'chat'] as const

/** One run with 1,000 subscribers. */
export async function fanOut(bench: Bench): Promise<Figure[]> {
  const load = (protocol: FollowProtocol, events: number): Load => {
    const work = { events, perTurn: 8, intervalMs: 20, phaseMs: 0, stampEvery: 0 }
    return { runs: 1, subscribersPerRun: 1000, protocol, retold: true, work }
  }
  const ratios = await ofNative(bench, FANNED, (protocol, isWarmUp) =>
    load(protocol, isWarmUp ? 50 : bench.quick ? 75 : 150),
  )
  return FANNED.map((protocol) =>
    atLeast(`1,000 ${protocol} subscribers, paced: deliveries per CPU-second, of native`, 0.8, ratios[protocol]),
  )
}

/** The loads of the scenarios `saturated` and `paced`: many runs with one subscriber each. */
export async function manyRuns(bench: Bench): Promise<Figure[]> {
  const saturated = (startProtocol: StartProtocol, isWarmUp: boolean): Load => {
    const events = isWarmUp ? 300 : bench.quick ? 500 : 1000
    const work = { events, perTurn: 8, intervalMs: 0, phaseMs: 0, stampEvery: 0 }
    return { runs: 100, subscribersPerRun: 1, startProtocol, retold: true, work }
  }
  const paced = (startProtocol: StartProtocol, isWarmUp: boolean): Load => {
    const work = { events: isWarmUp ? 75 : 150, perTurn: 1, intervalMs: 20, phaseMs: 0, stampEvery: 0 }
    return { runs: 100, subscribersPerRun: 1, startProtocol, retold: true, work }
  }
  const figures: Figure[] = []
  for (const [name, load] of [
    ['saturated, eight per turn', saturated],
    ['5,000 events/s', paced],
  ] as const) {
    bench.note(`${name}: 100 runs with a subscriber each`)
    const ratios = await ofNative(bench, STARTED, load)
    for (const protocol of STARTED)
      figures.push(atLeast(`${name}, ${protocol}: deliveries per CPU-second, of native`, 0.6, ratios[protocol]))
  }
  return figures
}

/** Deliveries per CPU-second, of those by native subscribers: the median of all rounds. */
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
