/** One node on its file. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fillFor, killNodes, nodeFaults, onDisk, startNodes, type World, type WorldOptions } from '../world.ts'

export async function openSqliteWorld(options: WorldOptions): Promise<World> {
  const { disk } = options
  const folder = await onDisk(disk, async () => mkdtempSync(join(tmpdir(), 'holdfast-faults-')))
  const nodes = await startNodes({ ...options, nodes: 1 }, () => `sqlite:${join(folder, 'runs.db')}`)
  return {
    nodes,
    version: `SQLite of Node ${process.versions.node}`,
    inject: {
      ...nodeFaults(nodes),
      ...(disk !== undefined && {
        'full-disk': async (ms) => {
          await fillFor(disk, ms)
          return 1
        },
      }),
    },
    async close() {
      await killNodes(nodes)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
