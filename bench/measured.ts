/** The figures that the capacity model starts from, as the scenario `stores` last saved them. */
import { readFileSync, writeFileSync } from 'node:fs'

export type StoreName = 'sqlite' | 'postgres' | 'nats'
export const storeNames: readonly StoreName[] = ['sqlite', 'postgres', 'nats']

export interface Measured {
  readonly date: string
  readonly machine: string
  /** CPU of a node for a delivery to one more subscriber. */
  readonly deliveryMicros: number
  /** Bytes of one event, as clients get it. */
  readonly recordBytes: number
  readonly stores: Readonly<Record<StoreName, MeasuredStore>>
}

/** Where nothing else is said, at a pace at which each event has a commit to itself: the dearest way to write it. */
export interface MeasuredStore {
  /** As much as it takes, and what its medium takes without Holdfast. */
  readonly appendsPerSecond: number
  readonly barePerSecond: number
  readonly ratio: number
  /** As fast as it goes, from agents to clients, with 1, 2 and 4 nodes on this one machine. */
  readonly deliveriesPerSecond: Readonly<Record<string, number>>
  readonly p50Ms: number
  readonly p99Ms: number
  /** The subscriber is served by another node than the one that drives the run. */
  readonly elsewhereP50Ms: number
  readonly elsewhereP99Ms: number
  /** CPU for an event as fast as it goes, where many share a commit: of its node, and of the store's servers. */
  readonly fastNodeMicros: number
  readonly fastStoreMicros: number
  /** CPU for an event: of its node, of the store's servers together, and of each node that has nothing to do with it. */
  readonly nodeMicros: number
  readonly storeMicros: number
  readonly peerMicros: number
  /** CPU for a run that is created: of its node, and of the store's servers. */
  readonly createNodeMicros: number
  readonly createStoreMicros: number
  /** For an event: on one disk, and on the way to one replica. */
  readonly storedBytes: number
  readonly replicatedBytes: number
  /** Memory of a node for a run that it drives, with a subscriber. */
  readonly liveRunBytes: number
  /** What every node keeps in memory of every run that is kept, whoever drives it, and the time to read it at the start. */
  readonly knownRunBytes: number
  readonly knownRunMicros: number
}

const FILE = new URL('measured.json', import.meta.url)

export function readMeasured(): Measured {
  return JSON.parse(readFileSync(FILE, 'utf8')) as Measured
}

export function saveMeasured(measured: Measured): void {
  writeFileSync(FILE, `${JSON.stringify(measured, rounded, 2)}\n`)
}

function rounded(_: string, value: unknown): unknown {
  return typeof value === 'number' ? Number(value.toPrecision(3)) : value
}
