/** Random commands on the store and on a model made of plain arrays: both must say the same, always. */
import fc from 'fast-check'
import { commandLists } from './model-commands.ts'
import { compareAll, execute, modelWorld } from './model-world.ts'
import type { ConformanceSection, StoreTarget } from './target.ts'
import { openTrial } from './trial.ts'

const RUNS = 100

export const modelSection: ConformanceSection = {
  name: 'model',
  cases: [
    {
      name: '[LOG-1] [LOG-3] [LOG-4] the store answers random commands as plain arrays do',
      timeoutMs: 180_000,
      run: ({ target }) => expectModel(target),
    },
  ],
}

/**
 * fast-check prints the seed and the shortest list that fails. HOLDFAST_MODEL_SEED tries the same lists again,
 * HOLDFAST_MODEL_RUNS tries more of them.
 */
async function expectModel(target: StoreTarget): Promise<void> {
  const property = fc.asyncProperty(commandLists(target.reopen !== undefined), async (commands) => {
    const trial = await openTrial(target)
    try {
      const world = modelWorld(trial)
      for (const command of commands) await execute(world, command)
      await compareAll(world)
    } finally {
      await trial.close()
    }
  })
  const { HOLDFAST_MODEL_RUNS: runs, HOLDFAST_MODEL_SEED: seed } = process.env
  await fc.assert(property, {
    numRuns: runs === undefined ? RUNS : Number(runs),
    ...(seed !== undefined && { seed: Number(seed) }),
  })
}
