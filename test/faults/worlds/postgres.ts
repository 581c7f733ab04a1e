/** Nodes on one PostgreSQL server, each over its own link. */
import { setTimeout as wait } from 'node:timers/promises'
import { PostgresServer } from '../../support/postgres.ts'
import { type Link, openLink } from '../link.ts'
import { fillFor, killNodes, nodeFaults, onDisk, startNodes, type World, type WorldOptions } from '../world.ts'

const BACKEND_KILLS_EVERY_MS = 400

export async function openPostgresWorld(options: WorldOptions): Promise<World> {
  const { disk } = options
  const server = await onDisk(disk, () => PostgresServer.create())
  const links: Link[] = []
  try {
    await server.start()
    const nodes = await startNodes(options, async () => {
      const link = await openLink(server.port, options.partition)
      links.push(link)
      return server.url.replace(`:${server.port}/`, `:${link.port}/`)
    })
    const [{ version } = { version: '?' }] = await server.query<{ version: string }>(
      "SELECT current_setting('server_version') AS version",
    )
    return {
      nodes,
      version: `PostgreSQL ${version.split(' ')[0]}`,
      inject: {
        ...nodeFaults(nodes),
        'backend-kill': (ms) => killBackends(server, ms),
        async crash(ms) {
          await server.stop('SIGQUIT')
          await wait(ms)
          await server.start()
          return 1
        },
        'partition-node': (ms, round) => cut([links[round % links.length]!], ms),
        'partition-server': (ms) => cut(links, ms),
        ...(disk !== undefined && {
          'full-disk': async (ms) => {
            await fillFor(disk, ms)
            // PostgreSQL exits when it cannot write its WAL, and the operator restarts it.
            const lives = await server.query('SELECT 1').then(
              () => true,
              () => false,
            )
            if (!lives) {
              await server.stop('SIGQUIT')
              await server.start()
            }
            return 1
          },
        }),
      },
      close: () => close(server, links, () => killNodes(nodes)),
    }
  } catch (cause) {
    await close(server, links)
    throw cause
  }
}

async function close(server: PostgresServer, links: readonly Link[], first = async (): Promise<void> => {}) {
  await first()
  await Promise.all(links.map((link) => link.close()))
  await server.remove()
}

export async function cut(links: readonly Link[], ms: number): Promise<number> {
  for (const link of links) link.block()
  await wait(ms)
  for (const link of links) link.heal()
  return 1
}

/** Returns the number of terminated backends. */
async function killBackends(server: PostgresServer, ms: number): Promise<number> {
  const until = Date.now() + ms
  let killed = 0
  while (Date.now() < until) {
    const rows = await server.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE usename = 'holdfast' AND pid <> pg_backend_pid() AND backend_type = 'client backend'`,
    )
    killed += rows.length
    await wait(BACKEND_KILLS_EVERY_MS)
  }
  return killed
}
