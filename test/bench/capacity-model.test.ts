/** The capacity model: verified arithmetic, and a page that shows its results. */
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { capacityOf, defaultDemand, defaultMachines, type Demand, type Machines } from '../../bench/capacity-model.ts'
import { documented } from '../../bench/update-docs.ts'
import { type Measured, type MeasuredStore, readMeasured } from '../../bench/measurements.ts'

/** Round figures. */
const STORE: MeasuredStore = {
  appendsPerSecond: 50_000,
  barePerSecond: 100_000,
  ratio: 0.5,
  deliveriesPerSecond: { 1: 10_000 },
  p50Ms: 1,
  p99Ms: 10,
  elsewhereP50Ms: 2,
  elsewhereP99Ms: 20,
  fastNodeMicros: 10,
  fastStoreMicros: 5,
  nodeMicros: 100,
  storeMicros: 50,
  peerMicros: 10,
  createNodeMicros: 1000,
  createStoreMicros: 500,
  storedBytes: 500,
  replicatedBytes: 600,
  liveRunBytes: 100_000,
  knownRunBytes: 1000,
  knownRunMicros: 100,
}
const MEASURED: Measured = {
  date: '2026-01-01',
  machine: 'a machine',
  deliveryMicros: 10,
  recordBytes: 300,
  stores: {
    sqlite: { ...STORE, storeMicros: 0, peerMicros: 0, createStoreMicros: 0, replicatedBytes: 0 },
    postgres: STORE,
    nats: STORE,
  },
}
const DEMAND: Demand = { ...defaultDemand, runs: 10_000, eventsPerSecond: 1, runSeconds: 1000, retainHours: 1 }
const MACHINES: Machines = { ...defaultMachines, nodeCores: 1, utilization: 0.5, nodeGigabytes: 4, hintCores: 0.2 }

describe('capacity: a number of runs', () => {
  test('needs the sum of what its events and its starts cost', () => {
    const capacity = capacityOf(MEASURED, { ...DEMAND, store: 'postgres' }, MACHINES)
    expect(capacity.eventsPerSecond).toBe(10_000)
    expect(capacity.startsPerSecond).toBe(10)
    expect(capacity.nodeCores).toBeCloseTo(10_000 * 100e-6 + 10 * 1000e-6)
    expect(capacity.storeCores).toBeCloseTo(10_000 * 50e-6 + 10 * 500e-6)
    expect(capacity.clientGigabits).toBeCloseTo((10_000 * 300 * 8) / 1e9)
    expect(capacity.replicaGigabits).toBeCloseTo((10_000 * 600 * 2 * 8) / 1e9)
    expect(capacity.storedTerabytes).toBeCloseTo((10_000 * 4600 * 500 * 3) / 1e12)
  })

  test('needs per further subscriber what one more delivery costs', () => {
    const capacity = capacityOf(MEASURED, { ...DEMAND, store: 'postgres', subscribersPerRun: 3 }, MACHINES)
    expect(capacity.nodeCores).toBeCloseTo(10_000 * 120e-6 + 10 * 1000e-6)
    expect(capacity.clientGigabits).toBeCloseTo((10_000 * 300 * 3 * 8) / 1e9)
  })

  test('is spread over cells by their first bottleneck, and over nodes within them', () => {
    const demand: Demand = { ...DEMAND, store: 'postgres', runs: 100_000 }
    const { bounds, cells, nodeBounds, nodes } = capacityOf(MEASURED, demand, MACHINES)
    // A fifth of a core for 10 µs an event is 20,000 events a second.
    expect(bounds[0]!.what).toBe('CPU for hints from other nodes')
    expect(bounds[0]!.runs).toBeCloseTo(20_000)
    expect(cells).toBe(5)
    // Half a core without the fifth that hints take, for 101 µs a run and second, is 2970 runs.
    expect(nodeBounds.map(({ what }) => what)).toEqual(['`--max-runs`', 'CPU', 'memory'])
    expect(nodeBounds[1]!.runs).toBeCloseTo(0.3 / 101e-6)
    expect(nodes).toBe(5 * 10)
  })

  test('runs on NATS are limited by the run index in the memory of every node', () => {
    const { bounds } = capacityOf(MEASURED, { ...DEMAND, store: 'nats', retainHours: 1000 }, MACHINES)
    // Half of 4 GB, for 3601 kept runs of 1000 bytes to each that is live.
    expect(bounds[0]!.what).toBe('index of retained runs in the memory of every node')
    expect(bounds[0]!.runs).toBeCloseTo(2e9 / (3601 * 1000))
  })

  test('runs on SQLite need one node per store, and no store server', () => {
    const { cells, nodes, storeServers, hintGigabits } = capacityOf(MEASURED, { ...DEMAND, store: 'sqlite' }, MACHINES)
    expect(nodes).toBe(cells)
    expect(cells).toBe(Math.ceil(10_000 / (0.5 / 101e-6)))
    expect([storeServers, hintGigabits]).toEqual([0, 0])
  })
})

test('docs/scale.md shows what the model computes from the saved figures', () => {
  const page = readFileSync('docs/scale.md', 'utf8')
  expect(page, 'node bench/capacity.ts --docs writes the tables anew').toBe(documented(page, readMeasured()))
})
