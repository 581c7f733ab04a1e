/** Rounds of faults on one store. Nodes and servers start once; the judge checks every round separately. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { NatsRelease } from '../support/nats.ts'
import { configOptions } from '../../src/server/config/config-options.ts'
import { Judge, type Verdict } from './judged.ts'
import type { PartitionMethod } from './link.ts'
import { SmallDisk } from './small-disk.ts'
import { type FaultName, faketimeLibrary, type StoreName, type World, type WorldOptions } from './world.ts'
import { openNatsWorld } from './worlds/nats.ts'
import { openPostgresWorld } from './worlds/postgres.ts'
import { openSqliteWorld } from './worlds/sqlite.ts'

/** Time for every client to have a run that executes, also on a busy machine. */
const LEAD_MS = 2500
const LEAD_MS_PER_CLIENT = 40
const BETWEEN_FAULTS_MS = 1000
const TRAIL_MS = 1500
const DISK_MEBIBYTES = { sqlite: 64, postgres: 512, nats: 512 } as const

export interface CampaignOptions {
  readonly store: StoreName
  /** Injected in sequence in every round. */
  readonly faults: readonly FaultName[]
  readonly rounds: number
  /** How long a fault lasts. */
  readonly faultMs: number
  readonly nodes: number
  readonly leaseMs: number
  readonly clients: number
  /** Every run must end within this time after the later of its start and the fault. */
  readonly boundS: number
  readonly seed: number
  /** Duration of half of the runs, in seconds; 0 for none. */
  readonly longS?: number
  readonly partition: PartitionMethod
  readonly release?: NatsRelease
  /** Folder for histories; those without violations are removed. */
  readonly folder: string
}

export interface Round {
  readonly number: number
  readonly version: string
  readonly injected: number
  readonly verdict: Verdict
  /** Path, if an invariant was violated. */
  readonly history: string | undefined
}

const onlyFor: Partial<Record<FaultName, readonly StoreName[]>> = {
  'backend-kill': ['postgres'],
  crash: ['postgres', 'nats'],
  'partition-node': ['postgres', 'nats'],
  'partition-server': ['postgres', 'nats'],
  'route-cut': ['nats'],
  quorum: ['nats'],
}

/**
 * Faults during which no run may lose its worker, because the store is down for all nodes. If only some nodes are cut off, the others
 * rightly claim their runs.
 */
const outages: Record<StoreName, readonly FaultName[]> = {
  sqlite: [],
  postgres: ['backend-kill', 'crash', 'partition-server', 'full-disk'],
  nats: ['crash', 'quorum', 'full-disk'],
}
const { fallback, parse } = configOptions['store-outage']
const STORE_OUTAGE_MS = parse(fallback)
/** Servers that come back need some of the time that nodes bear an outage; those of NATS elect leaders first. */
const COMING_BACK_MS: Record<StoreName, number> = { sqlite: 0, postgres: 4000, nats: 15_000 }

function isOutage(store: StoreName, fault: FaultName, faultMs: number): boolean {
  return outages[store].includes(fault) && faultMs + COMING_BACK_MS[store] <= STORE_OUTAGE_MS
}

/** Why a fault cannot be injected on this machine, if so. */
async function skipReason(store: StoreName, fault: FaultName): Promise<string | undefined> {
  if (onlyFor[fault]?.includes(store) === false) return `${store} has no such fault`
  if (fault === 'clock' && (await faketimeLibrary()) === undefined)
    return 'libfaketime is not installed and cannot be installed here (Debian package faketime)'
  if (fault === 'full-disk' && !SmallDisk.canMount()) return 'mounting a file system is not permitted on this machine'
  return undefined
}

/** Removes faults that cannot be injected; resolves with the reasons. */
export async function runCampaign(
  options: CampaignOptions,
  onRound: (round: Round) => void,
  signal?: AbortSignal,
): Promise<string[]> {
  const { store } = options
  const reasons = await Promise.all(options.faults.map((fault) => skipReason(store, fault)))
  const skipped = options.faults.flatMap((fault, place) =>
    reasons[place] === undefined ? [] : [`${fault}: ${reasons[place]}`],
  )
  const faults = options.faults.filter((_, place) => reasons[place] === undefined)
  if (faults.length === 0) return skipped
  const disk = faults.includes('full-disk') ? SmallDisk.mount(DISK_MEBIBYTES[store]) : undefined
  try {
    const world = await openWorld(options, disk)
    try {
      for (let number = 1; number <= options.rounds && signal?.aborted !== true; number++) {
        onRound(await runRound(world, { ...options, faults }, number, signal))
      }
    } finally {
      await world.close()
    }
  } finally {
    disk?.unmount()
  }
  return skipped
}

function openWorld(options: CampaignOptions, disk: SmallDisk | undefined): Promise<World> {
  const { nodes, leaseMs, partition } = options
  const settings: WorldOptions = { nodes, leaseMs, partition, ...(disk !== undefined && { disk }) }
  if (options.store === 'sqlite') return openSqliteWorld(settings)
  if (options.store === 'postgres') return openPostgresWorld(settings)
  return openNatsWorld(settings, options.release)
}

async function runRound(
  world: World,
  options: CampaignOptions,
  number: number,
  signal: AbortSignal | undefined,
): Promise<Round> {
  const { store, faults, faultMs, clients, boundS, folder } = options
  mkdirSync(folder, { recursive: true })
  const name = `${store}-${faults.join('-')}-${number}`
  const history = join(folder, `${name}.jsonl`)
  const judge = await Judge.start({
    urls: world.nodes.map(({ url }) => url),
    history,
    clients,
    boundS,
    seed: options.seed + number,
    longS: options.longS ?? 0,
    withinMs:
      clients * LEAD_MS_PER_CLIENT + 2 * faults.length * (faultMs + BETWEEN_FAULTS_MS) + 4 * boundS * 1000 + 120_000,
  })
  const onAbort = (): void => void judge.abandon()
  signal?.addEventListener('abort', onAbort)
  try {
    await wait(LEAD_MS + clients * LEAD_MS_PER_CLIENT)
    let injected = 0
    for (const [place, fault] of faults.entries()) {
      if (place > 0) await wait(BETWEEN_FAULTS_MS)
      judge.tell(isOutage(store, fault, faultMs) ? `outage ${fault}` : `fault ${fault}`)
      injected += await world.inject[fault]!(faultMs, number - 1)
      judge.tell('healed')
    }
    await wait(TRAIL_MS)
    const verdict = await judge.finish()
    if (verdict.ok) rmSync(history)
    else keepOutputs(world, join(folder, name))
    return { number, version: world.version, injected, verdict, history: verdict.ok ? undefined : history }
  } catch (cause) {
    await judge.abandon()
    keepOutputs(world, join(folder, name))
    throw cause
  } finally {
    signal?.removeEventListener('abort', onAbort)
  }
}

function keepOutputs(world: World, path: string): void {
  for (const [place, node] of world.nodes.entries()) writeFileSync(`${path}-node-${place}.log`, node.output)
}
