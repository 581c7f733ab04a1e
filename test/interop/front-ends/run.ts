/**
 * `npm run interop:front-ends [-- --only assistant-ui|copilotkit]`: pages of other people's front ends in Chromium. Their packages are
 * large, so each is installed into a folder of its own.
 */
import { parseArgs } from 'node:util'
import { Tally } from '../tally.ts'
import { checkAssistantUi } from './assistant-ui.ts'
import { checkCopilotKit } from './copilotkit.ts'

const parts = { 'assistant-ui': checkAssistantUi, copilotkit: checkCopilotKit }
const { values } = parseArgs({ options: { only: { type: 'string' } } })
const tally = new Tally()
for (const [name, check] of Object.entries(parts)) {
  if ((values.only ?? name) !== name) continue
  try {
    await check(tally)
  } catch (cause) {
    tally.add(`${name}: all of it is run`, String(cause))
  }
}
process.exitCode = tally.report('front-ends')
