/** Three nodes on one store die one after the other while clients follow hundreds of runs. */
import { setTimeout as wait } from 'node:timers/promises'
import { createClient } from '../../../src/client/index.ts'
import { Cluster } from './cluster.ts'
import { allEnded, report } from './progress.ts'
import { follow, type Following } from './traffic.ts'
import { judge, type Verdict } from './verdict.ts'
import { countCampaign } from '../../support/campaign.ts'
import { withSeed } from '../../support/with-seed.ts'

/** `HOLDFAST_TEST_NODE_RUNS=500 HOLDFAST_TEST_NODE_KILLS=12` is the whole storm. */
const RUNS = Number(process.env['HOLDFAST_TEST_NODE_RUNS'] ?? 120)
const REPLACEMENTS = Number(process.env['HOLDFAST_TEST_NODE_KILLS'] ?? 5)
/** Time limit of a storm on a busy machine: the runs, and for each death the start of a node. */
export const STORM_MS = 420_000 + REPLACEMENTS * 12_000

/** Effects of the kills. If they interrupted nothing, the test proves little. */
export interface Outcome {
  /** Runs that continued after the death of their node and were completed. */
  readonly recovered: number
  readonly kills: number
}

/** Follows runs that are started while something is done to the store, and judges them when all have ended. */
export async function weatherFault(
  store: string,
  readLogs: () => Promise<ReadonlyMap<string, Buffer>>,
  runs: number,
  inflict: () => Promise<void>,
): Promise<Verdict> {
  let verdict: Verdict | undefined
  await withSeed(async (random) => {
    const cluster = await Cluster.start(store)
    const client = createClient({ url: cluster.url, retries: 1000, retryDelayMs: 50, shareConnections: false })
    const inflicted = inflict()
    inflicted.catch(() => {}) // looked at below
    const following: Following[] = []
    report(random, 'nodes are up', following)
    for (let started = 0; started < runs; started++) {
      following.push(follow(client, random, started))
      await wait(random.between(50, 350))
    }
    await inflicted
    report(random, 'the fault is over', following)
    const ended = await allEnded(client, following)
    verdict = judge(await readLogs(), ended)
  })
  return verdict!
}

/** `readLogs` returns the bytes of each run's log by its id, read without code of the store. */
export async function weatherStorm(
  store: string,
  readLogs: () => Promise<ReadonlyMap<string, Buffer>>,
): Promise<Outcome> {
  const outcome = { recovered: 0, kills: 0 }
  await withSeed(async (random) => {
    const cluster = await Cluster.start(store)
    const client = createClient({ url: cluster.url, retries: 1000, retryDelayMs: 50, shareConnections: false })
    const following: Following[] = []
    report(random, 'nodes are up', following)
    for (let replaced = 0, started = 0; started < RUNS || replaced < REPLACEMENTS; replaced++) {
      const share = Math.ceil(RUNS / REPLACEMENTS)
      for (; started < Math.min(RUNS, share * (replaced + 1)); started++) {
        following.push(follow(client, random, started))
      }
      await wait(random.between(300, 1500))
      await cluster.replace(replaced % 3, replaced === 0 || random.chance(0.75) ? 'kill' : 'drain')
      report(random, `node ${replaced + 1} of ${REPLACEMENTS} was replaced`, following)
    }
    const runs = await allEnded(client, following)
    const verdict = judge(await readLogs(), runs)
    countCampaign({ kills: cluster.counts.kills, runs: runs.length, records: verdict.records })
    Object.assign(outcome, { recovered: verdict.recovered, kills: cluster.counts.kills })
  })
  return outcome
}
