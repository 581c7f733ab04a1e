/** `--auth passthrough`: storage of unverified credentials is bounded per address, and removed soon. */
import { expect, test } from 'vitest'
import { upstream } from '../../src/agents/upstream/upstream.ts'
import { UnverifiedCallers } from '../../src/core/access/unverified-callers.ts'
import { UnverifiedStorage } from '../../src/core/access/unverified-storage.ts'
import { NETWORK_BYTES_MAX } from '../../src/core/access/unverified-sums.ts'
import { SESSIONS } from '../../src/core/model/document.ts'
import { defaultLimits } from '../../src/core/model/limits.ts'
import { silentLogger } from '../../src/core/ports/logger.ts'
import type { Store } from '../../src/core/ports/store.ts'
import type { Server } from '../../src/server/create-server.ts'
import { CHANGES_MAX, CLOSED_MS, KEEP_MS, UnverifiedOwners } from '../../src/server/retention/unverified-owners.ts'
import { createMemoryStore } from '../../src/stores/memory.ts'
import { overriding } from '../../src/testing/broken-stores/overriding.ts'
import { newRun } from '../../src/testing/fixtures.ts'
import { openSqliteStore } from '../../src/stores/sqlite/index.ts'
import { createFakeClock, type FakeClock } from '../../src/testing/fake-clock.ts'
import { serveInProcess } from '../support/in-process.ts'
import { stillClock } from '../support/still-clock.ts'
import { temporaryDatabase } from '../support/temporary.ts'
import { until } from '../support/until.ts'
import { startJudge } from './judge-server.ts'

async function serve(store: Store, more: Partial<Parameters<typeof serveInProcess>[0]> = {}): Promise<Server> {
  return serveInProcess({
    store,
    components: [upstream.openai(await startJudge(), { models: ['m'], forwardCredential: true })],
    auth: { passthrough: true },
    clock: stillClock,
    ...more,
  })
}

async function ask(server: Server, key: string, path: string, body?: unknown): Promise<Response> {
  return fetch(server.url + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
}

async function statusOf(answer: Promise<Response>): Promise<number> {
  const response = await answer
  await response.text()
  return response.status
}

/** Waits for the whole response. */
const chat = (server: Server, key: string, model = 'm'): Promise<number> =>
  statusOf(ask(server, key, '/v1/chat/completions', { model, messages: [{ role: 'user', content: 'go' }] }))

const conversation = (server: Server, key: string): Promise<number> =>
  statusOf(ask(server, key, '/v1/conversations', { metadata: { a: 'x' } }))

const session = (server: Server, key: string, id: string, chars = 10): Promise<number> =>
  statusOf(
    ask(server, key, '/sessions?type=agent', {
      session_id: id,
      agent_id: 'm',
      session_state: { text: 'x'.repeat(chars) },
    }),
  )

/** Another node of the store, with a manual clock. */
function sweeper(store: Store): { readonly clock: FakeClock; readonly owners: UnverifiedOwners } {
  const clock = createFakeClock()
  const callers = new UnverifiedCallers(defaultLimits, clock, new UnverifiedStorage(store, clock))
  // Its own timer never fires.
  const timers = { ...clock, startTimer: () => () => {} }
  return { clock, owners: new UnverifiedOwners({ store, callers, clock: timers, logger: silentLogger }) }
}

async function sweepUntilRemoved({ clock, owners }: ReturnType<typeof sweeper>): Promise<void> {
  await owners.sweep()
  clock.advance(KEEP_MS)
  await owners.sweep()
  await owners.sweep()
  clock.advance(CLOSED_MS)
  await owners.sweep()
}

const everything = async (store: Store): Promise<{ runs: number; documents: readonly string[] }> => ({
  runs: (await store.list({ limit: 100 })).runs.length,
  documents: (await store.transfer.documents(100))
    .map(({ collection }) => collection)
    .filter((name) => name !== 'secret' && name !== 'time'),
})

test('[SEC-2] gateway, --auth passthrough: what invented credentials store is bounded per address, in all protocols', async () => {
  const store = createMemoryStore()
  const server = await serve(store)
  expect(await chat(server, 'good')).toBe(200)
  const statuses = new Set<number>()
  let refused = 0
  for (let count = 0; count < 120 && refused === 0; count++) {
    const status = await session(server, `invented-${count}`, `s${count}`, 200_000)
    statuses.add(status)
    if (status === 429) refused = count
  }
  expect([...statuses]).toEqual([201, 429])
  expect(refused * 200_000).toBeLessThanOrEqual(NETWORK_BYTES_MAX)
  expect((await store.documents.list({ collection: SESSIONS, limit: 1 })).total).toBe(refused + 1)
  for (let count = 0; (await conversation(server, `small-${count}`)) === 200; count++) expect(count).toBeLessThan(5)
  expect([await conversation(server, 'invented'), await chat(server, 'invented')]).toEqual([429, 429])
  const refusal = await ask(server, 'invented', '/v1/conversations', {})
  expect(refusal.headers.get('retry-after')).toBe('60')
  expect(await refusal.json()).toMatchObject({
    error: { message: expect.stringContaining('credentials that no upstream has accepted') },
  })
  // Neither the accepted caller nor a later server is affected, and a later server remembers the bytes.
  expect([await conversation(server, 'good'), await session(server, 'good', 'mine', 200_000)]).toEqual([200, 201])
  const later = await serve(store)
  expect(await conversation(later, 'invented')).toBe(429)
  expect(await conversation(later, 'good')).toBe(200)
})

test.each([
  ['memory', createMemoryStore],
  ['SQLite', () => openSqliteStore({ path: temporaryDatabase() })],
])(
  '[SEC-2] gateway, --auth passthrough, %s: what a credential stored that no upstream accepted is removed, all else stays',
  async (_name, open) => {
    const store = await open()
    const server = await serve(store)
    expect(await session(server, 'good', 'before-the-first-run')).toBe(201)
    expect(await chat(server, 'good')).toBe(200)
    const kept = await everything(store)
    expect([await session(server, 'invented-1', 's'), await conversation(server, 'invented-2')]).toEqual([201, 200])
    expect(await chat(server, 'invented-3')).not.toBe(200)
    await until('the refused run has ended', async () =>
      (await store.list({ limit: 10 })).runs.every(({ run }) => ['completed', 'failed'].includes(run.status)),
    )
    expect((await everything(store)).runs).toBe(kept.runs + 1)
    const node = sweeper(store)
    await node.owners.sweep()
    node.clock.advance(KEEP_MS - 1)
    await node.owners.sweep()
    expect((await everything(store)).runs).toBe(kept.runs + 1)
    await sweepUntilRemoved(node)
    await until('credentials of ended runs are deleted', async () => {
      const { documents } = await everything(store)
      return !documents.includes('caller-credential')
    })
    expect(await everything(store)).toEqual({
      runs: kept.runs,
      documents: kept.documents.filter((name) => name !== 'caller-credential'),
    })
    expect(await statusOf(ask(server, 'good', '/sessions/before-the-first-run?type=agent'))).toBe(200)
  },
)

test('[SEC-2] gateway, --auth passthrough: a caller that was accepted before a restart stores as before', async () => {
  const store = createMemoryStore()
  expect(await chat(await serve(store), 'good')).toBe(200)
  const later = await serve(store)
  expect(await session(later, 'good', 'after-the-restart')).toBe(201)
  await sweepUntilRemoved(sweeper(store))
  expect(await statusOf(ask(later, 'good', '/sessions/after-the-restart?type=agent'))).toBe(200)
})

test('[SEC-2] gateway, --auth passthrough: a caller without an accepted credential is refused between the deadline and the removal', async () => {
  const store = createMemoryStore()
  const server = await serve(store)
  expect(await session(server, 'invented', 'a')).toBe(201)
  const { clock, owners } = sweeper(store)
  await owners.sweep()
  clock.advance(KEEP_MS)
  await owners.sweep()
  expect(await session(server, 'invented', 'b')).toBe(429)
  await owners.sweep()
  clock.advance(CLOSED_MS)
  await owners.sweep()
  expect(await session(server, 'invented', 'c')).toBe(201)
})

test('[SEC-2] gateway, --auth passthrough: a completed run shows that the credential was accepted, even if that was not recorded', async () => {
  const store = createMemoryStore()
  const server = await serve(store)
  expect(await chat(server, 'good')).toBe(200)
  const { owner } = (await store.list({ limit: 1 })).runs[0]!.run
  const body = { bytes: 1, since: 0, collections: [SESSIONS], isClosed: true }
  await store.documents.put({ owner: '%holdfast', collection: 'unverified-caller', id: owner, label: 'x', body })
  await sweepUntilRemoved(sweeper(store))
  expect(await everything(store)).toMatchObject({
    runs: 1,
    documents: expect.not.arrayContaining(['unverified-caller']),
  })
})

test('[SEC-2] gateway, --auth passthrough: an invented credential starts nothing that uses the key of an upstream or this server', async () => {
  const judge = await startJudge()
  const server = await serve(createMemoryStore(), {
    components: [
      upstream.openai(judge, { models: ['m'], forwardCredential: true }),
      upstream.openai(judge, {
        name: 'paid',
        models: ['paid'],
        headers: { authorization: 'Bearer good-key-of-the-server' },
      }),
      { id: 'local', kind: 'agent', async *run() {} },
    ],
  })
  await until('both upstreams are discovered', () => server.service.components().length === 3)
  expect([await chat(server, 'invented', 'paid'), await chat(server, 'invented', 'local')]).toEqual([403, 403])
  expect(await chat(server, 'good')).toBe(200)
  expect([await chat(server, 'good', 'paid'), await chat(server, 'good', 'local')]).toEqual([200, 200])
})

test('[SEC-2] gateway, --auth passthrough: a long credential that is stored with a run counts', async () => {
  const store = createMemoryStore()
  const server = await serve(store)
  expect(await chat(server, `invented-${'x'.repeat(10_000)}`)).not.toBe(200)
  const { documents } = await store.documents.list({ collection: 'unverified-caller', limit: 1 })
  expect((documents[0]!.body as { bytes: number }).bytes).toBeGreaterThan(64 * 1024 + 10_000)
})

test('gateway, --auth passthrough: a server where no upstream verifies credentials does not start', async () => {
  await expect(
    serve(createMemoryStore(), { components: [upstream.openai('http://127.0.0.1:1/v1', { models: ['m'] })] }),
  ).rejects.toThrow('an upstream must verify the credentials of callers')
})

const times = (count: number): number[] => Array.from({ length: count }, (_, at) => at)

test('[SEC-2] gateway, --auth passthrough: restarts do not extend the time until the removal', async () => {
  const store = createMemoryStore()
  const server = await serve(store)
  expect(await session(server, 'invented', 'a')).toBe(201)
  for (let restart = 0; restart < 4; restart++) {
    const { clock, owners } = sweeper(store)
    await owners.sweep()
    clock.advance(KEEP_MS / 4)
    clock.step(-KEEP_MS)
    await owners.sweep()
  }
  expect(await session(server, 'invented', 'b')).toBe(429)
})

test('[SEC-2] gateway, --auth passthrough: several nodes do not shorten the time until the removal', async () => {
  const store = createMemoryStore()
  const server = await serve(store)
  expect(await session(server, 'invented', 'a')).toBe(201)
  const nodes = times(3).map(() => sweeper(store))
  for (let round = 0; round < 10; round++) {
    for (const { clock, owners } of nodes) {
      clock.advance(KEEP_MS / 11)
      await owners.sweep()
    }
  }
  expect(await session(server, 'invented', 'b')).toBe(201)
  for (let round = 0; round < 2; round++) {
    for (const { clock, owners } of nodes) {
      clock.advance(KEEP_MS / 11)
      await owners.sweep()
    }
  }
  expect(await session(server, 'invented', 'c')).toBe(429)
})

test('[SEC-2] gateway, --auth passthrough: a node that is late removes nothing of a caller that has come back', async () => {
  const store = createMemoryStore()
  const server = await serve(store)
  expect(await session(server, 'invented', 'a')).toBe(201)
  const { promise, resolve } = Promise.withResolvers<void>()
  let isLate = false
  const slow = overriding(store, {
    list: async (query) => {
      if (isLate) await promise
      return store.list(query)
    },
  })
  const [first, late] = [sweeper(store), sweeper(slow)]
  const each = (act: (node: typeof first) => unknown): Promise<unknown> => Promise.all([first, late].map(act))
  await each(({ owners }) => owners.sweep())
  await each(({ clock }) => clock.advance(KEEP_MS))
  await first.owners.sweep()
  await each(({ owners }) => owners.sweep())
  await each(({ clock }) => clock.advance(CLOSED_MS))
  isLate = true
  const sweep = late.owners.sweep()
  await first.owners.sweep()
  expect(await session(server, 'invented', 'b')).toBe(201)
  resolve()
  await sweep
  // Without its mark, what it has would count as accepted.
  expect(await everything(store)).toEqual({
    runs: 0,
    documents: expect.arrayContaining(['unverified-caller', 'session']),
  })
})

test('[SEC-2] gateway, --auth passthrough: callers whose runs do not end delay the removal of no other caller', async () => {
  const store = createMemoryStore()
  const { clock, owners } = sweeper(store)
  const mark = async (owner: string): Promise<unknown> => {
    const body = { bytes: 1, since: 0, collections: [SESSIONS], isClosed: false }
    return store.documents.put({ owner: '%holdfast', collection: 'unverified-caller', id: owner, label: 'x', body })
  }
  for (const count of times(CHANGES_MAX)) {
    const owner = `busy-${String(count).padStart(6, '0')}`
    await store.create(newRun(`run_${owner}`, clock.iso(), { owner }))
    await mark(owner)
  }
  await mark('idle')
  await owners.sweep()
  clock.advance(KEEP_MS)
  await owners.sweep()
  expect((await store.documents.get('%holdfast', 'unverified-caller', 'idle'))?.body).toMatchObject({ isClosed: true })
})
