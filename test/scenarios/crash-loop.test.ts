/** One run that kills its process in every attempt, beside healthy runs. */
import { expect, test } from 'vitest'
import { createClient } from '../../src/client/index.ts'
import { type ServerProcess, startServer } from '../support/process.ts'
import { temporaryDatabase } from '../support/temporary.ts'
import { until } from '../support/until.ts'

const HONEST = 20
/** Longer than the other one takes to kill the process: no honest run finishes a step beside it. */
const STEPS = 'text 3; step fetch 900; text 3; step write 900; text 3'
const KILLER = 'text 3; sleep 300; die'

test('[RUN-6] a run that keeps killing its process fails, and the runs beside it complete', async () => {
  const store = temporaryDatabase()
  let server = await startServer({ store })
  const start = async (input: string): Promise<string> =>
    (await createClient({ url: server.url }).runs.start({ component: 'lab-resume', input })).id
  const honest = await Promise.all(Array.from({ length: HONEST }, () => start(STEPS)))
  const killer = await start(KILLER)

  let crashes = 0
  while (!(await isOver(server, [...honest, killer]))) {
    await server.exited
    crashes++
    expect(crashes, 'crashes until the killer is convicted').toBeLessThanOrEqual(8)
    server = await startServer({ store })
  }

  const client = createClient({ url: server.url })
  const statuses = await Promise.all(honest.map(async (id) => (await client.runs.get(id)).status))
  expect(statuses).toEqual(honest.map(() => 'completed'))
  expect((await client.runs.get(killer)).error?.code).toBe('interrupted')
  // 21 suspects, then 10, 5, 2 and 1 at once.
  expect(crashes).toBeGreaterThanOrEqual(3)
}, 240_000)

/** True when all runs have ended, false when the server did. */
async function isOver(server: ServerProcess, runs: readonly string[]): Promise<boolean> {
  const client = createClient({ url: server.url, retries: 0 })
  let hasExited = false
  void server.exited.then(() => (hasExited = true))
  return until(
    'all runs end, or the server does',
    async () => {
      if (hasExited) return { over: false }
      const found = await Promise.all(runs.map((id) => client.runs.get(id))).catch(() => undefined)
      return found?.every(({ status }) => status === 'completed' || status === 'failed') && { over: true }
    },
    { withinMs: 120_000, everyMs: 100 },
  ).then(({ over }) => over)
}
