/** Model-based test: random commands on the store and on plain arrays must give the same results. */
import fc from 'fast-check'
import { commandLists } from './model-commands.ts'
import { compareAll, execute, modelRunner } from './model-runner.ts'
import type { ConformanceSection, StoreTarget } from './target.ts'
import { openTrial } from './trial.ts'

const RUNS = 100

export const modelSection: ConformanceSection = {
  name: 'model',
  cases: [
    {
      name: '[LOG-1] [LOG-3] [LOG-4] the store answers random commands as plain arrays do',
      timeoutMs: 420_000,
      run: ({ target }) => expectModel(target, optionsOf(process.env)),
    },
  ],
}

/** Runs random command lists; fast-check prints the seed and the shortest failing list. */
export async function expectModel(target: StoreTarget, options: { runs: number; seed?: number }): Promise<void> {
  const property = fc.asyncProperty(commandLists(target.reopen !== undefined), async (commands) => {
    const trial = await openTrial(target)
    try {
      const world = modelRunner(trial)
      for (const command of commands) await execute(world, command)
      await compareAll(world)
    } finally {
      await trial.close()
    }
  })
  await fc.assert(property, { numRuns: options.runs, ...(options.seed !== undefined && { seed: options.seed }) })
}

/** HOLDFAST_MODEL_RUNS sets the number of lists; HOLDFAST_MODEL_SEED repeats a failure. */
function optionsOf({ HOLDFAST_MODEL_RUNS: runs, HOLDFAST_MODEL_SEED: seed }: NodeJS.ProcessEnv) {
  return { runs: runs === undefined ? RUNS : Number(runs), ...(seed !== undefined && { seed: Number(seed) }) }
}
