/** Tables of the capacity model, for the terminal and docs/scale.md. */
import { type Capacity, capacityOf, type Demand, type Machines } from './capacity-model.ts'
import { markdown, show } from './figures.ts'
import { type Measured, type StoreName, storeNames } from './measurements.ts'

type Row = readonly [name: string, unit: string, value: (capacity: Capacity) => number]

const ROWS: readonly Row[] = [
  ['events per second', '', ({ eventsPerSecond }) => eventsPerSecond],
  ['runs started per second', '', ({ startsPerSecond }) => startsPerSecond],
  ['cells: stores with their nodes', '', ({ cells }) => cells],
  ['nodes', '', ({ nodes }) => nodes],
  ['busy cores of the nodes', '', ({ nodeCores }) => nodeCores],
  ['store servers', '', ({ storeServers }) => storeServers],
  ['busy cores of the store servers', '', ({ storeCores }) => storeCores],
  ['stored on disks, all replicas', ' TB', ({ storedTerabytes }) => storedTerabytes],
  ['written to disks', ' MB/s', ({ writtenMegabytesPerSecond }) => writtenMegabytesPerSecond],
  ['network to clients', ' Gbit/s', ({ clientGigabits }) => clientGigabits],
  ['network from nodes to stores', ' Gbit/s', ({ storeGigabits }) => storeGigabits],
  ['network between replicas', ' Gbit/s', ({ replicaGigabits }) => replicaGigabits],
  ['network for hints between nodes', ' Gbit/s', ({ hintGigabits }) => hintGigabits],
]

export function capacityTable(measured: Measured, demand: Demand, machines: Machines): string {
  const capacities = storeNames.map((store) => capacityOf(measured, { ...demand, store }, machines))
  const rows = ROWS.map(([name, unit, value]) => [name, ...capacities.map((capacity) => cell(value(capacity), unit))])
  return markdown([`${show(demand.runs)} runs`, ...storeNames], rows)
}

/** Maximum runs of a cell, and of a node in it, by resource; the lowest number of each is the limit. */
export function boundsTable(measured: Measured, demand: Demand, machines: Machines): string {
  const rows = storeNames.flatMap((store) => boundsOf(store, capacityOf(measured, { ...demand, store }, machines)))
  return markdown(['store', 'limit of', 'bottleneck', 'reached at (runs)'], rows)
}

function boundsOf(store: StoreName, { bounds, nodeBounds }: Capacity): string[][] {
  const rows = (of: string, all: Capacity['bounds']): string[][] =>
    all.map(({ what, runs }) => [store, of, what, show(Math.floor(runs))])
  return [...rows('a cell', bounds), ...(store === 'sqlite' ? [] : rows('a node', nodeBounds))]
}

function cell(value: number, unit: string): string {
  return value === 0 ? '–' : `${show(value)}${unit}`
}
