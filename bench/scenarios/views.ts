/** Views: subscribers of other protocols beside native ones. */
import type { Scenario } from '../bench.ts'
import { fanOut, manyRuns } from '../view-loads.ts'
import { resumes } from '../view-resumes.ts'

export const views: Scenario = {
  name: 'views',
  about: 'AgentOS, OpenAI and A2A beside native: live runs, and resumes of runs of 100,000 and 1,000,000 events',
  async run(bench) {
    return [...(await fanOut(bench)), ...(await manyRuns(bench)), ...(await resumes(bench))]
  },
}
