/** An update of all nodes, one after the other, while clients start and follow runs. */
import { expect, test } from 'vitest'
import { createClient } from '../../src/client/index.ts'
import { call, readLog } from '../support/http.ts'
import { startPostgres } from '../support/postgres.ts'
import { Random } from '../support/random.ts'
import { until } from '../support/until.ts'
import { withSeed } from '../support/with-seed.ts'
import { Cluster } from './nodes/cluster.ts'
import { allEnded } from './nodes/progress.ts'
import { follow, type Following } from './nodes/traffic.ts'
import { judge } from './nodes/verdict.ts'

const ROUNDS = Number(process.env['HOLDFAST_TEST_FAULT_ROUNDS'] ?? 1)
const RUNS_PER_RESTART = 20
/** Of all, when a node gets SIGTERM. */
const UNDER_WAY = 10
const server = await startPostgres()

/** All selectable components except the one whose runs fail if they outlast the drain. */
class Lasting extends Random {
  override pick<Item>(items: readonly Item[]): Item {
    return super.pick(items.filter((item) => item !== 'lab'))
  }
}

test(
  '[RUN-1] [RUN-2] [SUB-3] rolling restart: three nodes are restarted in turn under load, and clients see nothing but a reconnect',
  () =>
    withSeed(async ({ seed }, progress) => {
      const random = new Lasting(seed)
      const cluster = await Cluster.start(server.url)
      const statuses = new Set<number>()
      const client = createClient({
        url: cluster.url,
        retries: 1000,
        retryDelayMs: 50,
        shareConnections: false,
        fetch: async (...request) => {
          const response = await fetch(...request)
          statuses.add(response.status)
          return response
        },
      })
      const following: Following[] = []
      for (let restarted = 0; restarted < ROUNDS * 3; restarted++) {
        for (let more = 0; more < RUNS_PER_RESTART; more++) following.push(follow(client, random, following.length))
        await until('some runs are under way', async () => {
          const { body } = await call<{ runs: unknown[] }>(cluster, 'GET', `/runs?status=running&limit=${UNDER_WAY}`)
          return body.runs.length === UNDER_WAY
        })
        await cluster.replace(restarted % 3, 'drain')
        Object.assign(progress, {
          restarted: restarted + 1,
          ended: following.filter(({ state }) => state.isOver).length,
        })
      }
      const runs = await allEnded(client, following)
      const logs = await Promise.all(runs.map(async ({ id }) => [id, await readLog(cluster, id)] as const))
      const { outcomes, recovered } = judge(new Map(logs), runs)
      expect(new Set(Object.keys(outcomes)).difference(new Set(['run.completed', 'run.cancelled']))).toEqual(new Set())
      // Otherwise nothing was in progress when a node got SIGTERM.
      expect(recovered).toBeGreaterThan(0)
      expect(logs.some(([, log]) => log.includes('event: run.released\n'))).toBe(true)
      // A draining node reports it, and gets no more requests.
      expect([...statuses].filter((status) => status >= 300 && status !== 503)).toEqual([])
    }),
  480_000,
)
