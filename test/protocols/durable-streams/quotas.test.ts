/** Quotas of a principal for streams that it writes, errors in the form of the protocol, and `forget`. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Limits } from '../../../src/core/model/limits.ts'
import type { Store } from '../../../src/core/ports/store.ts'
import { PENDING_BYTES_MAX } from '../../../src/core/scheduling/client-logs.ts'
import { createKey } from '../../../src/server/auth/api-keys.ts'
import { createMemoryStore } from '../../../src/stores/memory.ts'
import { overriding } from '../../../src/testing/broken-stores.ts'
import { EventStream } from '../../support/event-stream.ts'
import { serveInProcess } from '../../support/in-process.ts'
import { stillClock } from '../../support/still-clock.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { until } from '../../support/until.ts'

const TEXT = { 'content-type': 'text/plain' }

interface Refused {
  readonly status: number
  readonly retryAfter: string | null
  readonly code?: string
}

async function serve(limits: Partial<Limits>, store: Store = createMemoryStore()) {
  const keys = join(temporaryFolder(), 'keys.json')
  const { key: anna } = await createKey(keys, { name: 'anna' })
  const { key: bert } = await createKey(keys, { name: 'bert', scopes: ['admin'] })
  const { url } = await serveInProcess({ store, limits, clock: stillClock, auth: { keys } })
  const ask = async (key: string, method: string, path: string, body?: string, headers: object = TEXT) => {
    const init = { method, headers: { authorization: `Bearer ${key}`, ...headers }, ...(body && { body }) }
    const response = await fetch(url + path, init)
    const text = await response.text()
    const { error } = (text.startsWith('{') ? JSON.parse(text.split('\n')[0]!) : {}) as { error?: { code?: string } }
    const refused: Refused = {
      status: response.status,
      retryAfter: response.headers.get('retry-after'),
      ...(error?.code !== undefined && { code: error.code }),
    }
    return refused
  }
  return { url, anna, bert, ask, store }
}

const later = expect.stringMatching(/^[1-9]\d*$/) as string

test('[SEC-2] Durable Streams: a stream counts as a start of its principal', async () => {
  const { anna, bert, ask } = await serve({ maxStartsPerSecond: 0.01, maxStartBurst: 1 })
  expect((await ask(anna, 'PUT', '/v1/stream/a')).status).toBe(201)
  expect(await ask(anna, 'PUT', '/v1/stream/b')).toMatchObject({ status: 429, retryAfter: later })
  expect((await ask(bert, 'PUT', '/v1/stream/b')).status).toBe(201)
})

test('[SEC-2] Durable Streams: appends count as stored bytes of their principal', async () => {
  const { anna, bert, ask } = await serve({ maxStoredBytesPerPrincipal: 20_000 })
  for (const key of [anna, bert]) expect((await ask(key, 'PUT', '/v1/stream/a')).status).toBe(201)
  const statuses: number[] = []
  for (let count = 0; count < 8; count++)
    statuses.push((await ask(anna, 'POST', '/v1/stream/a', 'x'.repeat(4000))).status)
  expect(statuses[0]).toBe(204)
  expect(statuses.at(-1)).toBe(507)
  expect((await ask(anna, 'PUT', '/v1/stream/b', 'x'.repeat(4000))).status).toBe(507)
  expect((await ask(bert, 'POST', '/v1/stream/a', 'x'.repeat(4000))).status).toBe(204)
  expect((await ask(anna, 'GET', '/v1/stream/a')).status).toBe(200)
})

test('[SEC-2] Durable Streams: live reads count as streams of their principal', async () => {
  const { url, anna, bert, ask } = await serve({ maxStreamsPerPrincipal: 1 })
  for (const key of [anna, bert]) expect((await ask(key, 'PUT', '/v1/stream/a', 'text')).status).toBe(201)
  const headers = { authorization: `Bearer ${anna}` }
  const open = new EventStream(`${url}/v1/stream/a?offset=-1&live=sse`, { headers })
  expect(await open.status()).toBe(200)
  const refused = { status: 429, retryAfter: later }
  expect(await ask(anna, 'GET', '/v1/stream/a?offset=-1&live=sse')).toMatchObject(refused)
  expect(await ask(anna, 'GET', '/v1/stream/a?offset=now&live=long-poll')).toMatchObject(refused)
  open.cut()
})

test('[SEC-2] Durable Streams: appends that wait hold a bounded number of bytes', async () => {
  const gate = Promise.withResolvers<void>()
  const inner = createMemoryStore()
  let claims = 0
  const store = overriding(inner, {
    async claim(...args: Parameters<Store['claim']>) {
      claims++
      await gate.promise
      return inner.claim(...args)
    },
  })
  const { anna, bert, ask } = await serve({ maxRequestsPerSecond: 0, maxBodyBytes: 4 * 1024 * 1024 }, store)
  for (const key of [anna, bert]) expect((await ask(key, 'PUT', '/v1/stream/a')).status).toBe(201)
  const settled: number[] = []
  const append = async (key: string): Promise<number> => {
    const { status } = await ask(key, 'POST', '/v1/stream/a', 'x'.repeat(1_500_000))
    settled.push(status)
    return status
  }
  const fitting = Math.floor(PENDING_BYTES_MAX / 1_500_100)
  const appends = Array.from({ length: 40 }, () => append(anna))
  await until('those that do not fit are refused', () => settled.length >= 40 - fitting)
  expect(new Set(settled)).toEqual(new Set([429]))
  const other = append(bert)
  await until('the other principal waits for its claim only', () => claims >= 2)
  gate.resolve()
  expect(await other).toBe(204)
  const accepted = (await Promise.all(appends)).filter((status) => status === 204)
  expect(accepted).toHaveLength(fitting)
})

test('[SEC-2] Durable Streams: forgetting a principal removes its streams, open ones too, with their documents', async () => {
  const { anna, bert, ask, store } = await serve({})
  expect((await ask(anna, 'PUT', '/v1/stream/open', 'text', { ...TEXT, 'stream-ttl': '3600' })).status).toBe(201)
  expect((await ask(anna, 'PUT', '/v1/stream/closed', 'text', { ...TEXT, 'stream-closed': 'true' })).status).toBe(201)
  expect((await ask(bert, 'PUT', '/v1/stream/open', 'text')).status).toBe(201)
  const forget = (stop: boolean) =>
    ask(bert, 'POST', '/admin/forget', JSON.stringify({ principal: 'key:anna', stop }), {
      'content-type': 'application/json',
    })
  expect((await forget(false)).status).toBe(409)
  expect((await forget(true)).status).toBe(200)
  expect(await store.usage.of('key:anna')).toMatchObject({ runs: 0, documents: 0, logBytes: 0 })
  expect((await store.usage.of('key:bert')).runs).toBe(1)
})
