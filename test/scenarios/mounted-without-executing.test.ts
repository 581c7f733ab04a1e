/** An application that accepts runs without executing them, as on serverless platforms, and a worker that executes them. */
import { expect, onTestFinished, test } from 'vitest'
import { agent } from '../../src/agents/agent.ts'
import { holdfast } from '../../src/mount/holdfast.ts'
import { createWorker } from '../../src/server/create-worker.ts'
import { startPostgres } from '../support/postgres.ts'

const postgres = await startPostgres()

const echo = agent({
  id: 'echo',
  async *run(input) {
    yield `executed ${input}`
  },
})

/** The same id in the application, with other output. */
const unexecuted = agent({
  id: 'echo',
  async *run() {
    yield 'executed by the application'
  },
})

test('mount: execute: false leaves runs to a worker of the same store, and streams their events', async () => {
  const hf = holdfast({ components: [unexecuted], store: postgres.url, execute: false, protocols: ['native'] })
  onTestFinished(() => hf.close())
  const run = await hf.runs.start({ component: 'echo', input: 'elsewhere' })
  const text = (async () => {
    let whole = ''
    for await (const piece of run.text()) whole += piece
    return whole
  })()
  expect((await run.get()).status).toBe('queued')
  const worker = await createWorker({
    components: [echo],
    store: postgres.url,
  })
  onTestFinished(() => worker.close())
  expect(await text).toBe('executed elsewhere')
})
