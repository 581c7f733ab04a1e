/** The machine that is measured on, and what else it does: other work shows in every figure that is a time. */
import { cpus, loadavg, totalmem } from 'node:os'

const SAMPLE_MS = 500

/** Cores that others keep busy, while nothing of ours runs. */
export async function othersCores(): Promise<number> {
  const before = busyMs()
  const start = performance.now()
  await new Promise((resolve) => setTimeout(resolve, SAMPLE_MS))
  return (busyMs() - before) / (performance.now() - start)
}

function busyMs(): number {
  return cpus().reduce((sum, { times }) => sum + times.user + times.nice + times.sys + times.irq, 0)
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
