/** The machine and its other load, which affects every time that is measured. */
import { existsSync, readFileSync } from 'node:fs'
import { cpus, loadavg, totalmem } from 'node:os'

const SAMPLE_MS = 500

/** Cores used by other processes while the bench is idle. */
export async function othersCores(): Promise<number> {
  const before = busyMs()
  const start = performance.now()
  await new Promise((resolve) => setTimeout(resolve, SAMPLE_MS))
  return (busyMs() - before) / (performance.now() - start)
}

function busyMs(): number {
  return cpus().reduce((sum, { times }) => sum + times.user + times.nice + times.sys + times.irq, 0)
}

/**
 * Steal time: the share of CPU time that the hypervisor withheld since creation. Not visible in any process, but in every latency.
 * Linux only.
 */
export class Withheld {
  readonly #before = grantedAndStolen()

  get percent(): number {
    const now = grantedAndStolen()
    const stolen = now.stolen - this.#before.stolen
    const asked = now.granted - this.#before.granted + stolen
    return asked === 0 ? 0 : (100 * stolen) / asked
  }
}

const STAT = '/proc/stat'

function grantedAndStolen(): { readonly granted: number; readonly stolen: number } {
  if (!existsSync(STAT)) return { granted: 0, stolen: 0 }
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, stolen = 0] = readFileSync(STAT, 'utf8')
    .slice('cpu '.length, 200)
    .trim()
    .split(/\s+/)
    .map(Number)
  return { granted: user + nice + system + irq + softirq, stolen }
}

export function describeMachine(): string {
  const [first] = cpus()
  const gibibytes = Math.round(totalmem() / 2 ** 30)
  return `Node ${process.versions.node}, ${cpus().length} × ${first?.model.trim()}, ${gibibytes} GiB`
}

export function describeLoad(): string {
  return `load average ${loadavg()
    .map((average) => average.toFixed(1))
    .join(' ')}`
}
