/** Inputs of the capacity model, as last saved by the scenario `stores`. */
import { readFileSync, writeFileSync } from 'node:fs'

export type StoreName = 'sqlite' | 'postgres' | 'nats'
export const storeNames: readonly StoreName[] = ['sqlite', 'postgres', 'nats']

export interface Measured {
  readonly date: string
  readonly machine: string
  /** Node CPU per delivery to an additional subscriber. */
  readonly deliveryMicros: number
  /** Bytes of one event on the wire. */
  readonly recordBytes: number
  readonly stores: Readonly<Record<StoreName, MeasuredStore>>
}

/** Unless noted otherwise, measured at a rate at which each event has its own commit, the most expensive case. */
export interface MeasuredStore {
  /** Maximum rate of the store, and of its medium without Holdfast. */
  readonly appendsPerSecond: number
  readonly barePerSecond: number
  readonly ratio: number
  /** Maximum end-to-end rate with 1, 2 and 4 nodes on this machine. */
  readonly deliveriesPerSecond: Readonly<Record<string, number>>
  readonly p50Ms: number
  readonly p99Ms: number
  /** The subscriber is on another node than the run. */
  readonly elsewhereP50Ms: number
  readonly elsewhereP99Ms: number
  /** CPU per event at maximum rate, with group commit: of its node, and of the store's servers. */
  readonly fastNodeMicros: number
  readonly fastStoreMicros: number
  /** CPU per event: of its node, of all store servers, and of each uninvolved node. */
  readonly nodeMicros: number
  readonly storeMicros: number
  readonly peerMicros: number
  /** CPU per new run: of its node, and of the store's servers. */
  readonly createNodeMicros: number
  readonly createStoreMicros: number
  /** Bytes per event: on one disk, and sent to one replica. */
  readonly storedBytes: number
  readonly replicatedBytes: number
  /** Node memory per executing run with a subscriber. */
  readonly liveRunBytes: number
  /** Memory of every node per stored run, and the time to load it at startup. */
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
