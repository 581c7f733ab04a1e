/** The gateway between a chat completions server and its clients, against proxies that keep nothing. */
import type { Bench, Scenario } from '../bench.ts'
import { atLeast, atMost, type Figure, median, noted, show } from '../figures.ts'
import { describe, type MeasuredServer, measure, type Measurement } from '../measure.ts'
import type { Load } from '../messages.ts'
import type { ServerProcess } from '../processes.ts'
import { liteLlmProxy } from '../proxies/litellm.ts'
import { nginxProxy } from '../proxies/nginx.ts'
import type { Proxy } from '../proxies/proxy.ts'

const RUNS = 100
const INTERVAL_MS = 20
const IDLE_STREAMS = 1000

type Name = 'direct' | 'node:http' | 'nginx' | 'holdfast' | 'litellm'
type Rounds = Readonly<Partial<Record<Name, readonly Measurement[]>>>

export const gateway: Scenario = {
  name: 'gateway',
  about: `${RUNS} chat completions through the gateway and through other proxies, and ${IDLE_STREAMS} idle ones`,
  async run(bench) {
    const upstream = await bench.server('chat')
    const proxies = await started(bench, upstream)
    try {
      bench.note(`${RUNS} runs × 1 client, as fast as it goes`)
      const fast = await roundRobin(bench, upstream, proxies, unpaced)
      bench.note(`${RUNS} runs × 1 client, ${(RUNS * 1000) / INTERVAL_MS} events/s`)
      const paced = await roundRobin(bench, upstream, proxies, atPace)
      return [...efficiencies(fast, 'unpaced'), ...efficiencies(paced, 'paced'), ...latencies(paced), await idle(bench)]
    } finally {
      for (const { stop } of proxies.values()) await stop()
      await upstream.stop()
    }
  },
}

/** nginx and LiteLLM are left out, with a message, where they cannot be installed; in CI nothing may be. */
async function started(bench: Bench, upstream: ServerProcess): Promise<ReadonlyMap<Name, Proxy>> {
  const { port } = upstream
  const proxies = new Map<Name, Proxy>([
    ['direct', { port, usage: () => upstream.usage(), stop: () => Promise.resolve() }],
    ['node:http', kept(await bench.server('proxy', [], [String(port)]))],
  ])
  const others: [Name, (upstreamPort: number, folder: string) => Promise<Proxy>][] = [['nginx', nginxProxy]]
  if (bench.litellm) others.push(['litellm', liteLlmProxy])
  else bench.note('litellm left out: --litellm installs it')
  for (const [name, start] of others) {
    try {
      proxies.set(name, await start(port, bench.folder()))
    } catch (cause) {
      if (process.env['CI'] !== undefined) throw cause
      bench.note(`${name} left out: ${String(cause)}`)
    }
  }
  return proxies.set('holdfast', kept(await bench.server('gateway', [], [urlOf(port)])))
}

function kept(server: ServerProcess): Proxy {
  return { port: server.port, usage: () => server.usage(), stop: () => server.stop() }
}

function urlOf(port: number): string {
  return `http://127.0.0.1:${port}/v1`
}

/** Every proxy in turn, with the same upstream. */
async function roundRobin(
  bench: Bench,
  upstream: ServerProcess,
  proxies: ReadonlyMap<Name, Proxy>,
  load: (bench: Bench, isWarmUp: boolean, name: Name) => Load,
): Promise<Rounds> {
  const client = await bench.client()
  const served = new Map<Name, MeasuredServer>()
  for (const [name, { port, usage }] of proxies) served.set(name, { port, usage, go: (runs) => upstream.go(runs) })
  for (const [name, server] of served) await measure(server, client, load(bench, true, name))
  const measured: Partial<Record<Name, Measurement[]>> = {}
  for (let round = 0; round < bench.rounds; round++) {
    for (const [name, server] of served) {
      const result = await measure(server, client, load(bench, false, name))
      ;(measured[name] ??= []).push(result)
      bench.note(`${name.padEnd(9)} ${describe(result)}`)
    }
  }
  return measured
}

function unpaced(bench: Bench, isWarmUp: boolean, name: Name): Load {
  const events = isWarmUp ? 300 : bench.quick ? 500 : 1000
  // LiteLLM needs half a millisecond of CPU per event: a minute of it says no more than six seconds.
  return chats({ events: name === 'litellm' ? events / 10 : events, perTurn: 1, intervalMs: 0 })
}

function atPace(bench: Bench, isWarmUp: boolean, name: Name): Load {
  const seconds = isWarmUp ? 1.5 : bench.quick ? 3 : 5
  const events = (seconds * 1000) / INTERVAL_MS
  // LiteLLM cannot keep this pace; its latencies would be those of a queue.
  return chats({ events: name === 'litellm' ? events / 5 : events, perTurn: 1, intervalMs: INTERVAL_MS })
}

function chats(work: Pick<Load['work'], 'events' | 'perTurn' | 'intervalMs'>): Load {
  const stampEvery = work.intervalMs === 0 ? 0 : 4
  return { runs: RUNS, subscribersPerRun: 1, startProtocol: 'chat', work: { ...work, phaseMs: 0, stampEvery } }
}

function efficiencies({ holdfast = [], ...others }: Rounds, pace: string): Figure[] {
  const title = (of: string): string => `gateway, ${RUNS} runs, ${pace}: deliveries per CPU-second, of ${of}`
  const ratio = (other: readonly Measurement[]): number =>
    median(holdfast.map(({ perCpuSecond }, round) => perCpuSecond / other[round]!.perCpuSecond))
  const { nginx, litellm } = others
  return [
    atLeast(title('a node:http proxy'), 0.5, ratio(others['node:http']!)),
    ...(nginx === undefined ? [] : [noted(title('nginx'), ratio(nginx))]),
    ...(litellm === undefined ? [] : [atLeast(title('LiteLLM'), 5, ratio(litellm))]),
  ]
}

/** Above a client that is connected to the upstream itself. */
function latencies({ direct, ...proxies }: Rounds): Figure[] {
  const above = (name: 'holdfast' | 'node:http', pick: 'p50Ms' | 'p99Ms'): number =>
    median(proxies[name]!.map((measured, round) => measured[pick] - direct![round]![pick]))
  return [
    atMost('gateway, paced: latency above a direct connection, p50', 3, above('holdfast', 'p50Ms'), ' ms'),
    atMost('gateway, paced: latency above a direct connection, p99', 20, above('holdfast', 'p99Ms'), ' ms'),
    noted('node:http proxy, paced: latency above a direct connection, p50', above('node:http', 'p50Ms'), ' ms'),
    noted('node:http proxy, paced: latency above a direct connection, p99', above('node:http', 'p99Ms'), ' ms'),
  ]
}

/** Memory of a stream whose upstream is silent, of one whose agent in the same process is silent. */
async function idle(bench: Bench): Promise<Figure> {
  const ratios: number[] = []
  for (let round = 0; round < bench.rounds; round++) {
    const own = await bytesPerStream(bench, await bench.server('holdfast', ['--expose-gc']))
    const upstream = await bench.server('chat')
    const relayed = await bytesPerStream(bench, await bench.server('gateway', ['--expose-gc'], [urlOf(upstream.port)]))
    await upstream.stop()
    bench.note(`idle stream: own run ${show(own / 1024)} KiB, of an upstream ${show(relayed / 1024)} KiB`)
    ratios.push(relayed / own)
  }
  return atMost('gateway: memory per idle stream, of a run of its own', 1.5, median(ratios))
}

function silent(runs: number): Load {
  return { ...chats({ events: 1, perTurn: 1, intervalMs: 0 }), runs }
}

async function bytesPerStream(bench: Bench, server: ServerProcess): Promise<number> {
  const client = await bench.client()
  await client.open(server.port, silent(RUNS))
  const before = await residentBytes()
  await client.open(server.port, silent(IDLE_STREAMS))
  const after = await residentBytes()
  await client.close()
  await server.stop()
  return (after - before) / IDLE_STREAMS

  async function residentBytes(): Promise<number> {
    await server.collectGarbage()
    return (await server.usage()).rssBytes
  }
}
