/** A store with a compaction backlog, as clients see it. */
import { expect, test } from 'vitest'
import type { RunShape } from '../../../src/protocols/native/wire/shapes.ts'
import { openSqliteStore } from '../../../src/stores/sqlite/index.ts'
import { type Answer, call, postRun } from '../../support/http.ts'
import { serveInProcess } from '../../support/in-process.ts'
import { aborted, subject } from '../../support/node.ts'
import { temporaryDatabase } from '../../support/temporary.ts'
import { until } from '../../support/until.ts'

/** Writes too little for a segment, so that it waits in memory until the store is idle. */
const writer = subject(async function* (_, { signal }) {
  for (let piece = 0; piece < 30; piece++) yield 'z'.repeat(500)
  await aborted(signal)
})

test('[STO-1] a start beyond the backlog limit gets 503 with Retry-After, and succeeds once the store has caught up', async () => {
  const store = await openSqliteStore({ path: temporaryDatabase(), maxBacklogBytes: 10_000 })
  const server = await serveInProcess({ store, components: [writer] })
  const start = (): Promise<Answer<RunShape>> => postRun(server, '', { component: 'subject' })
  const { id } = (await start()).body
  // The store may catch up at any time: each start that it accepts adds to the backlog.
  const refused = await until('a start is refused', async () => {
    const answer = await start()
    return answer.status === 503 && answer
  })
  expect(refused.body).toMatchObject({ code: 'unavailable' })
  expect(refused.headers.get('retry-after')).toBe('1')
  // What is there is served all the same.
  expect(await call(server, 'GET', `/runs/${id}`)).toMatchObject({ status: 200 })
  await until('a start is accepted', async () => (await start()).status < 300)
})
