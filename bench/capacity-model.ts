/** Capacity model: computes the machines for a number of concurrent runs from measured figures. */
import type { Measured, StoreName } from './measurements.ts'

/** The workload. */
export interface Demand {
  readonly store: StoreName
  /** Concurrent runs. */
  readonly runs: number
  /** Average per run, including the time spent waiting for models and tools. */
  readonly eventsPerSecond: number
  readonly subscribersPerRun: number
  /** Duration of a run. */
  readonly runSeconds: number
  /** Retention of finished runs. */
  readonly retainHours: number
}

/** The machines. */
export interface Machines {
  /** Cores that one node can use: one for the main thread, and part of a second for commits and garbage collection. */
  readonly nodeCores: number
  readonly nodeGigabytes: number
  readonly runsPerNode: number
  /** Servers of one NATS cluster, or of PostgreSQL with replicas, where only the primary works. */
  readonly storeServers: number
  /** Per server. */
  readonly storeCores: number
  readonly storeMegabytesPerSecond: number
  readonly replicas: number
  /** Planned utilization; the rest is reserved for peaks and failover. */
  readonly utilization: number
  /** Share of a node's core that it may spend on hints from other nodes. */
  readonly hintCores: number
}

export const defaultDemand: Demand = {
  store: 'nats',
  runs: 1_000_000,
  eventsPerSecond: 5,
  subscribersPerRun: 1,
  runSeconds: 600,
  retainHours: 24,
}

export const defaultMachines: Machines = {
  nodeCores: 1.3,
  nodeGigabytes: 4,
  runsPerNode: 2000,
  storeServers: 3,
  storeCores: 16,
  storeMegabytesPerSecond: 500,
  replicas: 3,
  utilization: 0.6,
  hintCores: 0.2,
}

/** A limit of a cell: one store with its nodes. */
export interface Bound {
  readonly what: string
  readonly runs: number
}

export interface Capacity {
  readonly eventsPerSecond: number
  readonly startsPerSecond: number
  /** Limits of a cell, tightest first. */
  readonly bounds: readonly Bound[]
  readonly cells: number
  /** Limits of a node, tightest first. */
  readonly nodeBounds: readonly Bound[]
  readonly nodes: number
  readonly nodeCores: number
  readonly storeServers: number
  readonly storeCores: number
  readonly storedTerabytes: number
  /** Total of all disks. */
  readonly writtenMegabytesPerSecond: number
  readonly clientGigabits: number
  readonly storeGigabits: number
  readonly replicaGigabits: number
  readonly hintGigabits: number
}

const MICRO = 1e-6
const GIGA = 1e9
const MEGA = 1e6
const TERA = 1e12

export function capacityOf(measured: Measured, demand: Demand, machines: Machines): Capacity {
  const { runs, subscribersPerRun, runSeconds, retainHours, store: name } = demand
  const store = measured.stores[name]
  const replicas = name === 'sqlite' ? 1 : machines.replicas
  const events = runs * demand.eventsPerSecond
  const starts = runs / runSeconds

  const nodeMicros = store.nodeMicros + (subscribersPerRun - 1) * measured.deliveryMicros
  const nodeCores = (events * nodeMicros + starts * store.createNodeMicros) * MICRO
  const storeCores = (events * store.storeMicros + starts * store.createStoreMicros) * MICRO

  const bounds = cellBounds(measured, demand, machines, replicas)
  const cells = Math.ceil(runs / Math.min(...bounds.map((bound) => bound.runs)))
  const cellEvents = events / cells

  // CPU spent on hints is not available for the node's own runs.
  const ownCores = Math.max(0.1, machines.nodeCores * machines.utilization - cellEvents * store.peerMicros * MICRO)
  const nodeBounds = sorted([
    ['CPU', ownCores / (nodeCores / runs)],
    ['memory', (machines.nodeGigabytes * GIGA * machines.utilization) / store.liveRunBytes],
    ['`--max-runs`', machines.runsPerNode],
  ])
  const nodes = name === 'sqlite' ? cells : cells * Math.ceil(runs / cells / nodeBounds[0]!.runs)

  const record = measured.recordBytes
  const gigabits = (bytesPerSecond: number): number => (bytesPerSecond * 8) / GIGA
  return {
    eventsPerSecond: events,
    startsPerSecond: starts,
    bounds,
    cells,
    nodeBounds,
    nodes,
    nodeCores,
    storeServers: cells * serversOf(name, machines),
    storeCores,
    storedTerabytes: (events * (runSeconds + retainHours * 3600) * store.storedBytes * replicas) / TERA,
    writtenMegabytesPerSecond: (events * Math.max(store.storedBytes, store.replicatedBytes) * replicas) / MEGA,
    clientGigabits: gigabits(events * record * subscribersPerRun),
    storeGigabits: name === 'sqlite' ? 0 : gigabits(events * store.storedBytes),
    replicaGigabits: gigabits(events * store.replicatedBytes * (replicas - 1)),
    hintGigabits: gigabits(events * hintBytes(measured, name) * (nodes / cells)),
  }
}

function serversOf(name: StoreName, { storeServers, replicas }: Machines): number {
  if (name === 'sqlite') return 0
  return name === 'nats' ? storeServers : replicas
}

/** Bytes that every node receives per event of another node: on NATS the header of its message, on PostgreSQL a line of a notice. */
function hintBytes({ stores, recordBytes }: Measured, name: StoreName): number {
  if (name === 'nats') return Math.max(0, stores.nats.storedBytes - recordBytes)
  return name === 'postgres' ? NOTICE_BYTES : 0
}

/** An id of 30 characters, an index and separators. */
const NOTICE_BYTES = 45

function cellBounds(measured: Measured, demand: Demand, machines: Machines, replicas: number): Bound[] {
  const { store: name, eventsPerSecond, runSeconds, retainHours, subscribersPerRun } = demand
  const store = measured.stores[name]
  const { utilization } = machines
  const createStore = store.createStoreMicros / runSeconds
  const createNode = store.createNodeMicros / runSeconds
  const bytes = Math.max(store.storedBytes, store.replicatedBytes)
  // Every PostgreSQL server writes everything; NATS servers share the writes.
  const share = name === 'nats' ? replicas / machines.storeServers : 1
  const disk = (machines.storeMegabytesPerSecond * MEGA * utilization) / (eventsPerSecond * bytes * share)
  if (name === 'sqlite') {
    const micros = eventsPerSecond * (store.nodeMicros + (subscribersPerRun - 1) * measured.deliveryMicros) + createNode
    return sorted([
      ['CPU of the node', (machines.nodeCores * utilization) / (micros * MICRO)],
      ['memory of the node', (machines.nodeGigabytes * GIGA * utilization) / store.liveRunBytes],
      ['disk', disk],
    ])
  }
  // A NATS cluster shares the work; PostgreSQL does it all on the primary, and replicas repeat it.
  const cores = machines.storeCores * (name === 'nats' ? machines.storeServers : 1)
  const kept = 1 + (retainHours * 3600) / runSeconds
  const known = (machines.nodeGigabytes * GIGA * (1 - utilization)) / (kept * store.knownRunBytes)
  return sorted([
    ['CPU of the store servers', (cores * utilization) / ((eventsPerSecond * store.storeMicros + createStore) * MICRO)],
    ['CPU for hints from other nodes', machines.hintCores / (eventsPerSecond * store.peerMicros * MICRO)],
    ['disk of a server', disk],
    ...(name === 'nats' ? [['index of retained runs in the memory of every node', known] as const] : []),
  ])
}

function sorted(bounds: readonly (readonly [what: string, runs: number])[]): Bound[] {
  return bounds.map(([what, runs]) => ({ what, runs })).toSorted((left, right) => left.runs - right.runs)
}
