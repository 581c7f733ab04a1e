import { setTimeout as wait } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createClient } from '../../src/client/index.ts'
import { startPostgres } from '../support/postgres.ts'
import { withSeed } from '../support/random.ts'
import { Cluster } from './nodes/cluster.ts'
import { type Followed, followOne } from './nodes/traffic.ts'
import { judge } from './nodes/verdict.ts'

const RUNS = Number(process.env['HOLDFAST_TEST_NODE_RUNS'] ?? 500)
const REPLACEMENTS = Number(process.env['HOLDFAST_TEST_NODE_KILLS'] ?? 12)
const server = await startPostgres()

test('[LOG-1] [LOG-3] [LOG-4] [LOG-5] [RUN-1] [RUN-2] [RUN-4] three nodes on one database die in turn, and no client of any run notices', async () => {
  await withSeed(async (random) => {
    const cluster = await Cluster.start(server.url)
    const client = createClient({ url: cluster.url, retries: 1000, retryMs: 50, share: false })
    const following: Promise<Followed>[] = []
    for (let replaced = 0, started = 0; started < RUNS || replaced < REPLACEMENTS; replaced++) {
      const share = Math.ceil(RUNS / REPLACEMENTS)
      for (; started < Math.min(RUNS, share * (replaced + 1)); started++) {
        const followed = followOne(client, random, started)
        followed.catch(() => {}) // looked at below
        following.push(followed)
      }
      await wait(random.between(300, 1500))
      await cluster.replace(replaced % 3, random.chance(0.75) ? 'kill' : 'drain')
    }
    const runs = await Promise.all(following)
    const verdict = await judge(server, runs)
    // Otherwise the deaths hit nothing, and all of the above says little.
    expect(verdict.recovered).toBeGreaterThan(0)
    expect(cluster.counts.kills).toBeGreaterThan(0)
  })
}, 240_000)
