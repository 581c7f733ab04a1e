/** Measures the number of busy cores at this moment. Unlike the load average, it does not include earlier minutes. */
import { cpus } from 'node:os'
import { setTimeout as wait } from 'node:timers/promises'

const MEASURE_MS = 3000

export async function busyCores(): Promise<number> {
  const before = times()
  await wait(MEASURE_MS)
  const after = times()
  const all = after.all - before.all
  return all === 0 ? 0 : (cpus().length * (all - (after.idle - before.idle))) / all
}

function times(): { readonly all: number; readonly idle: number } {
  const each = cpus().map(({ times: { user, nice, sys, idle, irq } }) => ({
    all: user + nice + sys + idle + irq,
    idle,
  }))
  return {
    all: each.reduce((sum, { all }) => sum + all, 0),
    idle: each.reduce((sum, { idle }) => sum + idle, 0),
  }
}
