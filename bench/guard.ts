/**
 * `npm run bench:guard`: fails if a ratio to plain node:http has become clearly worse. Ratios of CPU time, measured in one run, so that
 * they hold on a busy machine, too. A figure below its floor is measured again: only one that stays below it is a regression.
 * `--slow MICROSECONDS` adds this CPU time to every event of Holdfast, to test the guard.
 */
import { parseArgs } from 'node:util'
import { Bench, type Scenario } from './bench.ts'
import { markdown, show } from './figures.ts'
import { fanOut } from './scenarios/fan-out.ts'
import { saturated } from './scenarios/saturated.ts'

/** About 0.7 of the ratio on a busy machine; an idle one measures more. */
const FLOORS: ReadonlyMap<string, number> = new Map([
  ['saturated, one per turn: deliveries per CPU-second, of A', 0.65],
  ['saturated, eight per turn: deliveries per CPU-second, of A', 0.45],
  ['1,000 subscribers, paced: deliveries per CPU-second, of B', 0.6],
  ['1,000 subscribers, eight per turn: deliveries per CPU-second, of B', 2],
])
const ATTEMPTS_MAX = 3

const SLOW_US_MAX = 10_000

const { values } = parseArgs({ options: { slow: { type: 'string', default: '0' } } })
const slowUs = Number(values.slow)
if (!(slowUs >= 0 && slowUs <= SLOW_US_MAX)) {
  console.error(`--slow takes microseconds from 0 to ${SLOW_US_MAX}, not "${values.slow}"`)
  process.exit(2)
}
process.env['HOLDFAST_BENCH_SLOW_US'] = String(slowUs)

const best = new Map<string, number>()
const bench = new Bench({ quick: true, profile: undefined, save: false, litellm: false })
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void bench.close().finally(() => process.exit(1)))
try {
  for (const scenario of [saturated, fanOut]) await guard(scenario)
} finally {
  await bench.close()
}
const below = [...FLOORS].filter(([name, floor]) => !(best.get(name)! >= floor))
const rows = [...FLOORS].map(([name, floor]) => [name, `≥ ${show(floor)}`, show(best.get(name) ?? NaN)])
console.log(`\n${markdown(['figure', 'floor', 'measured'], rows)}`)
if (below.length > 0) {
  console.error(`\nWorse than their floor in ${ATTEMPTS_MAX} attempts: ${below.map(([name]) => name).join('; ')}`)
  process.exitCode = 1
}

async function guard(scenario: Scenario): Promise<void> {
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
    console.log(`${scenario.name}, attempt ${attempt}`)
    const guarded = (await scenario.run(bench)).filter(({ name }) => FLOORS.has(name))
    for (const figure of guarded) best.set(figure.name, Math.max(figure.value, best.get(figure.name) ?? 0))
    if (guarded.every(({ name }) => best.get(name)! >= FLOORS.get(name)!)) return
  }
}
