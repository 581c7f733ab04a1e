/** Loads a store or its bare medium, in a separate process: many concurrent runs with a few events in flight each. */
import { DatabaseSync } from 'node:sqlite'
import type { Store } from '../src/core/ports/store.ts'
import { configOptions } from '../src/server/config/config-options.ts'
import { openStore } from '../src/server/store/open-store.ts'
import { answer, ready } from './ipc-child.ts'
import { bareNats } from './bare/nats.ts'
import { barePostgres } from './bare/postgres.ts'
import { bareSqlite } from './bare/sqlite.ts'
import { Meter, type Rate } from './meter.ts'
import { OpenRun } from './open-run.ts'

export type StoreCommand = StoreLoad | StoreCreation | StoreOpening

export interface StoreLoad {
  /** `bare`: the medium's current ceiling. `packed`: the same with one row per commit, for media with rows per run. */
  readonly kind: 'store' | 'bare' | 'packed'
  readonly address: string
  readonly runs: number
  /** Events per append. Appends are pipelined, as with agents. */
  readonly eventsAtOnce: number
  /** Events written before the measurement, in the same way. */
  readonly prefill: number
  readonly events: number
}

export interface StoreResult extends Rate {
  /** Share of bytes not yet compacted at the end; 1 without compaction. */
  readonly backlog: number
}

/** Creates runs without executing them, in batches. */
export interface StoreCreation {
  readonly kind: 'create'
  readonly address: string
  readonly runs: number
}

/** Opens a store with existing runs. Needs --expose-gc. */
export interface StoreOpening {
  readonly kind: 'open'
  readonly address: string
}

export interface StoreOpened {
  readonly ms: number
  /** Heap that the store uses for existing runs. */
  readonly heapBytes: number
}

async function loadStore({ address, runs, eventsAtOnce, prefill, events }: StoreLoad): Promise<StoreResult> {
  const store = await open(address)
  const all = await Promise.all(Array.from({ length: runs }, () => OpenRun.create(store)))
  const meter = new Meter(prefill, events)
  const write = async (run: OpenRun): Promise<void> => {
    run.append(eventsAtOnce)
    let earlier = run.flush()
    // The first commit is in progress when the next events arrive.
    for (let round = 0; round < 2; round++) await new Promise((resolve) => setImmediate(resolve))
    while (!meter.isDone) {
      run.append(eventsAtOnce)
      const later = run.flush()
      await earlier
      earlier = later
      meter.add(eventsAtOnce)
    }
    await earlier
  }
  await Promise.all(all.map(write))
  const backlog = address.startsWith('sqlite:') ? uncompacted(address.slice('sqlite:'.length)) : 1
  await store.close()
  return { ...meter.rate, backlog }
}

async function loadBare(load: StoreLoad): Promise<StoreResult> {
  const meter = new Meter(load.prefill, load.events)
  const bare = { ...load, meter }
  switch (load.address.split(':')[0]) {
    case 'sqlite':
      bareSqlite(bare)
      break
    case 'postgres':
      await barePostgres(bare, load.kind === 'packed' ? 'packed' : 'rows')
      break
    default:
      await bareNats(bare)
  }
  return { ...meter.rate, backlog: 1 }
}

const CREATING_MAX = 64

async function create({ address, runs }: StoreCreation): Promise<Rate> {
  const store = await open(address)
  const meter = new Meter(0, runs)
  meter.add(0)
  let left = runs
  const some = async (): Promise<void> => {
    while (left-- > 0) {
      await OpenRun.create(store)
      meter.add(1)
    }
  }
  await Promise.all(Array.from({ length: CREATING_MAX }, some))
  await store.close()
  return meter.rate
}

async function openAgain({ address }: StoreOpening): Promise<StoreOpened> {
  // Open twice, to exclude code loaded by the first.
  await (await open(address)).close()
  const before = await heapBytes()
  const start = performance.now()
  const store = await open(address)
  const ms = performance.now() - start
  const bytes = (await heapBytes()) - before
  await store.close()
  return { ms, heapBytes: bytes }
}

async function heapBytes(): Promise<number> {
  for (let pass = 0; pass < 2; pass++) {
    globalThis.gc!()
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return process.memoryUsage().heapUsed
}

function open(address: string): Promise<Store> {
  return openStore(configOptions.store.parse(address))
}

function uncompacted(path: string): number {
  const database = new DatabaseSync(path, { readOnly: true })
  const bytes = (name: string): number =>
    Number(database.prepare(`SELECT coalesce(sum(length(data)), 0) AS bytes FROM ${name}`).get()!['bytes'])
  const log = bytes('log')
  const share = log / (log + bytes('segments'))
  database.close()
  return share
}

answer((command: StoreCommand) => {
  switch (command.kind) {
    case 'store':
      return loadStore(command)
    case 'create':
      return create(command)
    case 'open':
      return openAgain(command)
    default:
      return loadBare(command)
  }
})
ready()
