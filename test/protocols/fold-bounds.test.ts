/** Reads that fold long logs are bounded per node and per principal, and refused in each protocol's own form. */
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Limits } from '../../src/core/model/limits.ts'
import { keyPrincipalId, ownerKey } from '../../src/core/model/principal.ts'
import type { Store } from '../../src/core/ports/store.ts'
import { createMemoryStore } from '../../src/stores/memory.ts'
import { overriding } from '../../src/testing/broken-stores.ts'
import { createKeys } from '../support/keys.ts'
import { addLongSession } from '../support/long-session.ts'
import { temporaryFolder } from '../support/temporary.ts'
import { until } from '../support/until.ts'
import { A2A_HEADERS, json, rpc } from './every-protocol.ts'
import { serveNative } from './native/serve.ts'

/** Several pages of the bytes that a read may return. */
const EVENTS = 400
const SMALL_PAGES: Partial<Limits> = { maxReadBytes: 2048 }

const ownerOf = (name: string): string => ownerKey({ id: keyPrincipalId(name) })

interface Served {
  readonly url: string
  readonly keys: Readonly<Record<string, string>>
  /** Reads of these runs that are stuck after their first page. */
  readonly stuck: () => number
}

/** Each caller has four long runs; reading on in those of `slow` ones takes until the test ends. */
async function serve(limits: Partial<Limits>, slow: readonly string[]): Promise<Served> {
  const path = join(temporaryFolder(), 'keys.json')
  const names = ['anna', 'bert', 'carl']
  const tokens = await createKeys(path, names)
  const inner = createMemoryStore()
  const isSlow = new Set<string>()
  for (const name of names) {
    const about = { component: 'lab', runs: 4, eventsPerRun: EVENTS, owner: ownerOf(name) }
    const ids = await addLongSession(inner, { ...about, session: name })
    if (slow.includes(name)) for (const id of ids) isSlow.add(id)
  }
  const testEnds = Promise.withResolvers<void>()
  onTestFinished(() => testEnds.resolve())
  let stuck = 0
  const read: Store['read'] = async (run, after, maxBytes) => {
    if (isSlow.has(run) && after > 0) {
      stuck++
      await testEnds.promise
    }
    return inner.read(run, after, maxBytes)
  }
  const server = await serveNative({
    store: overriding(inner, { read }),
    auth: { keys: path },
    limits: { ...SMALL_PAGES, ...limits },
  })
  const keys = Object.fromEntries(names.map((name, index) => [name, tokens[index]!]))
  return { url: server.url, keys, stuck: () => stuck }
}

interface Answer {
  readonly status: number
  readonly retryAfter: number
  readonly body: string
}

async function ask({ url, keys }: Served, name: string, path: string, init: RequestInit = {}): Promise<Answer> {
  const cut = new AbortController()
  onTestFinished(() => cut.abort())
  const headers = { authorization: `Bearer ${keys[name]!}`, ...(init.headers as Record<string, string>) }
  const response = await fetch(url + path, { ...init, headers, signal: cut.signal })
  return {
    status: response.status,
    retryAfter: Number(response.headers.get('retry-after') ?? Number.NaN),
    body: await response.text(),
  }
}

/** Each reads a whole log. */
const reads: Readonly<Record<string, (id: string, session: string) => readonly [string, RequestInit?]>> = {
  'a native snapshot': (id) => [`/runs/${id}/events?snapshot=1&format=json`],
  'a position in another protocol': (id) => [`/runs/${id}/links?protocol=agentos&position=3`],
  'an AgentOS run': (id, session) => [`/agents/lab/runs/${id}?session_id=${session}`],
  'an AgentOS session': (_id, session) => [`/sessions/${session}/runs`],
  'a resumed AgentOS stream': (id, session) => [
    `/agents/lab/runs/${id}/resume`,
    { method: 'POST', body: new URLSearchParams({ session_id: session, last_event_index: '3' }) },
  ],
  'an OpenAI response': (id) => [`/v1/responses/${id.replace('run_', 'resp_')}`],
  'a resumed OpenAI stream': (id) => [`/v1/responses/${id.replace('run_', 'resp_')}?stream=true&starting_after=3`],
  'an A2A task': (id) => [`/a2a/lab/tasks/${id}`, { headers: A2A_HEADERS }],
  'messages of an AI SDK chat': (_id, session) => [`/ai/lab/chat/${session}/messages`],
  'frames in the console': (id) => [`/console/api/runs/${id}/frames?as=agentos`],
  'a resumed AG-UI stream': (id) => [`/ag-ui/lab/runs/${id}/events`, { headers: { 'last-event-id': '3' } }],
}

describe.each(Object.entries(reads))('[SEC-2] folding %s', (_name, readOf) => {
  test('beyond the share of a principal gets 429 with Retry-After, and another principal is served', async () => {
    const served = await serve({ maxConcurrentFolds: 2, maxQueuedFolds: 0 }, ['anna'])
    ask(served, 'anna', '/runs/run_anna0000/events?snapshot=1&format=json').catch(() => {})
    await until('one reads', () => served.stuck() === 1)
    const refused = await ask(served, 'anna', ...readOf('run_anna0001', 'anna'))
    expect(refused).toMatchObject({ status: 429 })
    expect(refused.retryAfter).toBeGreaterThan(0)
    expect(refused.body).not.toContain('once once')
    expect((await ask(served, 'bert', ...readOf('run_bert0001', 'bert'))).status).toBe(200)
    expect(served.stuck()).toBe(1)
  })

  test('that waits too long while others read gets 503 with Retry-After', async () => {
    const served = await serve({ maxConcurrentFolds: 2, foldQueueTimeoutMs: 50 }, ['anna', 'bert'])
    for (const name of ['anna', 'bert'])
      ask(served, name, `/runs/run_${name}0000/events?snapshot=1&format=json`).catch(() => {})
    await until('both read', () => served.stuck() === 2)
    const refused = await ask(served, 'carl', ...readOf('run_carl0001', 'carl'))
    expect(refused).toMatchObject({ status: 503 })
    expect(refused.retryAfter).toBeGreaterThan(0)
  })
})

test('[SEC-2] MCP: folding beyond the share of a principal is refused as an error of JSON-RPC', async () => {
  const served = await serve({ maxConcurrentFolds: 2, maxQueuedFolds: 0 }, ['anna'])
  ask(served, 'anna', '/runs/run_anna0000/events?snapshot=1&format=json').catch(() => {})
  await until('one reads', () => served.stuck() === 1)
  const get = (name: string): Promise<Answer> =>
    ask(served, name, '/mcp', {
      ...json(rpc('tasks/result', { taskId: `run_${name}0001` })),
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    })
  expect((await get('anna')).body).toContain('too many long runs')
  expect((await get('bert')).body).toContain('once once')
})

test('folds: a log of one page is read while all slots are taken', async () => {
  const served = await serve({ maxConcurrentFolds: 1, maxQueuedFolds: 0 }, ['anna'])
  ask(served, 'anna', '/runs/run_anna0000/events?snapshot=1&format=json').catch(() => {})
  await until('one reads', () => served.stuck() === 1)
  const started = await ask(served, 'bert', '/v1/responses', json({ model: 'lab', input: 'text 1' }))
  expect(started).toMatchObject({ status: 200, body: expect.stringContaining('completed') as string })
})
