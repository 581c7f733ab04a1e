/** Measures the cost of one load on one server. */
import type { Bench, ServerKind } from './bench.ts'
import { median, show } from './figures.ts'
import { Withheld } from './machine.ts'
import type { Delivered, Load } from './messages.ts'
import type { ClientProcess, ServerProcess } from './processes.ts'

export interface Measurement extends Delivered {
  readonly seconds: number
  readonly cpuSeconds: number
  readonly mainThreadSeconds: number
  readonly rssBytes: number
  /** Deliveries per CPU-second of the process. */
  readonly perCpuSecond: number
}

export type Measurements = Readonly<Record<ServerKind, readonly Measurement[]>>

/** What is measured; the agents that `go` releases may be in another process. */
export type MeasuredServer = Pick<ServerProcess, 'port' | 'usage' | 'go'>

export const LOAD_MS_MAX = 60_000

/** Round-robin over the kinds, so that other load affects all of them equally. */
export async function interleaved(
  bench: Bench,
  kinds: readonly ServerKind[],
  load: Load,
  warmUp: Load,
): Promise<Measurements> {
  const client = await bench.client()
  const servers = new Map<ServerKind, ServerProcess>()
  const measured: Record<ServerKind, Measurement[]> = {
    A: [],
    B: [],
    holdfast: [],
    served: [],
    drained: [],
    model: [],
    node: [],
    hono: [],
    chat: [],
    proxy: [],
    gateway: [],
  }
  for (const kind of kinds) {
    const server = await bench.server(kind)
    servers.set(kind, server)
    await measure(server, client, warmUp)
  }
  for (let round = 0; round < bench.rounds; round++) {
    for (const [kind, server] of servers) {
      const withheld = new Withheld()
      const result = await measure(server, client, load)
      measured[kind].push(result)
      bench.note(`${kind.padEnd(8)} ${describe(result)}; ${withheld.percent.toFixed(0)} % withheld`)
    }
  }
  for (const server of servers.values()) await server.stop()
  return measured
}

/** From the release of the agents until everything is delivered and the server is idle. */
export async function measure(server: MeasuredServer, client: ClientProcess, load: Load): Promise<Measurement> {
  await client.open(server.port, load)
  await rest(server)
  const before = await server.usage()
  const start = performance.now()
  await server.go(load.runs)
  const delivered = await client.finish(LOAD_MS_MAX)
  const seconds = (performance.now() - start) / 1000
  await rest(server)
  const after = await server.usage()
  assertWhole(delivered, load)
  const cpuSeconds = (after.cpuMicros - before.cpuMicros) / 1e6
  return {
    ...delivered,
    seconds,
    cpuSeconds,
    mainThreadSeconds: (after.mainThreadMicros - before.mainThreadMicros) / 1e6,
    rssBytes: after.rssBytes,
    perCpuSecond: delivered.deliveries / cpuSeconds,
  }
}

/** Fails if events were lost or repeated. */
export function assertWhole(
  { lost, repeated }: Delivered,
  { runs, subscribersPerRun, retold = false, work }: Load,
): void {
  if (lost === 0 && (repeated === 0 || retold)) return
  throw new Error(`${lost} events were lost and ${repeated} repeated, of ${work.events * runs * subscribersPerRun}`)
}

const REST_LOOK_MS = 100
const REST_CPU_MICROS = 4000
const REST_LOOKS_MAX = 40

/** Deferred work (compaction) counts for the load that caused it. */
export async function rest(server: Pick<MeasuredServer, 'usage'>): Promise<void> {
  let { cpuMicros } = await server.usage()
  for (let look = 0; look < REST_LOOKS_MAX; look++) {
    await new Promise((resolve) => setTimeout(resolve, REST_LOOK_MS))
    const now = await server.usage()
    if (now.cpuMicros - cpuMicros < REST_CPU_MICROS) return
    cpuMicros = now.cpuMicros
  }
}

export function describe(result: Measurement): string {
  const perEvent = (seconds: number): string => show((seconds / result.deliveries) * 1e6)
  const { cpuSeconds, mainThreadSeconds, deliveries, seconds, p50Ms, p99Ms, rssBytes, cpuMicros } = result
  const threads = `${perEvent(mainThreadSeconds)} main + ${perEvent(cpuSeconds - mainThreadSeconds)} other`
  const latency = p50Ms === null || Number.isNaN(p50Ms) ? '' : `; p50 ${show(p50Ms)} ms, p99 ${show(p99Ms)} ms`
  return `${show(deliveries / seconds)}/s; CPU µs each ${perEvent(cpuSeconds)} (${threads})${latency}; ${show(rssBytes / 2 ** 20)} MiB; client ${perEvent(cpuMicros / 1e6)} µs`
}

/**
 * Median over the rounds of Holdfast's deliveries per CPU-second relative to a baseline, so that other load affects both sides of each
 * ratio.
 */
export function efficiency({ holdfast, ...baselines }: Measurements, baseline: 'A' | 'B'): number {
  return median(holdfast.map(({ perCpuSecond }, round) => perCpuSecond / baselines[baseline][round]!.perCpuSecond))
}
