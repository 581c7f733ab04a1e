/** Reads that fold many logs share the event loop with other requests, and their responses are bounded. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { agent } from '../../src/agents/agent.ts'
import { localOwner } from '../../src/core/model/principal.ts'
import { systemClock } from '../../src/core/ports/clock.ts'
import type { Store } from '../../src/core/ports/store.ts'
import { createServer, type Server } from '../../src/server/create-server.ts'
import { createMemoryStore } from '../../src/stores/memory.ts'
import { newRun, RunWriter } from '../../src/testing/fixtures.ts'
import { addLongSession } from '../support/long-session.ts'
import { longestTurnMs, threadCpuMs } from '../support/event-loop-stall.ts'

const RUNS = 60
const EVENTS = 1500
const QUESTIONS = 2500
/** Of the time that reading the whole session takes: the most that one tick of the event loop may take for any of these. */
const TURN_SHARE_MAX = 0.5

let server: Server
let ids: string[]
let wholeMs: number

beforeAll(async () => {
  const store = createMemoryStore()
  ids = await addLongSession(store, { session: 'long', component: 'chatter', runs: RUNS, eventsPerRun: EVENTS })
  await addLongSession(store, { session: 'one', component: 'chatter', runs: 1, eventsPerRun: RUNS * EVENTS })
  await addAskingRun(store)
  server = await createServer({ store, components: [agent({ id: 'chatter', async *run() {} })] })
  await ask('/sessions/long')
  const before = threadCpuMs()
  await ask('/sessions/long')
  wholeMs = threadCpuMs() - before
})

afterAll(() => server.close())

/** A run with many answered questions. */
async function addAskingRun(store: Store): Promise<void> {
  const claim = { worker: 'runWriter', ttlMs: 60_000 }
  const about = { session: 'asks', component: 'chatter', owner: localOwner, claim }
  const { stored } = await store.create(newRun('run_asks', new Date().toISOString(), about))
  const runWriter = new RunWriter(store, systemClock, stored, [])
  runWriter.start()
  for (let count = 0; count < QUESTIONS; count++) {
    for (let word = 0; word < 5; word++) runWriter.text('once ')
    runWriter.pause()
    runWriter.resume()
  }
  runWriter.complete()
  await runWriter.flush()
}

async function ask(path: string): Promise<number> {
  const response = await fetch(server.url + path, { headers: { 'A2A-Version': '1.0' } })
  await response.body?.pipeTo(new WritableStream())
  return response.status
}

describe('a request that reads long logs yields the event loop:', () => {
  test.each([
    ['/sessions/long', 200],
    ['/sessions/long/runs', 200],
    ['/sessions/long/run-previews', 200],
    ['/sessions/long/runs/RUN', 200],
    ['/sessions/long/runs/none', 404],
    ['/agents/chatter/runs?session_id=long', 200],
    ['/agents/chatter/runs/ONE?session_id=one', 200],
    ['/agents/chatter/runs/ONE/checkpoints?session_id=one', 200],
    ['/agents/chatter/runs/ONE/resume?session_id=one&last_event_index=89000', 200],
    ['/v1/conversations/long/items?limit=100', 200],
    ['/v1/conversations/long/items?limit=1&after=msg_RESPONSE_0', 200],
    ['/v1/conversations/long/items/msg_RESPONSE_0', 200],
    ['/v1/conversations/long/items/item_none', 404],
    ['/v1/conversations/long/items/msg_none_0', 404],
    ['/v1/responses/resp_one0000', 200],
    ['/v1/responses/resp_one0000?stream=true&starting_after=90000', 200],
    ['/a2a/chatter/tasks?includeArtifacts=true&pageSize=60', 200],
    ['/a2a/chatter/tasks/ONE', 200],
    ['/ai/chatter/chat/long/messages', 200],
    ['/ai/chatter/chat/one/messages', 200],
    ['/ai/chatter/chat/asks/messages', 200],
    ['/ai/chatter/chat/ONE/stream', 200],
    ['/ai/chatter/chat/ONE/stream?startIndex=89000', 200],
    ['/runs/ONE/events', 200],
    ['/runs/ONE/events?snapshot=1&format=json', 200],
    ['/runs/ONE/links', 200],
    ['/runs/ONE/links?protocol=agentos&position=89000', 200],
    ['/console/api/runs/ONE/frames?as=a2a', 200],
  ])('GET %s', async (path, status) => {
    const asked = path.replaceAll('RUN', ids[0]!).replaceAll('ONE', 'run_one0000').replaceAll('RESPONSE', 'long0000')
    let answered: number | undefined
    const turnMs = await longestTurnMs(async () => (answered = await ask(asked)))
    expect(answered).toBe(status)
    expect(turnMs).toBeLessThan(wholeMs * TURN_SHARE_MAX)
  })
})
