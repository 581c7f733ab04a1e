/** Recovering a long run leaves the event loop free for others, such as a liveness probe. */
import { expect, onTestFinished, test } from 'vitest'
import { agent } from '../../src/agents/agent.ts'
import { systemClock } from '../../src/core/ports/clock.ts'
import type { Store } from '../../src/core/ports/store.ts'
import { createServer } from '../../src/server/create-server.ts'
import { createMemoryStore } from '../../src/stores/memory.ts'
import { newRun, RunWriter } from '../../src/testing/fixtures.ts'
import { turnsOf } from '../support/event-loop-stall.ts'
import { until } from '../support/until.ts'

const EVENTS = 60_000
/** A slice is 10 ms, a twentieth of all. Reading the log in one piece takes about a half. */
const SHARE_MAX = 1 / 5

test('[RUN-5] no tick of the event loop is long while a run of 60,000 events is recovered', async () => {
  const store = createMemoryStore() // its reads resolve at once, so that only slices give others a turn
  await writeInterrupted(store)
  let isReplayed = false
  const component = agent({
    id: 'long',
    recovery: 'resume',
    async *run() {
      for (let event = 0; event < EVENTS; event++) yield text(event)
      isReplayed = true
      yield 'and more'
    },
  })
  const { longestMs, totalMs } = await turnsOf(async () => {
    const server = await createServer({ components: [component], store, port: 0 })
    onTestFinished(() => server.close())
    await until('the run is complete', async () => (await store.get('run_1'))?.run.status === 'completed')
  })
  expect(isReplayed).toBe(true)
  expect((await store.get('run_1'))!.run.attempt).toBe(2)
  expect(longestMs / totalMs, 'share of the longest turn in the CPU time of the recovery').toBeLessThan(SHARE_MAX)
}, 180_000)

function text(event: number): string {
  return `word ${event} of a long story. `
}

/** A run as a killed process leaves it. */
async function writeInterrupted(store: Store): Promise<void> {
  const draft = newRun('run_1', new Date().toISOString(), {
    component: 'long',
    claim: { worker: 'a process that was killed', ttlMs: 1 },
  })
  const { stored } = await store.create(draft)
  const runWriter = new RunWriter(store, systemClock, stored, [draft.record])
  runWriter.start()
  for (let event = 0; event < EVENTS; event++) {
    runWriter.text(text(event))
    if (event % 1000 === 0) await runWriter.flush()
  }
  await runWriter.flush()
}
