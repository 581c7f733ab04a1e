/** How often a request reads its run from the store: each read is a round trip on a remote store. */
import { expect, test } from 'vitest'
import type { Store } from '../../../src/core/ports/store.ts'
import { checksumOf } from '../../../src/sse/checksum.ts'
import { createMemoryStore } from '../../../src/stores/memory.ts'
import { overriding } from '../../../src/testing/broken-stores.ts'
import { answerRun, startRun, untilStatus } from '../../support/http.ts'
import { type NativeServer, serveNative } from './serve.ts'

interface Counting {
  readonly server: NativeServer
  readonly gets: () => number
}

async function serveCounting(limits = {}): Promise<Counting> {
  const inner = createMemoryStore()
  let gets = 0
  const store: Store = overriding(inner, {
    get: (id) => {
      gets++
      return inner.get(id)
    },
  })
  return { server: await serveNative({ store, limits }), gets: () => gets }
}

async function startUntil(server: NativeServer, component: string, status: string): Promise<string> {
  const { id } = await startRun(server, 'x', { component })
  await untilStatus(server, id, [status])
  return id
}

async function readStream({ url }: NativeServer, id: string, headers: Record<string, string>): Promise<string> {
  return (await fetch(`${url}/runs/${id}/events`, { headers })).text()
}

test.each(['text/event-stream', 'application/x-ndjson'])(
  'native: opening a stream of %s reads the run once',
  async (accept) => {
    const { server, gets } = await serveCounting()
    const id = await startUntil(server, 'echo', 'completed')
    const before = gets()
    expect(await readStream(server, id, { accept })).toContain('run.completed')
    expect(gets() - before).toBe(1)
  },
)

test('native: resuming a stream from a checked cursor reads the run once', async () => {
  const { server, gets } = await serveCounting()
  const id = await startUntil(server, 'echo', 'completed')
  const accept = 'text/event-stream'
  const [first = ''] = /id: 0\n.*?\n\n/s.exec(await readStream(server, id, { accept })) ?? []
  const cursor = `0~${checksumOf(new TextEncoder().encode(first))}`
  const before = gets()
  expect(await readStream(server, id, { accept, 'last-event-id': cursor })).toContain('run.completed')
  expect(gets() - before).toBe(1)
})

test('native: a streamed start does not read back the run that it created', async () => {
  const { server, gets } = await serveCounting({ maxConcurrentRuns: 0 })
  const leaving = new AbortController()
  const response = await fetch(`${server.url}/runs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
    body: JSON.stringify({ component: 'echo', input: 1 }),
    signal: leaving.signal,
  })
  expect(response.status).toBe(200)
  expect(gets()).toBe(0)
  leaving.abort()
})

test('native: an answer reads the run once before and once after it is claimed', async () => {
  const { server, gets } = await serveCounting()
  const id = await startUntil(server, 'approver', 'paused')
  const before = gets()
  await answerRun(server, id, { approved: true })
  const looksForStop = 2 // by the worker: before it goes on with the run, and once it has
  expect(gets() - before).toBe(2 + looksForStop)
})
