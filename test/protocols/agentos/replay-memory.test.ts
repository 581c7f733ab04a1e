/** Memory of a replay with many pauses: each pause repeats the whole output, so frames are much larger than the log. */
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { expect, onTestFinished, test } from 'vitest'
import { WebSocket } from 'ws'
import { localOwner } from '../../../src/core/model/principal.ts'
import { systemClock } from '../../../src/core/ports/clock.ts'
import type { Store } from '../../../src/core/ports/store.ts'
import { EventParser } from '../../../src/sse/index.ts'
import { createMemoryStore } from '../../../src/stores/memory.ts'
import { newRun, RunWriter } from '../../../src/testing/fixtures.ts'
import { heldMegabytes } from '../../support/memory.ts'
import { serveNative } from '../native/serve.ts'

const QUESTIONS = 1600
const SAID = 'once upon a time '.repeat(18)
/** Of the last page, more or less: each pause in it has nearly half a megabyte. */
const MISSED_QUESTIONS = 250
const FRAMES_PER_QUESTION = 4
/** On the wire, the missed frames are several times as large. */
const HELD_MB_MAX = 24

async function addAskingRun(store: Store): Promise<string> {
  const about = { session: 'asks', component: 'lab', owner: localOwner, claim: { worker: 'writer', ttlMs: 600_000 } }
  const { stored } = await store.create(newRun('run_asks', new Date().toISOString(), about))
  const writer = new RunWriter(store, systemClock, stored, [])
  writer.start()
  for (let count = 0; count < QUESTIONS; count++) {
    writer.text(SAID)
    writer.pause()
    writer.resume()
  }
  writer.complete()
  await writer.flush()
  return stored.run.id
}

interface Replay {
  readonly indexes: readonly number[]
  readonly chars: number
}

/** Numbers of the events that a client gets, which reads nothing until `stalled` has been called. */
type Follow = (url: string, run: string, lastIndex: number, stalled: () => Promise<void>) => Promise<Replay>

const overHttp: Follow = async (url, run, lastIndex, stalled) => {
  const body = new URLSearchParams({ session_id: 'asks', last_event_index: String(lastIndex) }).toString()
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const requested = request(`${url}/agents/lab/runs/${run}/resume`, { method: 'POST', headers })
  onTestFinished(() => void requested.destroy())
  requested.end(body)
  const [response] = (await once(requested, 'response')) as [IncomingMessage]
  await once(response, 'readable')
  await stalled()
  const indexes = new Set<number>()
  let chars = 0
  const parser = new EventParser({
    event({ id, data }) {
      chars += data.length
      if (id !== undefined && id !== '') indexes.add(Number(id))
    },
  })
  for await (const chunk of response as AsyncIterable<Buffer>) parser.push(chunk.toString())
  return { indexes: [...indexes], chars }
}

const overSocket: Follow = async (url, run, lastIndex, stalled) => {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/agents/ws`)
  onTestFinished(() => socket.terminate())
  await once(socket, 'open')
  const indexes: number[] = []
  let chars = 0
  const { promise: ended, resolve: end } = Promise.withResolvers<void>()
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
  socket.on('message', (data: Buffer) => {
    const text = data.toString()
    const { event, event_index: index } = JSON.parse(text) as { event: string; event_index?: number }
    if (index === undefined) return
    if (indexes.length === 0) {
      socket.pause()
      begin()
    }
    chars += text.length
    indexes.push(index)
    if (event === 'RunCompleted') end()
  })
  socket.send(JSON.stringify({ action: 'reconnect', run_id: run, session_id: 'asks', last_event_index: lastIndex }))
  await begun
  await stalled()
  socket.resume()
  await ended
  return { indexes, chars }
}

test.each([
  ['HTTP', overHttp],
  ['a WebSocket', overSocket],
] as const)(
  '[SUB-1] AgentOS: a client of %s that does not read takes a bounded amount of memory, however much its run repeats',
  { timeout: 120_000 },
  async (_way, follow) => {
    const store = createMemoryStore()
    const run = await addAskingRun(store)
    const { url } = await serveNative({ store })
    const lastIndex = (QUESTIONS - MISSED_QUESTIONS) * FRAMES_PER_QUESTION
    const before = await heldMegabytes()
    let held = Number.NaN
    const { indexes, chars } = await follow(url, run, lastIndex, async () => {
      held = (await heldMegabytes()) - before
    })
    expect(held).toBeLessThan(HELD_MB_MAX)
    expect(chars / (1024 * 1024)).toBeGreaterThan(3 * HELD_MB_MAX)
    expect(indexes).toEqual(Array.from(indexes, (_, at) => lastIndex + 1 + at))
  },
)
