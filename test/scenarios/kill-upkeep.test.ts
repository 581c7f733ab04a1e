import { expect, test } from 'vitest'
import { temporaryFolder } from '../support/temporary.ts'
import { UpkeepCampaign } from './kill-upkeep/campaign.ts'
import { withSeed } from '../support/with-seed.ts'

/** `HOLDFAST_TEST_CYCLES=1000` is the whole campaign. */
const CYCLES = Number(process.env['HOLDFAST_TEST_CYCLES'] ?? 30)
const CYCLE_MS = 20_000

test(
  '[LOG-1] [LOG-5] [SEC-1] SQLite: kills between deletes, trims, sweeps, backups and copies neither lose, restore nor mix data',
  async () => {
    await withSeed(async (random, progress) => {
      const campaign = new UpkeepCampaign(temporaryFolder(), random)
      progress['campaign'] = campaign.counts
      try {
        while (campaign.counts.lives < CYCLES) await campaign.cycle()
      } finally {
        console.info({ seed: random.seed, ...campaign.counts })
      }
      // Otherwise the kills hit nothing, and all of the above says little.
      expect(campaign.counts.removed).toBeGreaterThan(CYCLES / 2)
      expect(campaign.counts.trimmed).toBeGreaterThan(CYCLES / 4)
      expect(campaign.counts.recordsCompared).toBeGreaterThan(CYCLES * 100)
    })
  },
  60_000 + CYCLES * CYCLE_MS,
)
