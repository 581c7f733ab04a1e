/** A number of Holdfast nodes on one store, and the cost of a load for them and the store's servers. */
import type { Bench } from './bench.ts'
import { assertWhole, LOAD_MS_MAX, rest } from './measure.ts'
import type { Medium } from './media/medium.ts'
import type { Delivered, Load } from './messages.ts'
import type { ServerProcess } from './processes.ts'

export interface NodesMeasurement {
  readonly deliveriesPerSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** CPU per event of the nodes that execute the runs or serve their subscribers. */
  readonly nodeMicros: number
  /** CPU per event of one uninvolved node; NaN if there is none. */
  readonly peerMicros: number
  /** CPU per event of the store's servers. */
  readonly storeMicros: number
  /** Bytes per event: on one disk, and to one replica. */
  readonly storedBytes: number
  readonly replicatedBytes: number
}

export interface Among {
  /** Number of nodes that share the load equally. Default: all. */
  readonly loaded?: number
  /** Subscribers connect to the node after the one that executes their run. */
  readonly elsewhere?: boolean
}

export class Nodes {
  readonly #bench: Bench
  readonly #medium: Medium
  readonly #address: string
  readonly #servers: ServerProcess[] = []

  constructor(bench: Bench, medium: Medium) {
    this.#bench = bench
    this.#medium = medium
    this.#address = medium.place()
  }

  /** Adds nodes up to `count`. */
  async grow(count: number, warmUp: Load, nodeFlags: readonly string[] = []): Promise<void> {
    const client = await this.#bench.client()
    while (this.#servers.length < count) {
      const server = await this.#bench.node(this.#address, nodeFlags)
      this.#servers.push(server)
      await client.open(server.port, warmUp)
      await server.go(warmUp.runs)
      await client.finish(LOAD_MS_MAX)
    }
  }

  async measure(
    load: Load,
    { loaded = this.#servers.length, elsewhere = false }: Among = {},
  ): Promise<NodesMeasurement> {
    const client = await this.#bench.client()
    const drivers = this.#servers.slice(0, loaded)
    const others = this.#servers.slice(loaded)
    const share = { ...load, runs: load.runs / loaded }
    for (const [index, { port }] of drivers.entries()) {
      const next = this.#servers[(index + 1) % this.#servers.length]!
      await client.open(port, share, elsewhere ? next.port : port)
    }
    const working = elsewhere ? this.#servers : drivers
    const before = await this.#usage(working, others)
    const start = performance.now()
    await Promise.all(drivers.map((server) => server.go(share.runs)))
    const delivered = await client.finish(LOAD_MS_MAX)
    const seconds = (performance.now() - start) / 1000
    const after = await this.#usage(working, others)
    assertWhole(delivered, load)
    return measurementOf(load, delivered, seconds, before, after, others.length)
  }

  /** Resident bytes per waiting run with a subscriber. Needs nodes with --expose-gc. */
  async liveRunBytes(few: Load, many: Load): Promise<number> {
    const client = await this.#bench.client()
    const server = this.#servers[0]!
    const resident = async (): Promise<number> => {
      await server.collectGarbage()
      return (await server.usage()).rssBytes
    }
    await client.open(server.port, few)
    const before = await resident()
    await client.open(server.port, many)
    const after = await resident()
    await client.close()
    return (after - before) / many.runs
  }

  async stop(): Promise<void> {
    await Promise.all(this.#servers.splice(0).map((server) => server.stop()))
    await this.#medium.clear(this.#address)
  }

  async #usage(working: readonly ServerProcess[], others: readonly ServerProcess[]): Promise<Usage> {
    for (const server of this.#servers) await rest(server)
    const { cpuMicros, storedBytes, replicatedBytes } = await this.#medium.usage(this.#address)
    return {
      node: await cpuMicrosOf(working),
      peer: await cpuMicrosOf(others),
      store: cpuMicros,
      storedBytes,
      replicatedBytes,
    }
  }
}

async function cpuMicrosOf(servers: readonly ServerProcess[]): Promise<number> {
  const usages = await Promise.all(servers.map((server) => server.usage()))
  return usages.reduce((sum, { cpuMicros }) => sum + cpuMicros, 0)
}

interface Usage {
  readonly node: number
  readonly peer: number
  readonly store: number
  readonly storedBytes: number
  readonly replicatedBytes: number
}

function measurementOf(
  load: Load,
  { deliveries, p50Ms, p99Ms }: Delivered,
  seconds: number,
  before: Usage,
  after: Usage,
  others: number,
): NodesMeasurement {
  const perEvent = (pick: keyof Usage): number => (after[pick] - before[pick]) / (load.runs * load.work.events)
  return {
    deliveriesPerSecond: deliveries / seconds,
    p50Ms,
    p99Ms,
    nodeMicros: perEvent('node'),
    peerMicros: perEvent('peer') / others,
    storeMicros: perEvent('store'),
    storedBytes: perEvent('storedBytes'),
    replicatedBytes: perEvent('replicatedBytes'),
  }
}
