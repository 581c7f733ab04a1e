/** The store alone, or its medium alone, in a process of its own: many runs at once, each with a few events on their way. */
import { DatabaseSync } from 'node:sqlite'
import type { Store } from '../src/core/ports/store.ts'
import { configOptions } from '../src/server/config-options.ts'
import { openStore } from '../src/server/open-store.ts'
import { answer, ready } from './answering.ts'
import { bareNats } from './bare/nats.ts'
import { barePostgres } from './bare/postgres.ts'
import { bareSqlite } from './bare/sqlite.ts'
import { Meter, type Rate } from './meter.ts'
import { OpenRun } from './open-run.ts'

export type StoreCommand = StoreLoad | StoreCreation | StoreOpening

export interface StoreLoad {
  /** `bare`: the ceiling of this machine at this moment. `packed`: the same in one row for each commit, where rows are of runs. */
  readonly kind: 'store' | 'bare' | 'packed'
  readonly address: string
  readonly runs: number
  /** Events that a run appends at a time. It goes on to the next ones while these are on their way, as agents do. */
  readonly eventsAtOnce: number
  /** Written before the measurement begins, in the same way. */
  readonly prefill: number
  readonly events: number
}

export interface StoreResult extends Rate {
  /** Share of all bytes that compaction had not got to at the end; 1 where nothing is compacted. */
  readonly backlog: number
}

/** Runs that are created and not driven, some at a time. */
export interface StoreCreation {
  readonly kind: 'create'
  readonly address: string
  readonly runs: number
}

/** A store that has runs is opened. Needs --expose-gc. */
export interface StoreOpening {
  readonly kind: 'open'
  readonly address: string
}

export interface StoreOpened {
  readonly ms: number
  /** What the store keeps in memory of what it found. */
  readonly heapBytes: number
}

async function loadStore({ address, runs, eventsAtOnce, prefill, events }: StoreLoad): Promise<StoreResult> {
  const store = await open(address)
  const all = await Promise.all(Array.from({ length: runs }, () => OpenRun.create(store)))
  const meter = new Meter(prefill, events)
  const write = async (run: OpenRun): Promise<void> => {
    run.append(eventsAtOnce)
    let earlier = run.flush()
    // The commit of the first ones is under way when the second ones come.
    for (let turn = 0; turn < 2; turn++) await new Promise((resolve) => setImmediate(resolve))
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
  // Twice: what the first one loads is not the cost of what it finds.
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
