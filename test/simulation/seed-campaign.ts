/** Simulates many seeds on several threads. Ranges are handed out in order, so that the completed seeds are one range too. */
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { PlanSize } from './plan.ts'
import type { RangeResult, SeedRange } from './seed-range.ts'

/** Seeds that a thread takes at a time. */
const CHUNK = 20
/** Most of what a seed allocates is garbage before a young generation of this size is full. */
const YOUNG_GENERATION_MB = 192

export interface SeedCampaign {
  readonly from: number
  readonly seeds: number
  readonly seconds: number
  readonly size: PlanSize
  readonly workers: number
  /** Whether to continue after a failure. */
  readonly keepGoing: boolean
  /** Called with each range when all before it are done. */
  readonly onRange: (result: RangeResult) => void
  /** Hands out no further range once it is aborted. */
  readonly signal: AbortSignal
}

export async function runCampaign(campaign: SeedCampaign): Promise<void> {
  const { seeds, seconds, size, keepGoing, signal } = campaign
  const end = campaign.from + seeds
  const deadline = performance.now() + seconds * 1000
  const done = new Map<number, RangeResult>()
  let [next, reported] = [campaign.from, campaign.from]
  let hasFailed = false
  const isOver = (): boolean =>
    next >= end || performance.now() >= deadline || signal.aborted || (hasFailed && !keepGoing)
  const take = (result: RangeResult): void => {
    done.set(result.from, result)
    hasFailed ||= result.failures.length > 0
    for (let first = done.get(reported); first !== undefined; first = done.get(reported)) {
      done.delete(reported)
      reported = first.to + 1
      campaign.onRange(first)
    }
  }
  const work = async (): Promise<void> => {
    const worker = new Worker(new URL('seed-worker.ts', import.meta.url), {
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB },
    })
    try {
      while (!isOver()) {
        const from = next
        next = Math.min(from + CHUNK, end)
        take(await ask(worker, { from, to: next - 1, size }))
      }
    } finally {
      await worker.terminate()
    }
  }
  await Promise.all(Array.from({ length: campaign.workers }, work))
}

async function ask(worker: Worker, range: SeedRange): Promise<RangeResult> {
  worker.postMessage(range)
  const [result] = (await once(worker, 'message')) as [RangeResult]
  return result
}
