/** Cost of views for a run with many questions: frames with the whole output are built when read, not by every fold. */
import { beforeAll, expect, test } from 'vitest'
import { userMessagesProjection } from '../../src/ai-sdk/view/history.ts'
import type { LoggedEvent } from '../../src/core/model/event.ts'
import { localOwner } from '../../src/core/model/principal.ts'
import { events } from '../../src/core/model/slice.ts'
import type { Run } from '../../src/core/model/run.ts'
import type { Projection } from '../../src/core/ports/projection.ts'
import { systemClock } from '../../src/core/ports/clock.ts'
import { createMemoryStore } from '../../src/stores/memory.ts'
import { newRun, RunWriter } from '../../src/testing/fixtures.ts'
import { threadCpuMs } from '../support/event-loop-stall.ts'
import { testedKinds } from './kinds.ts'

const QUESTIONS = 4000
const TIMES = 4
const NOISE_MS = 100

interface AskingRun {
  readonly run: Run
  readonly log: readonly LoggedEvent[]
}

/** A run that emits text, asks and is answered, repeatedly. */
async function askingRun(questions: number): Promise<AskingRun> {
  const store = createMemoryStore()
  const about = { session: 'asks', component: 'asker', owner: localOwner, claim: { worker: 'writer', ttlMs: 60_000 } }
  const { stored } = await store.create(newRun('run_asks', new Date().toISOString(), about))
  const writer = new RunWriter(store, systemClock, stored, [])
  writer.start()
  for (let count = 0; count < questions; count++) {
    for (let word = 0; word < 5; word++) writer.text('once ')
    writer.pause()
    writer.resume()
  }
  await writer.flush()
  const log: LoggedEvent[] = []
  for (let after = -1; ;) {
    const slice = await store.read(stored.run.id, after, 1_000_000)
    if (slice === undefined) return { run: stored.run, log }
    log.push(...events(slice))
    after = log.at(-1)!.index
  }
}

let few: AskingRun
let many: AskingRun
beforeAll(async () => {
  few = await askingRun(QUESTIONS)
  many = await askingRun(TIMES * QUESTIONS)
})

/** One view of each protocol. */
const folds: readonly (readonly [string, Projection<unknown, unknown>])[] = [
  ...testedKinds.map(({ name, projection }) => [name, projection] as const),
  ['messages of an AI SDK chat', userMessagesProjection('dynamic')],
]

test.each(folds)(
  '%s: the cost of a fold is linear in the number of answered questions',
  { timeout: 120_000 },
  (_name, projection) => {
    const cost = ({ run, log }: AskingRun): number => {
      const before = threadCpuMs()
      let state = projection.initial(run)
      for (const event of log) state = projection.apply(state, event).state
      return threadCpuMs() - before
    }
    const least = (asked: AskingRun): number => Math.min(...Array.from({ length: 3 }, () => cost(asked)))
    // Quadratic would be the square of it.
    expect(least(many)).toBeLessThan(2 * TIMES * least(few) + NOISE_MS)
  },
)
