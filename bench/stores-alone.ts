/** One round of measurements of a store without a server, and of its bare medium. */
import type { Bench } from './bench.ts'
import { show } from './figures.ts'
import type { Medium } from './media/medium.ts'
import type { Rate } from './meter.ts'
import type { StoreLoad, StoreOpened } from './store-load.ts'

export interface AppendSample {
  readonly appendsPerSecond: number
  readonly barePerSecond: number
  readonly ratio: number
}

/** Load sizes per store, to keep rounds short. */
const EVENTS: Readonly<Record<string, number>> = { sqlite: 400_000, postgres: 120_000, nats: 60_000, 'nats R1': 80_000 }
const RUNS = 1000
const EVENTS_AT_ONCE = 2
/** Prefill: a store is measured only after its buffers are full. */
const PREFILL_SHARE = 0.5

export async function measureAppends(bench: Bench, medium: Medium): Promise<AppendSample> {
  const bare = await load(bench, medium, 'bare')
  const store = await load(bench, medium, 'store')
  const ratio = store.eventsPerSecond / bare.eventsPerSecond
  const packed = medium.name === 'postgres' ? await load(bench, medium, 'packed') : undefined
  const ceilings = [
    `${show(ratio)} of ${show(bare.eventsPerSecond)} bare`,
    ...(packed === undefined ? [] : [`${show(packed.eventsPerSecond)} bare in one row for each commit`]),
  ]
  const cpu = `${cpuOf(store)} (bare ${cpuOf(bare)})`
  bench.note(
    `${medium.name} alone: ${show(store.eventsPerSecond)} events/s (${ceilings.join('; ')}); CPU µs each ${cpu}`,
  )
  return { appendsPerSecond: store.eventsPerSecond, barePerSecond: bare.eventsPerSecond, ratio }
}

interface MediumRate extends Rate {
  /** CPU per event of the medium's servers, including the prefill. */
  readonly serverMicros: number
}

function cpuOf({ cpuMicrosPerEvent, serverMicros }: MediumRate): string {
  return `${show(cpuMicrosPerEvent)} + ${show(serverMicros)} in its servers`
}

async function load(bench: Bench, medium: Medium, kind: StoreLoad['kind']): Promise<MediumRate> {
  const address = medium.place()
  const measured = Math.round((EVENTS[medium.name] ?? 0) / (bench.quick ? 3 : 1))
  const prefill = Math.round(measured * PREFILL_SHARE)
  const request: StoreLoad = { kind, address, runs: RUNS, eventsAtOnce: EVENTS_AT_ONCE, prefill, events: measured }
  try {
    const before = (await medium.usage(address)).cpuMicros
    const rate = await bench.storeAlone<Rate>(request, kind === 'store' ? bench.profiling : [])
    const serverMicros = ((await medium.usage(address)).cpuMicros - before) / (prefill + measured)
    return { ...rate, serverMicros }
  } finally {
    await medium.clear(address)
  }
}

export interface CreateSample {
  readonly createNodeMicros: number
  readonly createStoreMicros: number
  readonly knownRunBytes: number
  readonly knownRunMicros: number
}

/** Creates runs, then measures a node that starts with them. */
export async function measureCreation(bench: Bench, medium: Medium): Promise<CreateSample> {
  const runs = bench.quick ? 1000 : 4000
  const [address, empty] = [medium.place(), medium.place()]
  const gc = ['--expose-gc']
  try {
    const nothing = await bench.storeAlone<StoreOpened>({ kind: 'open', address: empty }, gc)
    const before = (await medium.usage(address)).cpuMicros
    const created = await bench.storeAlone<Rate>({ kind: 'create', address, runs })
    const createStoreMicros = ((await medium.usage(address)).cpuMicros - before) / runs
    const opened = await bench.storeAlone<StoreOpened>({ kind: 'open', address }, gc)
    const sample = {
      createNodeMicros: created.cpuMicrosPerEvent,
      createStoreMicros,
      knownRunBytes: Math.max(0, (opened.heapBytes - nothing.heapBytes) / runs),
      knownRunMicros: Math.max(0, ((opened.ms - nothing.ms) * 1000) / runs),
    }
    const cost = `CPU µs each ${show(sample.createNodeMicros)} + ${show(createStoreMicros)} in its servers`
    const known = `${show(sample.knownRunBytes)} bytes and ${show(sample.knownRunMicros)} µs each when it is opened`
    bench.note(`${medium.name}: ${show(created.eventsPerSecond)} runs/s created, ${cost}; ${known}`)
    return sample
  } finally {
    await medium.clear(address)
    await medium.clear(empty)
  }
}
