/** Shrinks a failing plan while it still violates the same invariant. */
import type { Op, Plan } from './plan.ts'
import { type Outcome, simulate } from './world.ts'

/** Simulations that one shrinking may take. */
const TRIES_MAX = 400

export interface Shrunk {
  readonly plan: Plan
  readonly outcome: Outcome
  /** The schedule is regular, and free of lost messages, from this step on. */
  readonly randomSteps: number
  readonly tries: number
}

export async function shrink(failing: Plan, invariant: string): Promise<Shrunk> {
  let tries = 0
  let best = failing
  let randomSteps = Infinity
  const stillFails = async (plan: Plan, steps = randomSteps): Promise<boolean> => {
    if (tries >= TRIES_MAX) return false
    tries++
    return (await simulate(plan, { randomSteps: steps })).violation?.invariant === invariant
  }
  const attempt = async (plan: Plan): Promise<boolean> => {
    if (!(await stillFails(plan))) return false
    best = plan
    return true
  }

  for (let before: Plan | undefined; before !== best;) {
    before = best
    await dropEach(best.faults, (faults) => attempt({ ...best, faults }))
    await dropEach(best.runs, (runs) => attempt({ ...best, runs }))
    for (const kind of Object.keys(best.chances) as (keyof Plan['chances'])[])
      if (best.chances[kind] > 0) await attempt({ ...best, chances: { ...best.chances, [kind]: 0 } })
    const fewer = best.nodes - 1
    if (fewer >= 1)
      await attempt({
        ...best,
        nodes: fewer,
        faults: best.faults.filter((fault) => !('node' in fault) || fault.node < fewer),
      })
    for (const { name } of best.runs) await shrinkRun(best, name, attempt)
  }

  // The schedule: the least number of steps that have to be random.
  let [least, most] = [0, (await simulate(best)).steps]
  while (least < most && tries < TRIES_MAX) {
    const middle = (least + most) >> 1
    if (await stillFails(best, middle)) most = middle
    else least = middle + 1
  }
  randomSteps = (await simulate(best, { randomSteps: most })).violation?.invariant === invariant ? most : Infinity
  return { plan: best, outcome: await simulate(best, { randomSteps, trace: true }), randomSteps, tries }
}

/** Tries to do without halves, then without single items. */
async function dropEach<Item>(items: readonly Item[], keep: (rest: Item[]) => Promise<boolean>): Promise<void> {
  let rest = [...items]
  for (let size = Math.ceil(rest.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = 0; at < rest.length;) {
      const without = rest.toSpliced(at, size)
      if (await keep(without)) rest = without
      else at += size
    }
  }
}

async function shrinkRun(plan: Plan, name: string, attempt: (plan: Plan) => Promise<boolean>): Promise<void> {
  let best = plan
  const change = async (script: readonly Op[]): Promise<boolean> => {
    const runs = best.runs.map((run) => (run.name === name ? { ...run, script } : run))
    const changed = { ...best, runs }
    if (!(await attempt(changed))) return false
    best = changed
    return true
  }
  await dropEach(plan.runs.find((run) => run.name === name)!.script, change)
}
