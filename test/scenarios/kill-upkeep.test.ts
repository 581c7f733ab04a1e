import { expect, test } from 'vitest'
import { countCampaign } from '../support/campaign.ts'
import { temporaryFolder } from '../support/temporary.ts'
import { UpkeepCampaign } from './kill-upkeep/campaign.ts'
import { withSeed } from '../support/with-seed.ts'

/** `HOLDFAST_TEST_CYCLES=1000` is the whole campaign. */
const CYCLES = Number(process.env['HOLDFAST_TEST_CYCLES'] ?? 30)
const CYCLE_MS = 20_000

/** With fewer, the kills interrupted too little for the test to prove anything. */
function isTooEarly({ removed, trimmed, recordsCompared }: UpkeepCampaign['counts']): boolean {
  return removed <= CYCLES / 2 || trimmed <= CYCLES / 4 || recordsCompared <= CYCLES * 100
}

test(
  '[LOG-1] [LOG-5] [SEC-1] SQLite: kills between deletes, trims, sweeps, backups and copies neither lose, restore nor mix data',
  async () => {
    await withSeed(async (random, progress) => {
      const campaign = new UpkeepCampaign(temporaryFolder(), random)
      progress['campaign'] = campaign.counts
      try {
        // On a busy machine a life removes less before it is killed: then it takes more of them.
        while (campaign.counts.lives < CYCLES || (isTooEarly(campaign.counts) && campaign.counts.lives < 3 * CYCLES))
          await campaign.cycle()
      } finally {
        console.info({ seed: random.seed, ...campaign.counts })
      }
      expect(
        isTooEarly(campaign.counts),
        `the kills came before anything happened: ${JSON.stringify(campaign.counts)}`,
      ).toBe(false)
      const { killed, killedCopies, created, recordsCompared } = campaign.counts
      countCampaign({ kills: killed + killedCopies, runs: created, records: recordsCompared })
    })
  },
  60_000 + 3 * CYCLES * CYCLE_MS,
)
