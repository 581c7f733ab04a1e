/**
 * `npm run faults -- --store postgres --fault kill [--rounds N] [--seconds S]`: starts real nodes and store servers, injects faults,
 * and judges the outcome. One table row per round; the exit code is 1 if any invariant was violated.
 */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { runCampaign } from './campaign.ts'
import { partitionMethod } from './link.ts'
import { headerRow, roundRow, summary, type Totals } from './table.ts'
import { faults, type FaultName, stores } from './world.ts'

const { values } = parseArgs({
  options: {
    store: { type: 'string', default: 'postgres' },
    fault: { type: 'string', default: 'kill' },
    rounds: { type: 'string', default: '1' },
    /** Duration of each fault. */
    seconds: { type: 'string', default: '12' },
    nodes: { type: 'string', default: '3' },
    clients: { type: 'string', default: '12' },
    'lease-ms': { type: 'string', default: '10000' },
    /** Time limit for a run after its start and after the fault, in seconds. */
    bound: { type: 'string', default: '90' },
    /** Duration of half of the runs, silent or slow, in seconds. */
    long: { type: 'string', default: '0' },
    seed: { type: 'string' },
    partition: { type: 'string', default: partitionMethod() },
    release: { type: 'string', default: 'newest' },
  },
})

const store = oneOf('store', stores)
const chosen = values.fault === 'all' ? (Object.keys(faults) as FaultName[]) : [oneOf('fault', Object.keys(faults))]
const seed = values.seed === undefined ? Date.now() % 1_000_000 : wholeNumber('seed', 0, 2 ** 31)
const folder = mkdtempSync(join(tmpdir(), 'holdfast-faults-'))
const settings = {
  store,
  rounds: wholeNumber('rounds', 1, 10_000),
  faultMs: wholeNumber('seconds', 0, 3600) * 1000,
  nodes: wholeNumber('nodes', 1, 16),
  clients: wholeNumber('clients', 1, 500),
  leaseMs: wholeNumber('lease-ms', 300, 3_600_000),
  boundS: wholeNumber('bound', 1, 3600),
  seed,
  longS: wholeNumber('long', 0, 3600),
  partition: oneOf('partition', ['packets', 'proxy'] as const),
  release: oneOf('release', ['oldest', 'newest'] as const),
  folder,
}

const stopped = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopped.abort())

console.log(`seed ${seed}; partitions by ${settings.partition}; histories of violations in ${folder}\n`)
console.log(headerRow())
const totals: Totals = { rounds: 0, injected: 0, runs: 0, events: 0, violations: 0, skipped: [] }
for (const fault of chosen as FaultName[]) {
  if (stopped.signal.aborted) break
  const skipped = await runCampaign(
    { ...settings, faults: [fault] },
    (round) => console.log(roundRow(store, fault, round, totals)),
    stopped.signal,
  )
  totals.skipped.push(...skipped)
}
console.log(`\n${summary(totals)}`)
process.exit(totals.violations > 0 ? 1 : 0)

function oneOf<Choice extends string>(name: keyof typeof values, choices: readonly Choice[]): Choice {
  const given = values[name] as Choice
  if (!choices.includes(given)) usage(`--${name} takes one of ${choices.join(', ')}, not "${given}"`)
  return given
}

function wholeNumber(name: keyof typeof values, least: number, most: number): number {
  const number = Number(values[name])
  if (!Number.isInteger(number) || number < least || number > most)
    usage(`--${name} takes a whole number from ${least} to ${most}, not "${values[name]}"`)
  return number
}

function usage(problem: string): never {
  console.error(problem)
  process.exit(2)
}
