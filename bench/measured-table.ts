/** The table of measured figures, for the bench's output and docs/scale.md. */
import { markdown, show } from './figures.ts'
import { type Measured, type MeasuredStore, storeNames } from './measurements.ts'

type Row = readonly [name: string, unit: string, value: (store: MeasuredStore) => number | undefined]

const ROWS: readonly Row[] = [
  ['appends per second, the store alone', '', ({ appendsPerSecond }) => appendsPerSecond],
  ['the same commits without Holdfast', '', ({ barePerSecond }) => barePerSecond],
  ['ratio', '', ({ ratio }) => ratio],
  ['deliveries per second, 1 node', '', ({ deliveriesPerSecond }) => deliveriesPerSecond['1']],
  ['deliveries per second, 2 nodes', '', ({ deliveriesPerSecond }) => deliveriesPerSecond['2']],
  ['deliveries per second, 4 nodes', '', ({ deliveriesPerSecond }) => deliveriesPerSecond['4']],
  ['CPU of the node per event, saturated', ' µs', ({ fastNodeMicros }) => fastNodeMicros],
  ['CPU of the store servers per event, saturated', ' µs', ({ fastStoreMicros }) => fastStoreMicros],
  ['append to frame, p50', ' ms', ({ p50Ms }) => p50Ms],
  ['append to frame, p99', ' ms', ({ p99Ms }) => p99Ms],
  ['append to frame on another node, p50', ' ms', ({ elsewhereP50Ms }) => elsewhereP50Ms],
  ['append to frame on another node, p99', ' ms', ({ elsewhereP99Ms }) => elsewhereP99Ms],
  ['`node`: CPU of the node per event', ' µs', ({ nodeMicros }) => nodeMicros],
  ['`store`: CPU of the store servers per event', ' µs', ({ storeMicros }) => storeMicros],
  ['`peer`: CPU of every other node per event', ' µs', ({ peerMicros }) => peerMicros],
  ['`stored`: bytes per event on one disk', ' B', ({ storedBytes }) => storedBytes],
  ['`replicated`: bytes per event to one replica', ' B', ({ replicatedBytes }) => replicatedBytes],
  ['`create`: CPU of the node per new run', ' µs', ({ createNodeMicros }) => createNodeMicros],
  ['CPU of the store servers per new run', ' µs', ({ createStoreMicros }) => createStoreMicros],
  ['`live`: memory of the node per live run', ' KiB', ({ liveRunBytes }) => liveRunBytes / 1024],
  ['`known`: memory of every node per retained run', ' B', ({ knownRunBytes }) => knownRunBytes],
  ['startup time per retained run', ' µs', ({ knownRunMicros }) => knownRunMicros],
]

/** 0 means not measured. */
export function storesTable({ stores }: Measured): string {
  const rows = ROWS.map(([name, unit, value]) => [name, ...storeNames.map((store) => cell(value(stores[store]), unit))])
  return markdown(['', ...storeNames], rows)
}

function cell(value: number | undefined, unit: string): string {
  return value === undefined || value === 0 ? '–' : `${show(value)}${unit}`
}
