/**
 * `npm run kills -- --scenario sqlite|upkeep|postgres|nats --kills N [--part N]`: kills processes and checks that nothing was lost, in parts that
 * are judged on their own and added to docs/campaigns/kills.jsonl, until N more kills are counted.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs, stripVTControlCharacters } from 'node:util'
import { type CampaignCounts, COUNTS_FILE } from '../test/support/campaign.ts'
import { addPart, KILLS_LOG, partSince, readParts } from './campaign-log.ts'
import { type Scenario, SCENARIOS, writeCampaigns } from './campaigns-page.ts'
import { root } from './command.ts'

const OUTPUT_CHARS_MAX = 64 * 1024
const NOTHING: CampaignCounts = { kills: 0, runs: 0, records: 0 }

interface Program {
  readonly file: string
  /** Kills of one part. */
  readonly part: number
  readonly env: (kills: number) => Readonly<Record<string, string>>
}

const storm = (kills: number): Record<string, string> => ({
  HOLDFAST_TEST_NODE_KILLS: String(kills),
  HOLDFAST_TEST_NODE_RUNS: String(kills * 6),
})

const programs: Readonly<Record<Scenario, Program>> = {
  sqlite: { file: 'kill.test.ts', part: 200, env: (kills) => ({ HOLDFAST_TEST_KILLS: String(kills) }) },
  upkeep: { file: 'kill-upkeep.test.ts', part: 200, env: (kills) => ({ HOLDFAST_TEST_CYCLES: String(kills) }) },
  postgres: { file: 'nodes.test.ts', part: 40, env: storm },
  nats: { file: 'nodes-nats.test.ts', part: 40, env: storm },
}

const { values } = parseArgs({
  options: { scenario: { type: 'string' }, kills: { type: 'string' }, part: { type: 'string' } },
})
const scenario = Object.keys(SCENARIOS).find((name) => name === values.scenario) as Scenario | undefined
const wanted = Number(values.kills)
const part = Number(values.part ?? (scenario && programs[scenario].part))
if (scenario === undefined || !(wanted > 0) || !(part > 0)) {
  console.error(`npm run kills -- --scenario ${Object.keys(SCENARIOS).join('|')} --kills N [--part N]`)
  process.exit(2)
}

for (let counted = 0; counted < wanted;) {
  const begun = performance.now()
  // Always a whole part: in a small one the kills may hit nothing.
  const { counts, ...problem } = await runPart(scenario, part)
  addPart(KILLS_LOG, { ...partSince(begun), scenario, ...counts, ...problem })
  writeCampaigns()
  counted += counts.kills
  console.log(`${scenario}: ${counted} of ${wanted} kills counted`)
  if (Object.keys(problem).length > 0) {
    console.error(problem)
    process.exit(1)
  }
}

async function runPart(
  name: Scenario,
  kills: number,
): Promise<{ readonly counts: CampaignCounts; readonly violation?: string; readonly unfinished?: string }> {
  const { file, env } = programs[name]
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-kills-'))
  const countsFile = join(folder, 'counts.jsonl')
  const vitest = join(root, 'node_modules/vitest/vitest.mjs')
  const child = spawn(process.execPath, [vitest, 'run', `test/scenarios/${file}`, '--maxWorkers=1'], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...env(kills), [COUNTS_FILE]: countsFile },
  })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    process.stdout.write(text)
    output = (output + text).slice(-OUTPUT_CHARS_MAX)
  })
  const code = await new Promise<number>((resolve) => child.once('close', (end) => resolve(end ?? 1)))
  const [counts] = readParts<CampaignCounts>(countsFile)
  rmSync(folder, { recursive: true, force: true })
  if (code === 0 && counts !== undefined) return { counts }
  const reason =
    /(?:with HOLDFAST_TEST_SEED=|AssertionError)[^\n]*/.exec(stripVTControlCharacters(output))?.[0] ?? `code ${code}`
  // All was compared, and a check after that failed; or a time limit was over before.
  const isWithoutVerdict = counts !== undefined || /timed? ?out|did not listen|not every run ended/i.test(reason)
  return { counts: NOTHING, ...(isWithoutVerdict ? { unfinished: reason } : { violation: reason }) }
}
