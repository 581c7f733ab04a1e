/** The command line of the simulator. */
import { parseArgs } from 'node:util'
import { addPart, partSince, readParts, SIMULATION_LOG, type SimulationPart } from '../../scripts/campaign-log.ts'
import { writeCampaigns } from '../../scripts/campaigns-page.ts'
import { planOf, type PlanSize, USEFUL_SIZE } from './plan.ts'
import { RangeSum } from './range-sum.ts'
import { runCampaign } from './seed-campaign.ts'
import { type RangeResult, summary } from './seed-range.ts'
import { shrink } from './shrink.ts'
import { type Outcome, simulate } from './world.ts'

const USAGE = `npm run simulate -- --seed N [--trace]        one seed, twice: the same trace hash must come of it
npm run simulate -- --seeds N [--from SEED]   so many seeds
npm run simulate -- --seconds S [--from SEED] as many seeds as fit
  --nodes N --runs N   size of a world (default: ${USEFUL_SIZE.nodes} nodes, ${USEFUL_SIZE.runs} runs)
  --workers N          threads (default: 1)
  --report             add the seeds to docs/campaigns/simulation.jsonl and its page; begins after the last seed that it has
  --keep-going         do not end with the first failure
  --no-shrink          print a failing seed as it is`

export async function main(parameters: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...parameters],
    options: {
      seed: { type: 'string' },
      trace: { type: 'boolean', default: false },
      seeds: { type: 'string' },
      seconds: { type: 'string' },
      from: { type: 'string' },
      workers: { type: 'string', default: '1' },
      report: { type: 'boolean', default: false },
      nodes: { type: 'string', default: String(USEFUL_SIZE.nodes) },
      runs: { type: 'string', default: String(USEFUL_SIZE.runs) },
      'keep-going': { type: 'boolean', default: false },
      shrink: { type: 'boolean', default: true },
      help: { type: 'boolean', default: false },
    },
    allowNegative: true,
  })
  const size = { nodes: Number(values.nodes), runs: Number(values.runs) }
  const [from, seeds, seconds] = [
    values.from ?? (values.report ? lastReported() + 1 : 1),
    values.seeds ?? 'Infinity',
    values.seconds ?? 'Infinity',
  ].map(Number)
  const workers = Number(values.workers)
  const isBad =
    [size.nodes, size.runs, from, seeds, seconds].some((value) => !(value! >= 0)) || size.nodes < 1 || !(workers >= 1)
  if (values.help || isBad || (values.seed === undefined && seeds === Infinity && seconds === Infinity)) {
    console.log(USAGE)
    return values.help ? 0 : 2
  }
  if (values.seed !== undefined) return replay(Number(values.seed), size, values.trace, values.shrink)
  return many({
    from: from!,
    seeds: seeds!,
    seconds: seconds!,
    size,
    keepGoing: values['keep-going'],
    shrinks: values.shrink,
    workers,
    reports: values.report,
  })
}

function lastReported(): number {
  return readParts<SimulationPart>(SIMULATION_LOG).reduce((last, { to }) => Math.max(last, to), 0)
}

async function replay(seed: number, size: PlanSize, trace: boolean, shrinks: boolean): Promise<number> {
  const plan = planOf(seed, size)
  const outcome = await simulate(plan, { trace })
  const again = await simulate(plan)
  if (trace) printTrace(outcome)
  console.log(summary(outcome))
  if (again.hash !== outcome.hash) {
    console.log(`seed ${seed} is not deterministic: its hash was ${outcome.hash}, and then ${again.hash}`)
    return 1
  }
  if (outcome.violation === undefined) return 0
  if (shrinks) await printShrunk(seed, size)
  return 1
}

interface Campaign {
  readonly from: number
  readonly seeds: number
  readonly seconds: number
  readonly workers: number
  readonly size: PlanSize
  readonly keepGoing: boolean
  readonly shrinks: boolean
  readonly reports: boolean
}

const TELL_EVERY_MS = 10_000
/** Seeds after which a report gets another line. */
const REPORTED_SEEDS = 2000

async function many({ size, shrinks, reports, ...campaign }: Campaign): Promise<number> {
  const { from, workers } = campaign
  const begun = performance.now()
  const all = new RangeSum(from)
  let reported = new RangeSum(from)
  let [received, reportedAt] = [begun, begun]
  const report = (): void => {
    if (!reports || reported.count === 0) return
    addPart(SIMULATION_LOG, { ...partSince(reportedAt), ...reported.result })
    writeCampaigns()
    reported = new RangeSum(reported.to + 1)
    reportedAt = performance.now()
  }
  const stopped = new AbortController()
  const stop = (): void => stopped.abort()
  process.once('SIGINT', stop).once('SIGTERM', stop)
  const onRange = (result: RangeResult): void => {
    for (const { violation } of result.failures) console.log(violation)
    all.add(result)
    reported.add(result)
    if (reported.count >= REPORTED_SEEDS) report()
    if (performance.now() - received < TELL_EVERY_MS) return
    received = performance.now()
    console.log(all.describe(received - begun, workers))
  }
  await runCampaign({ ...campaign, size, onRange, signal: stopped.signal })
  process.off('SIGINT', stop).off('SIGTERM', stop)
  report()
  console.log(all.describe(performance.now() - begun, workers))
  const [failed] = all.result.failures
  if (failed === undefined) return 0
  if (!campaign.keepGoing && shrinks) await printShrunk(failed.seed, size)
  return 1
}

function printTrace({ trace }: Outcome): void {
  for (const { at, text } of trace ?? []) console.log(`${(at / 1000).toFixed(4).padStart(10)}  ${text}`)
}

async function printShrunk(seed: number, size: PlanSize): Promise<void> {
  const { violation } = await simulate(planOf(seed, size))
  const { plan, outcome, randomSteps, tries } = await shrink(planOf(seed, size), violation!.invariant)
  printTrace(outcome)
  console.log(
    `shrunk in ${tries} tries to ${plan.nodes} nodes, ${plan.runs.length} runs, ${plan.faults.length} faults, random up to step ${randomSteps}`,
  )
  console.log(JSON.stringify(plan))
  console.log(summary(outcome))
}
