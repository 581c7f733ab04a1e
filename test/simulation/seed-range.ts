/** Simulates a range of seeds, in this thread. */
import { planOf, type PlanSize } from './plan.ts'
import { type Outcome, simulate } from './world.ts'

export interface SeedRange {
  readonly from: number
  /** Inclusive. */
  readonly to: number
  readonly size: PlanSize
}

export interface RangeResult {
  readonly from: number
  readonly to: number
  readonly events: number
  readonly steps: number
  readonly cpuSeconds: number
  readonly failures: readonly { readonly seed: number; readonly violation: string }[]
}

export async function simulateRange({ from, to, size }: SeedRange): Promise<RangeResult> {
  Error.stackTraceLimit = 0 // traces of stacks that nobody prints take a tenth of the time
  const before = process.threadCpuUsage()
  const failures: { seed: number; violation: string }[] = []
  let [events, steps] = [0, 0]
  for (let seed = from; seed <= to; seed++) {
    const outcome = await simulate(planOf(seed, size))
    events += outcome.events
    steps += outcome.steps
    if (outcome.violation !== undefined) failures.push({ seed, violation: summary(outcome) })
  }
  const { user, system } = process.threadCpuUsage(before)
  return { from, to, events, steps, cpuSeconds: (user + system) / 1e6, failures }
}

export function summary({ seed, hash, steps, events, virtualMs, ends, violation }: Outcome): string {
  const seconds = (virtualMs / 1000).toFixed(1)
  const facts = `seed ${seed}: hash ${hash}, ${steps} steps, ${events} events, ${seconds} s of simulated time, ${JSON.stringify(ends)}`
  return violation === undefined ? facts : `${facts}\n  ${violation.message}`
}
