import { expect, test } from 'vitest'
import { readLog } from '../support/http.ts'
import { startServer } from '../support/process.ts'
import { withSeed } from '../support/random.ts'
import { temporaryDatabase } from '../support/temporary.ts'
import { Campaign } from './kill/campaign.ts'
import { judge } from './kill/verdict.ts'

const KILLS = Number(process.env['HOLDFAST_TEST_KILLS'] ?? 110)

test('[LOG-1] [LOG-2] [LOG-3] [LOG-5] [RUN-1] [RUN-4] a server that is killed again and again loses, doubles and changes nothing', async () => {
  await withSeed(async (random) => {
    const store = temporaryDatabase()
    // A start that ends in peace leaves the compiled sources behind for all others.
    await (await startServer({ store })).terminate()

    const campaign = new Campaign(store, random)
    while (campaign.counts.kills < KILLS) await campaign.live()
    const server = await campaign.conclude()
    const runs = [...campaign.runs.values()]
    const verdict = await judge(server, runs)

    await server.kill()
    const again = await startServer({ store })
    for (const [run, log] of verdict.logs)
      expect((await readLog(again, run)).equals(log), `run ${run} reads the same after a restart`).toBe(true)

    // Otherwise the kills hit nothing, and all of the above says little.
    expect(verdict.outcomes['failed: interrupted']).toBeGreaterThan(KILLS / 10)
    expect(verdict.recovered).toBeGreaterThan(KILLS / 10)
    expect(verdict.discarded).toBeGreaterThan(0)
    expect(campaign.counts.repeatedStarts).toBeGreaterThan(0)
  })
}, 420_000)
