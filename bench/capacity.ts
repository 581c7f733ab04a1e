/** `node bench/capacity.ts --runs 1000000 --events-per-second 5`: required machines, from the last measured figures. */
import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { defaultDemand, defaultMachines, type Demand, type Machines } from './capacity-model.ts'
import { boundsTable, capacityTable } from './capacity-tables.ts'
import { documented } from './update-docs.ts'
import { readMeasured } from './measurements.ts'

const { store: _, ...demand } = defaultDemand
const defaults: Readonly<Record<string, number>> = { ...demand, ...defaultMachines }
const names = new Map(Object.keys(defaults).map((name) => [flagOf(name), name]))

const { values } = parseArgs({
  options: {
    ...Object.fromEntries([...names.keys()].map((flag) => [flag, { type: 'string' as const }])),
    docs: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
const given = Object.fromEntries(
  Object.entries(values).flatMap(([flag, text]) => (names.has(flag) ? [[names.get(flag)!, toNumber(flag, text)]] : [])),
)

if (values.help) {
  for (const [flag, name] of names) console.log(`--${flag} ${defaults[name]}`)
} else if (values.docs) {
  const file = new URL('../docs/scale.md', import.meta.url)
  writeFileSync(file, documented(readFileSync(file, 'utf8'), readMeasured()))
} else {
  const asked = { ...defaultDemand, ...given } as Demand
  const machines = { ...defaultMachines, ...given } as Machines
  const measured = readMeasured()
  console.log(`${capacityTable(measured, asked, machines)}\n\n${boundsTable(measured, asked, machines)}`)
}

/** `eventsPerSecond` is `--events-per-second`. */
function flagOf(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}

function toNumber(flag: string, text: unknown): number {
  const number = Number(text)
  if (number > 0) return number
  console.error(`--${flag} ${String(text)} is not a number above 0`)
  process.exit(2)
}
