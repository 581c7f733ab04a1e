import { expect, test } from 'vitest'
import { readLog } from '../support/http.ts'
import { startServer } from '../support/process.ts'
import { temporaryDatabase } from '../support/temporary.ts'
import { Campaign } from './kill/campaign.ts'
import { judge } from './kill/verdict.ts'
import { countCampaign } from '../support/campaign.ts'
import { withSeed } from '../support/with-seed.ts'

/** `HOLDFAST_TEST_KILLS=1000` is the whole campaign. */
const KILLS = Number(process.env['HOLDFAST_TEST_KILLS'] ?? 20)
/** Time for a start, a visit and the commands to the runs, on a busy machine. */
const KILL_MS = 15_000

test(
  '[LOG-1] [LOG-2] [LOG-3] [LOG-5] [RUN-1] [RUN-4] a server that is killed repeatedly loses, duplicates and changes no event',
  async () => {
    await withSeed(async (random, progress) => {
      const store = temporaryDatabase()
      // A start that ends in peace leaves the compiled sources behind for all others.
      await (await startServer({ store })).terminate()

      const campaign = new Campaign(store, random)
      progress['campaign'] = campaign.counts
      while (campaign.counts.kills < KILLS) await campaign.live()
      const server = await campaign.conclude()
      const runs = [...campaign.runs.values()]
      const verdict = await judge(server, runs)
      const { outcomes, recovered, discarded } = verdict
      Object.assign(progress, { outcomes, recovered, discarded })
      console.info({ seed: random.seed, ...progress })

      await server.kill()
      const again = await startServer({ store })
      for (const [run, log] of verdict.logs)
        expect((await readLog(again, run)).equals(log), `run ${run} reads the same after a restart`).toBe(true)

      // With fewer, the kills interrupted too little for these checks to prove anything.
      expect(outcomes['failed: interrupted']).toBeGreaterThan(KILLS / 10)
      expect(recovered).toBeGreaterThan(KILLS / 10)
      expect(discarded).toBeGreaterThan(0)
      expect(campaign.counts.repeatedStarts).toBeGreaterThan(0)
      countCampaign({ kills: campaign.counts.kills, runs: runs.length, records: verdict.records })
    })
  },
  120_000 + KILLS * KILL_MS,
)
