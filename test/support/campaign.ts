/** Counts of a long scenario, for `npm run kills`, which adds them to the campaign log. */
import { appendFileSync } from 'node:fs'

/** Names the file that takes the counts, one JSON object per line. */
export const COUNTS_FILE = 'HOLDFAST_TEST_COUNTS'

export interface CampaignCounts {
  /** Processes that were ended with SIGKILL. */
  readonly kills: number
  readonly runs: number
  /** Records that were compared with what clients were given. */
  readonly records: number
}

/** Called when everything was compared and nothing was lost, doubled or changed. */
export function countCampaign(counts: CampaignCounts): void {
  const file = process.env[COUNTS_FILE]
  if (file !== undefined) appendFileSync(file, `${JSON.stringify(counts)}\n`)
}
