/** Updates the tables of docs/scale.md, each between two comments, from the measured figures. */
import { defaultDemand, defaultMachines } from './capacity-model.ts'
import { boundsTable, capacityTable } from './capacity-tables.ts'
import type { Measured } from './measurements.ts'
import { storesTable } from './measured-table.ts'

export function documented(text: string, measured: Measured): string {
  const { date, machine, deliveryMicros, recordBytes } = measured
  const smaller = { ...defaultDemand, runs: 20_000 }
  const tables: Readonly<Record<string, string>> = {
    measured: `${date}, ${machine}. One more subscriber: ${deliveryMicros} µs (\`delivery\`). An event: ${recordBytes} bytes (\`record\`).\n\n${storesTable(measured)}`,
    million: capacityTable(measured, defaultDemand, defaultMachines),
    smaller: capacityTable(measured, smaller, defaultMachines),
    bounds: boundsTable(measured, defaultDemand, defaultMachines),
  }
  return Object.entries(tables).reduce((page, [name, table]) => {
    const marker = new RegExp(`(<!-- ${name}[^>]*-->\n).*?(\n<!-- end -->)`, 's')
    if (!marker.test(page)) throw new Error(`docs/scale.md has no marker for the table "${name}"`)
    return page.replace(marker, (_, begin: string, end: string) => `${begin}\n${table}\n${end}`)
  }, text)
}
