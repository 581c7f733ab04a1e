/** One round of measurements of nodes on a store: maximum rate, fixed rate, followers on other nodes, idle peers. */
import type { Bench } from './bench.ts'
import { show } from './figures.ts'
import type { Medium } from './media/medium.ts'
import type { Load } from './messages.ts'
import { Nodes, type NodesMeasurement } from './nodes.ts'

export interface ServedSample {
  readonly deliveries1: number
  readonly deliveries2: number
  readonly deliveries4: number
  readonly fastNodeMicros: number
  readonly fastStoreMicros: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly elsewhereP50Ms: number
  readonly elsewhereP99Ms: number
  readonly nodeMicros: number
  readonly storeMicros: number
  readonly peerMicros: number
  readonly storedBytes: number
  readonly replicatedBytes: number
}

/** Only measured with several nodes. */
const ALONE = { deliveries2: 0, deliveries4: 0, elsewhereP50Ms: 0, elsewhereP99Ms: 0, peerMicros: 0 }

export async function measureServed(bench: Bench, medium: Medium): Promise<ServedSample> {
  const nodes = new Nodes(bench, medium)
  const tell = (what: string, measured: NodesMeasurement): NodesMeasurement => {
    bench.note(`${medium.name}, ${what}: ${describe(measured)}`)
    return measured
  }
  try {
    await nodes.grow(1, WARM_UP)
    const fast = tell('1 node', await nodes.measure(saturated(bench)))
    const slow = tell('1 node, paced', await nodes.measure(paced(bench, 1)))
    const { p50Ms, p99Ms, nodeMicros, storeMicros, storedBytes, replicatedBytes } = slow
    const sample = {
      deliveries1: fast.deliveriesPerSecond,
      fastNodeMicros: fast.nodeMicros,
      fastStoreMicros: fast.storeMicros,
      p50Ms,
      p99Ms,
      nodeMicros,
      storeMicros,
      storedBytes,
      replicatedBytes,
    }
    if (!medium.shared) return { ...sample, ...ALONE }
    await nodes.grow(2, WARM_UP)
    const two = tell('2 nodes', await nodes.measure(saturated(bench)))
    const peer = tell('1 of 2 nodes, paced', await nodes.measure(paced(bench, 1), { loaded: 1 }))
    const apart = tell('followed elsewhere, paced', await nodes.measure(paced(bench, 1), { elsewhere: true }))
    await nodes.grow(4, WARM_UP)
    const four = tell('4 nodes', await nodes.measure(saturated(bench)))
    return {
      ...sample,
      deliveries2: two.deliveriesPerSecond,
      deliveries4: four.deliveriesPerSecond,
      elsewhereP50Ms: apart.p50Ms,
      elsewhereP99Ms: apart.p99Ms,
      peerMicros: peer.peerMicros,
    }
  } finally {
    await nodes.stop()
  }
}

/** Node CPU per additional subscriber. */
export async function measureDelivery(bench: Bench, medium: Medium): Promise<number> {
  const nodes = new Nodes(bench, medium)
  try {
    await nodes.grow(1, WARM_UP)
    const one = await nodes.measure({ ...paced(bench, 1), runs: FOLLOWED_RUNS })
    const many = await nodes.measure({ ...paced(bench, SUBSCRIBERS), runs: FOLLOWED_RUNS })
    const micros = (many.nodeMicros - one.nodeMicros) / (SUBSCRIBERS - 1)
    bench.note(`${medium.name}: CPU µs of one more subscriber ${show(micros)} for an event`)
    return micros
  } finally {
    await nodes.stop()
  }
}

/** Node memory per executing run with a subscriber. */
export async function measureLiveRun(bench: Bench, medium: Medium): Promise<number> {
  const nodes = new Nodes(bench, medium)
  try {
    await nodes.grow(1, WARM_UP, ['--expose-gc'])
    const bytes = await nodes.liveRunBytes({ ...WARM_UP, runs: 200 }, { ...WARM_UP, runs: 1000 })
    bench.note(`${medium.name}: ${show(bytes / 1024)} KiB for a run that waits, with a subscriber`)
    return bytes
  } finally {
    await nodes.stop()
  }
}

/** Many runs with few events, to reduce the influence of other load. */
const FOLLOWED_RUNS = 10
const SUBSCRIBERS = 40
const INTERVAL_MS = 20
const WARM_UP: Load = {
  runs: 20,
  subscribersPerRun: 1,
  work: { events: 100, perTurn: 8, intervalMs: 0, phaseMs: 0, stampEvery: 0 },
}

function saturated(bench: Bench): Load {
  const events = bench.quick ? 400 : 1000
  return { ...WARM_UP, runs: 100, work: { ...WARM_UP.work, events } }
}

/** 3,000 events a second over 60 runs. */
function paced(bench: Bench, subscribersPerRun: number): Load {
  const events = bench.quick ? 75 : 150
  return { runs: 60, subscribersPerRun, work: { ...WARM_UP.work, events, intervalMs: INTERVAL_MS, stampEvery: 1 } }
}

function describe(measured: NodesMeasurement): string {
  const { deliveriesPerSecond, p50Ms, p99Ms, nodeMicros, peerMicros, storeMicros, storedBytes } = measured
  const latency = Number.isFinite(p50Ms) ? `; p50 ${show(p50Ms)} ms, p99 ${show(p99Ms)} ms` : ''
  const peer = Number.isFinite(peerMicros) ? ` + ${show(peerMicros)} each idle node` : ''
  const cpu = `CPU µs each ${show(nodeMicros)} nodes${peer} + ${show(storeMicros)} store`
  return `${show(deliveriesPerSecond)}/s${latency}; ${cpu}; ${show(storedBytes)} bytes each`
}
