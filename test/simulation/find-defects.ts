/**
 * Looks for the first seed that finds each defect: `node test/simulation/find-defects.ts [--seeds N] [--known] [id…]`. `--known` tries
 * the seed of the table first: every change to core changes the order of events, so that another seed may be the one that finds it.
 */
import { parseArgs } from 'node:util'
import { defects } from './defects.ts'
import { loadWith } from './load-defect.ts'

const { values, positionals } = parseArgs({
  options: { seeds: { type: 'string', default: '10000' }, known: { type: 'boolean', default: false } },
  allowPositionals: true,
})
const wanted = positionals.length === 0 ? defects : defects.filter(({ id }) => positionals.includes(id))
Error.stackTraceLimit = 0
for (const defect of wanted) {
  const begun = performance.now()
  const { simulate, planOf, withoutFaults } = await loadWith(defect)
  const seeds = Array.from({ length: Number(values.seeds) }, (_, at) => at + 1)
  let found: { readonly seed: number; readonly invariant: string; readonly message: string } | undefined
  for (const seed of values.known ? [defect.seed, ...seeds] : seeds) {
    const plan = planOf(seed)
    const { violation } = await simulate(defect.isFaultless === true ? withoutFaults(plan) : plan)
    if (violation === undefined) continue
    found = { seed, invariant: violation.invariant, message: violation.message.slice(0, 200) }
    break
  }
  console.log(JSON.stringify({ id: defect.id, ms: Math.round(performance.now() - begun), ...found }))
}
