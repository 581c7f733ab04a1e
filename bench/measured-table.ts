/** The table of measured figures, for the bench's output and docs/scale.md. */
import { markdown, show } from './figures.ts'
import { type Measured, type MeasuredStore, storeNames } from './measured.ts'

type Row = readonly [name: string, unit: string, value: (store: MeasuredStore) => number | undefined]

const ROWS: readonly Row[] = [
  ['appends per second, the store alone', '', ({ appendsPerSecond }) => appendsPerSecond],
  ['the same commits without Holdfast', '', ({ barePerSecond }) => barePerSecond],
  ['of that', '', ({ ratio }) => ratio],
  ['deliveries per second, 1 node', '', ({ deliveriesPerSecond }) => deliveriesPerSecond['1']],
  ['2 nodes', '', ({ deliveriesPerSecond }) => deliveriesPerSecond['2']],
  ['4 nodes', '', ({ deliveriesPerSecond }) => deliveriesPerSecond['4']],
  ['CPU of the node for an event, as fast as it goes', ' µs', ({ fastNodeMicros }) => fastNodeMicros],
  ['CPU of the store’s servers for it', ' µs', ({ fastStoreMicros }) => fastStoreMicros],
  ['append to frame, p50', ' ms', ({ p50Ms }) => p50Ms],
  ['p99', ' ms', ({ p99Ms }) => p99Ms],
  ['followed on another node, p50', ' ms', ({ elsewhereP50Ms }) => elsewhereP50Ms],
  ['p99 there', ' ms', ({ elsewhereP99Ms }) => elsewhereP99Ms],
  ['`node`: CPU of the node for an event', ' µs', ({ nodeMicros }) => nodeMicros],
  ['`store`: CPU of the store’s servers for it', ' µs', ({ storeMicros }) => storeMicros],
  ['`peer`: CPU of every other node for it', ' µs', ({ peerMicros }) => peerMicros],
  ['`stored`: on one disk', ' B', ({ storedBytes }) => storedBytes],
  ['`replicated`: to one replica', ' B', ({ replicatedBytes }) => replicatedBytes],
  ['`create`: CPU of the node for a new run', ' µs', ({ createNodeMicros }) => createNodeMicros],
  ['CPU of the store’s servers for a new run', ' µs', ({ createStoreMicros }) => createStoreMicros],
  ['`live`: memory of the node for a live run', ' KiB', ({ liveRunBytes }) => liveRunBytes / 1024],
  ['`known`: memory of every node for a kept run', ' B', ({ knownRunBytes }) => knownRunBytes],
  ['time to read it at the start', ' µs', ({ knownRunMicros }) => knownRunMicros],
]

/** 0 means not measured. */
export function storesTable({ stores }: Measured): string {
  const rows = ROWS.map(([name, unit, value]) => [name, ...storeNames.map((store) => cell(value(stores[store]), unit))])
  return markdown(['', ...storeNames], rows)
}

function cell(value: number | undefined, unit: string): string {
  return value === undefined || value === 0 ? '–' : `${show(value)}${unit}`
}
