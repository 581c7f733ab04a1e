/** Nodes on three NATS servers, with a separate link between every two processes. */
import { setTimeout as wait } from 'node:timers/promises'
import { createNatsCluster, type NatsRelease, type NatsServer } from '../../support/nats.ts'
import { type Link, openLink } from '../link.ts'
import { fillFor, killNodes, nodeFaults, onDisk, startNodes, type World, type WorldOptions } from '../world.ts'
import { cut } from './postgres.ts'

const SERVERS = 3
const PARTITIONS = 4

/** `server`: the server that loses its connection with the link. Routes connect two servers. */
interface ServerLink {
  readonly servers: readonly number[]
  readonly node?: number
  readonly link: Link
}

export async function openNatsWorld(options: WorldOptions, release: NatsRelease = 'newest'): Promise<World> {
  const { disk, partition } = options
  const links: ServerLink[] = []
  const servers = await onDisk(disk, () =>
    createNatsCluster(SERVERS, {
      release,
      routePort: async (from, to, port) => {
        const link = await openLink(port, partition)
        links.push({ servers: [from, to], link })
        return link.port
      },
    }),
  )
  const close = async (): Promise<void> => {
    await Promise.all(links.map(({ link }) => link.close()))
    await Promise.all(servers.map((server) => server.remove()))
  }
  try {
    await Promise.all(servers.map((server) => server.start()))
    const nodes = await startNodes(options, async (node) => {
      const ports = await Promise.all(
        servers.map(async ({ port }, index) => {
          const link = await openLink(port, partition)
          links.push({ servers: [index], node, link })
          return link.port
        }),
      )
      return `nats://${ports.map((port) => `127.0.0.1:${port}`).join(',')}?partitions=${PARTITIONS}&replicas=${SERVERS}`
    })
    const chosen = (choose: (link: ServerLink) => boolean): Link[] => links.filter(choose).map(({ link }) => link)
    return {
      nodes,
      version: `nats-server ${await versionOf(servers[0]!)}`,
      inject: {
        ...nodeFaults(nodes),
        crash: (ms) => killFor(servers, ms),
        quorum: (ms, round) => killFor([servers[round % SERVERS]!, servers[(round + 1) % SERVERS]!], ms),
        'partition-node': (ms, round) =>
          cut(
            chosen(({ node }) => node === round % nodes.length),
            ms,
          ),
        'partition-server': (ms, round) =>
          cut(
            chosen((link) => link.servers.includes(round % SERVERS)),
            ms,
          ),
        'route-cut': (ms, round) =>
          cut(
            chosen((link) => link.node === undefined && link.servers.includes(round % SERVERS)),
            ms,
          ),
        ...(disk !== undefined && {
          'full-disk': async (ms) => {
            await fillFor(disk, ms)
            // JetStream disables itself on a server that cannot write, until a restart.
            for (const server of servers) await killFor([server], 0)
            return 1
          },
        }),
      },
      async close() {
        await killNodes(nodes)
        await close()
      },
    }
  } catch (cause) {
    await close()
    throw cause
  }
}

async function killFor(servers: readonly NatsServer[], ms: number): Promise<number> {
  await Promise.all(servers.map((server) => server.stop('SIGKILL')))
  await wait(ms)
  await Promise.all(servers.map((server) => server.start()))
  return servers.length
}

async function versionOf(server: NatsServer): Promise<string> {
  const answer = await fetch(`${server.monitor}/varz`)
  return ((await answer.json()) as { version: string }).version
}
