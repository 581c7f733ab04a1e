/** The command line of the simulator. */
import { parseArgs } from 'node:util'
import { planOf, type PlanSize, USEFUL_SIZE } from './plan.ts'
import { shrink } from './shrink.ts'
import { type Outcome, simulate } from './world.ts'

const USAGE = `npm run simulate -- --seed N [--trace]        one seed, twice: the same trace hash must come of it
npm run simulate -- --seeds N [--from SEED]   so many seeds
npm run simulate -- --seconds S [--from SEED] as many seeds as fit
  --nodes N --runs N   size of a world (default: ${USEFUL_SIZE.nodes} nodes, ${USEFUL_SIZE.runs} runs)
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
      from: { type: 'string', default: '1' },
      nodes: { type: 'string', default: String(USEFUL_SIZE.nodes) },
      runs: { type: 'string', default: String(USEFUL_SIZE.runs) },
      'keep-going': { type: 'boolean', default: false },
      shrink: { type: 'boolean', default: true },
      help: { type: 'boolean', default: false },
    },
    allowNegative: true,
  })
  const size = { nodes: Number(values.nodes), runs: Number(values.runs) }
  const [from, seeds, seconds] = [values.from, values.seeds ?? 'Infinity', values.seconds ?? 'Infinity'].map(Number)
  const isBad = [size.nodes, size.runs, from, seeds, seconds].some((value) => !(value! >= 0)) || size.nodes < 1
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
  })
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
  if (shrinks) await printShrunk(seed, size, outcome)
  return 1
}

interface Campaign {
  readonly from: number
  readonly seeds: number
  readonly seconds: number
  readonly size: PlanSize
  readonly keepGoing: boolean
  readonly shrinks: boolean
}

const TELL_EVERY_MS = 10_000

async function many({ from, seeds, seconds, size, keepGoing, shrinks }: Campaign): Promise<number> {
  Error.stackTraceLimit = 0 // traces of stacks that nobody prints take a tenth of the time
  const begun = performance.now()
  const failed: number[] = []
  let [count, events, steps, told] = [0, 0, 0, begun]
  const tell = (): void => {
    const elapsed = (performance.now() - begun) / 1000
    const cpu = process.cpuUsage()
    const cpuSeconds = (cpu.user + cpu.system) / 1e6
    console.log(
      `${count} seeds from ${from} in ${elapsed.toFixed(1)} s: ${(count / elapsed).toFixed(1)} seeds/s, ` +
        `${(count / cpuSeconds).toFixed(1)} per second of CPU; per seed ${Math.round(events / count)} events, ` +
        `${Math.round(steps / count)} steps; ${failed.length} failed${failed.length > 0 ? `: ${failed.slice(0, 50).join(' ')}` : ''}`,
    )
  }
  for (let seed = from; count < seeds && performance.now() - begun < seconds * 1000; seed++) {
    const outcome = await simulate(planOf(seed, size))
    count++
    events += outcome.events
    steps += outcome.steps
    if (outcome.violation !== undefined) {
      failed.push(seed)
      console.log(summary(outcome))
      if (!keepGoing) {
        if (shrinks) await printShrunk(seed, size, outcome)
        break
      }
    }
    if (performance.now() - told >= TELL_EVERY_MS) {
      told = performance.now()
      tell()
    }
  }
  tell()
  return failed.length > 0 ? 1 : 0
}

function summary({ seed, hash, steps, events, virtualMs, ends, violation }: Outcome): string {
  const seconds = (virtualMs / 1000).toFixed(1)
  const facts = `seed ${seed}: hash ${hash}, ${steps} steps, ${events} events, ${seconds} s of simulated time, ${JSON.stringify(ends)}`
  return violation === undefined ? facts : `${facts}\n  ${violation.message}`
}

function printTrace({ trace }: Outcome): void {
  for (const { at, text } of trace ?? []) console.log(`${(at / 1000).toFixed(4).padStart(10)}  ${text}`)
}

async function printShrunk(seed: number, size: PlanSize, { violation }: Outcome): Promise<void> {
  const { plan, outcome, randomSteps, tries } = await shrink(planOf(seed, size), violation!.invariant)
  printTrace(outcome)
  console.log(
    `shrunk in ${tries} tries to ${plan.nodes} nodes, ${plan.runs.length} runs, ${plan.faults.length} faults, random up to step ${randomSteps}`,
  )
  console.log(JSON.stringify(plan))
  console.log(summary(outcome))
}
