/** `--auth passthrough`: a credential that no upstream has accepted yet gets the limits of its address. */
import { expect, onTestFinished, test } from 'vitest'
import { upstream } from '../../src/agents/upstream/upstream.ts'
import { UnverifiedCallers } from '../../src/core/access/unverified-callers.ts'
import { UnverifiedStorage } from '../../src/core/access/unverified-storage.ts'
import { defaultLimits, type Limits } from '../../src/core/model/limits.ts'
import type { Clock } from '../../src/core/ports/clock.ts'
import type { Server } from '../../src/server/create-server.ts'
import { createFakeClock } from '../../src/testing/fake-clock.ts'
import { createMemoryStore } from '../../src/stores/memory.ts'
import { serveInProcess } from '../support/in-process.ts'
import { stillClock } from '../support/still-clock.ts'
import { until } from '../support/until.ts'
import { startJudge } from './judge-server.ts'

async function serve(limits: Partial<Limits>, clock: Clock = stillClock): Promise<Server> {
  const options = { models: ['m'], forwardCredential: true, passthrough: 'prefix' } as const
  return serveInProcess({
    store: createMemoryStore(),
    components: [upstream.openai(await startJudge(), options)],
    auth: { passthrough: true },
    clock,
    limits,
  })
}

async function ask(server: Server, key: string, path: string, body?: unknown): Promise<number> {
  const response = await fetch(server.url + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  await response.text()
  return response.status
}

/** Waits for the whole response. */
const chat = (server: Server, key: string): Promise<number> =>
  ask(server, key, '/v1/chat/completions', { model: 'm', messages: [{ role: 'user', content: 'go' }] })

const start = (server: Server, key: string): Promise<number> =>
  ask(server, key, '/runs', { component: 'm', input: 'go' })

test('[SEC-2] gateway, --auth passthrough: requests with unverified credentials count for their address, accepted ones do not', async () => {
  const server = await serve({ maxRequestsPerSecondPerAddress: 0.01, maxRequestBurstPerAddress: 4 })
  expect(await chat(server, 'good')).toBe(200)
  for (let count = 0; count < 10; count++) expect(await ask(server, 'good', '/runs')).toBe(200)
  const statuses: number[] = []
  for (let count = 0; count < 6; count++) statuses.push(await ask(server, `invented-${count}`, '/runs'))
  expect(statuses).toEqual([200, 200, 200, 429, 429, 429])
  expect(await ask(server, 'good', '/runs')).toBe(200)
})

test('[SEC-2] gateway, --auth passthrough: starts with unverified credentials share the rate of their address', async () => {
  const server = await serve({ maxStartsPerSecond: 0.01, maxStartBurst: 2 })
  expect(await chat(server, 'good-1')).toBe(200)
  expect(await start(server, 'invented-1')).toBe(202)
  expect(await start(server, 'invented-2')).toBe(429)
  // Its own rate.
  expect([await start(server, 'good-1'), await start(server, 'good-1')]).toEqual([202, 202])
})

test('[SEC-2] gateway, --auth passthrough: runs whose credential no upstream has accepted yet are limited per address', async () => {
  const server = await serve({ maxRunsPerPrincipal: 2 })
  expect(await chat(server, 'good')).toBe(200)
  expect([await start(server, 'slow-1'), await start(server, 'slow-2')]).toEqual([202, 202])
  expect(await start(server, 'slow-3')).toBe(429)
  expect(await start(server, 'good')).toBe(202)
})

test('[SEC-2] gateway, --auth passthrough: a run that waits for a verdict counts as long as this node executes it', async () => {
  let ahead = 0
  const clock = { now: () => Date.now(), elapsed: () => ahead }
  const server = await serve({ maxRunsPerPrincipal: 2 }, clock)
  expect([await start(server, 'slow-1'), await start(server, 'slow-2')]).toEqual([202, 202])
  ahead += 61_000
  expect(await start(server, 'slow-3')).toBe(429)
})

test('[SEC-2] gateway, --auth passthrough: streams with unverified credentials share the limit of their address', async () => {
  const server = await serve({ maxStreamsPerPrincipal: 1 })
  expect(await chat(server, 'good')).toBe(200)
  const events = (key: string) =>
    fetch(`${server.url}/native/sessions/none/events?format=sse`, { headers: { authorization: `Bearer ${key}` } })
  const first = await events('invented-1')
  onTestFinished(() => void first.body?.cancel())
  expect(first.status).toBe(200)
  expect((await events('invented-2')).status).toBe(429)
  const own = await events('good')
  onTestFinished(() => void own.body?.cancel())
  expect(own.status).toBe(200)
})

test('[SEC-2] gateway, --auth passthrough: an invented credential stores no streams, one that an upstream has accepted does', async () => {
  const server = await serve({})
  const put = async (key: string): Promise<number> => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'text/plain' }
    return (await fetch(`${server.url}/v1/stream/a`, { method: 'PUT', headers, body: 'text' })).status
  }
  expect([await put('invented-1'), await put('good')]).toEqual([403, 403])
  expect(await chat(server, 'good')).toBe(200)
  expect([await put('invented-2'), await put('good')]).toEqual([403, 201])
})

test.each<[string, (server: Server, key: string) => Promise<unknown>]>([
  ['a run', chat],
  ['a passed request', (server, key) => ask(server, key, '/upstream/openai/models')],
])(
  '[SEC-2] gateway, --auth passthrough: a credential that an upstream refuses for %s is a wrong guess of its address',
  async (_name, guess) => {
    const server = await serve({ maxAuthFailureBurst: 2 })
    expect(await chat(server, 'good')).toBe(200)
    for (const key of ['wrong-1', 'wrong-2']) await guess(server, key)
    await until('the guesses are counted', async () => (await ask(server, 'wrong-3', '/runs')) === 429)
    expect(await ask(server, 'good', '/runs')).toBe(200)
  },
)

test('[SEC-2] gateway, --auth passthrough: a passed request that succeeds verifies nothing, because it may be public', async () => {
  const server = await serve({ maxRequestsPerSecondPerAddress: 0.01, maxRequestBurstPerAddress: 2 })
  expect(await ask(server, 'invented', '/upstream/openai/public')).toBe(200)
  expect(await ask(server, 'invented', '/runs')).toBe(200)
  expect(await ask(server, 'invented', '/runs')).toBe(429)
})

test('[SEC-2] the accepted credentials of unverified callers are bounded, and runs whose credential was never checked stop counting', async () => {
  const clock = createFakeClock('2026-01-01T00:00:00.000Z')
  const callers = new UnverifiedCallers(
    { ...defaultLimits, maxRunsPerPrincipal: 1 },
    clock,
    new UnverifiedStorage(createMemoryStore(), clock),
  )
  for (let count = 0; count <= 10_000; count++) await callers.accept({ id: `r${count}`, owner: `o${count}` })
  expect([callers.isAccepted('o0'), callers.isAccepted('o1'), callers.isAccepted('o10000')]).toEqual([
    false,
    true,
    true,
  ])
  callers.refuse({ id: 'r1', owner: 'o1' })
  expect(callers.isAccepted('o1')).toBe(false)
  const nowhere = (): boolean => false
  callers.admit({ id: 'a', owner: 'x' }, 'here', nowhere)
  callers.admit({ id: 'b', owner: 'x' }, 'there', nowhere)
  const refusal = 'waiting for an upstream to verify their credentials'
  expect(() => callers.admit({ id: 'c', owner: 'y' }, 'here', nowhere)).toThrow(refusal)
  clock.advance(60_000)
  // It still has a worker slot of this node.
  expect(() => callers.admit({ id: 'c', owner: 'y' }, 'here', (id) => id === 'a')).toThrow(refusal)
  clock.advance(60_000)
  callers.admit({ id: 'c', owner: 'y' }, 'here', nowhere)
  callers.end({ id: 'c', owner: 'y' })
  callers.admit({ id: 'd', owner: 'y' }, 'here', nowhere)
})
