/** `npm run bench`: measures every figure and compares it with its target. */
import { parseArgs } from 'node:util'
import { Bench, type Scenario } from './bench.ts'
import { type Figure, show, table } from './figures.ts'
import { describeLoad, describeMachine, othersCores, Withheld } from './machine.ts'
import { a2a } from './scenarios/a2a.ts'
import { backlog } from './scenarios/backlog.ts'
import { catchUp } from './scenarios/catch-up.ts'
import { coldStart } from './scenarios/cold-start.ts'
import { components } from './scenarios/components.ts'
import { fanOut } from './scenarios/fan-out.ts'
import { gateway } from './scenarios/gateway.ts'
import { giant } from './scenarios/giant.ts'
import { memory } from './scenarios/memory.ts'
import { mount } from './scenarios/mount.ts'
import { paced } from './scenarios/paced.ts'
import { saturated } from './scenarios/saturated.ts'
import { start } from './scenarios/start.ts'
import { store } from './scenarios/store.ts'
import { stores } from './scenarios/stores.ts'
import { views } from './scenarios/views.ts'

/** Above this load of other processes, measured times are unreliable. */
const OTHERS_CORES_MAX = 0.2

const scenarios: readonly Scenario[] = [
  saturated,
  paced,
  fanOut,
  views,
  catchUp,
  components,
  a2a,
  store,
  stores,
  memory,
  mount,
  gateway,
  coldStart,
  start,
  backlog,
  giant,
]

const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true },
    quick: { type: 'boolean', default: false },
    profile: { type: 'string' },
    save: { type: 'boolean', default: false },
    litellm: { type: 'boolean', default: false },
  },
})
const wanted = (values.only ?? []).flatMap((names) => names.split(','))
const unknown = wanted.filter((name) => !scenarios.some((scenario) => scenario.name === name))
if (unknown.length > 0) {
  console.error(`no scenario ${unknown.join(', ')}; there are: ${scenarios.map(({ name }) => name).join(', ')}`)
  process.exit(2)
}

const bench = new Bench({ quick: values.quick, profile: values.profile, save: values.save, litellm: values.litellm })
const figures: Figure[] = []
const others: number[] = []
const withheld = new Withheld()
const started = performance.now()
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void bench.close().finally(() => process.exit(1)))
}
try {
  for (const scenario of scenarios) {
    if (wanted.length > 0 && !wanted.includes(scenario.name)) continue
    others.push(await othersCores())
    console.log(`${scenario.name}: ${scenario.about} (others use ${show(others.at(-1)!)} cores)`)
    figures.push(...(await measured(scenario)))
  }
} finally {
  await bench.close()
}
const minutes = ((performance.now() - started) / 60_000).toFixed(1)
const date = new Date().toISOString().slice(0, 10)
console.log(
  `\n${table(figures)}\n\n${date}, ${describeMachine()}, ${describeLoad()}, ${withheld.percent.toFixed(1)} % of the CPU time withheld, ${minutes} minutes${values.quick ? ', quick' : ''}`,
)
if (Math.max(...others) > OTHERS_CORES_MAX) {
  console.log(
    `Others used up to ${show(Math.max(...others))} cores: read the ratios, not the latencies, the rate of the store or the start.`,
  )
}
if (figures.some(({ met }) => met === false)) process.exitCode = 1

/** A failed scenario counts as a missed target; the others still run. */
async function measured(scenario: Scenario): Promise<readonly Figure[]> {
  try {
    return await scenario.run(bench)
  } catch (cause) {
    console.error(cause)
    return [{ name: scenario.name, target: 'to be measured', measured: String(cause), value: NaN, met: false }]
  }
}
