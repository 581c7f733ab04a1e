/** The environment of a campaign: store servers, nodes, and their faults. */
import { globSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { ensureAptPackage } from '../support/apt.ts'
import { freePort } from '../support/free-port.ts'
import { NodeProcess } from './node-process.ts'
import type { PartitionMethod } from './link.ts'
import { SmallDisk } from './small-disk.ts'

export const stores = ['sqlite', 'postgres', 'nats'] as const
export type StoreName = (typeof stores)[number]

export const faults = {
  kill: 'nodes are killed (SIGKILL) and restarted, one after the other',
  'backend-kill': 'PostgreSQL: all backends of the nodes are terminated repeatedly',
  crash: 'all store servers are killed at once and restarted',
  'partition-node': 'one node is cut off from the store',
  'partition-server': 'one store server is cut off from everything',
  'route-cut': 'NATS: one server is cut off from the others but reachable by nodes',
  quorum: 'NATS: two of three servers are killed and restarted later',
  sigstop: 'one node is stopped (SIGSTOP) for longer than a lease',
  clock: 'the clocks of the nodes are two hours apart',
  'full-disk': 'the disk of the store is full',
} as const
export type FaultName = keyof typeof faults

export interface WorldOptions {
  readonly nodes: number
  readonly leaseMs: number
  readonly partition: PartitionMethod
  readonly disk?: SmallDisk
}

export interface World {
  readonly nodes: readonly NodeProcess[]
  /** Version of the store's server. */
  readonly version: string
  /** Injects the fault for `ms`, then heals it. Resolves with the number of injections. */
  readonly inject: Partial<Record<FaultName, (ms: number, round: number) => Promise<number>>>
  close(): Promise<void>
}

/** `storeOf`: store address for each node. */
export async function startNodes(
  options: WorldOptions,
  storeOf: (index: number) => string | Promise<string>,
): Promise<NodeProcess[]> {
  const indices = Array.from({ length: options.nodes }, (_, index) => index)
  const nodes = await Promise.all(
    indices.map(
      async (index) =>
        new NodeProcess({ store: await storeOf(index), port: await freePort(), leaseMs: options.leaseMs }),
    ),
  )
  try {
    await Promise.all(nodes.map((node) => node.start()))
  } catch (cause) {
    await killNodes(nodes)
    throw cause
  }
  return nodes
}

export async function killNodes(nodes: readonly NodeProcess[]): Promise<void> {
  await Promise.all(nodes.map((node) => node.kill()))
}

const CLOCKS = ['+2h', '-2h', '+0']
const BETWEEN_KILLS_MS = 1500

/** Faults of nodes, independent of the store. */
export function nodeFaults(nodes: readonly NodeProcess[]): Pick<World['inject'], 'kill' | 'sigstop' | 'clock'> {
  const at = (index: number): NodeProcess => nodes[index % nodes.length]!
  return {
    async kill(ms, round) {
      const until = Date.now() + ms
      let kills = 0
      do {
        const node = at(round + kills++)
        await node.kill()
        await wait(BETWEEN_KILLS_MS)
        await node.start()
      } while (Date.now() < until)
      return kills
    },
    async sigstop(ms, round) {
      at(round).signal('SIGSTOP')
      await wait(ms)
      at(round).signal('SIGCONT')
      return 1
    },
    async clock(ms) {
      // One by one, so that nodes with different clocks share runs; each node is restarted for it.
      for (const [index, node] of nodes.entries()) {
        await node.kill()
        await node.start(await clockOf(index))
      }
      await wait(ms)
      for (const node of nodes) {
        await node.kill()
        await node.start()
      }
      return 2 * nodes.length
    },
  }
}

/** Installs it if permitted; undefined if unavailable. */
export async function faketimeLibrary(): Promise<string | undefined> {
  await ensureAptPackage('faketime', '/usr/bin/faketime').catch(() => {})
  return globSync('/usr/lib/*/faketime/libfaketime.so.1')[0]
}

async function clockOf(index: number): Promise<Record<string, string>> {
  const library = (await faketimeLibrary())!
  return { LD_PRELOAD: library, FAKETIME: CLOCKS[index % CLOCKS.length]!, DONT_FAKE_MONOTONIC: '1' }
}

/** Fills the disk for a while. */
export async function fillFor(disk: SmallDisk, ms: number): Promise<void> {
  disk.fill()
  await wait(ms)
  disk.free()
}

/** Temporary folders created meanwhile are on the small disk. */
export async function onDisk<Made>(disk: SmallDisk | undefined, make: () => Promise<Made>): Promise<Made> {
  if (disk === undefined) return make()
  const before = process.env['TMPDIR']
  process.env['TMPDIR'] = disk.folder
  try {
    return await make()
  } finally {
    if (before === undefined) delete process.env['TMPDIR']
    else process.env['TMPDIR'] = before
  }
}
