/** The server removes expired streams, also if nobody requests them. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { keyPrincipalId, ownerKey } from '../../../src/core/model/principal.ts'
import { createMemoryStore } from '../../../src/stores/memory.ts'
import { serveInProcess } from '../../support/in-process.ts'
import { createKeys } from '../../support/keys.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { until } from '../../support/until.ts'

const TEXT = { 'content-type': 'text/plain' }

/** A clock whose timers fire when the test says so. */
function sweepingClock() {
  const timers = new Set<() => void>()
  let ahead = 0
  return {
    now: () => Date.now() + ahead,
    elapsed: () => performance.now() + ahead,
    startTimer(act: () => void, milliseconds: number): () => void {
      if (milliseconds === 60_000) {
        timers.add(act)
        return () => timers.delete(act)
      }
      const timer = setTimeout(act, milliseconds)
      return () => clearTimeout(timer)
    },
    timers,
    pass(milliseconds: number): void {
      ahead += milliseconds
      const due = [...timers]
      timers.clear() // they start the next ones
      for (const act of due) act()
    },
  }
}

test('[SEC-2] Durable Streams: expired streams are removed without being asked for, others stay', async () => {
  const path = join(temporaryFolder(), 'keys.json')
  const keys = await createKeys(path, ['anna', 'bert'])
  const store = createMemoryStore()
  const clock = sweepingClock()
  const { url } = await serveInProcess({ store, clock, auth: { keys: path } })
  const [anna = '', bert = ''] = keys
  const put = async (key: string, name: string, headers: object): Promise<number> => {
    const init = { method: 'PUT', body: 'kept', headers: { ...TEXT, authorization: `Bearer ${key}`, ...headers } }
    return (await fetch(`${url}/v1/stream/${name}`, init)).status
  }
  const inOneHour = new Date(Date.now() + 3_600_000).toISOString()
  expect(await put(anna, 'short', { 'stream-ttl': '60' })).toBe(201)
  expect(await put(anna, 'until', { 'stream-expires-at': inOneHour })).toBe(201)
  expect(await put(anna, 'closed', { 'stream-ttl': '60', 'stream-closed': 'true' })).toBe(201)
  expect(await put(anna, 'ever', {})).toBe(201)
  expect(await put(bert, 'long', { 'stream-ttl': '86400' })).toBe(201)
  const left = async (): Promise<string[]> => {
    const { runs } = await store.list({ component: 'durable-stream', limit: 100 })
    return runs.map(({ run }) => (run.metadata!['stream'] as { name: string }).name).toSorted()
  }
  await until('the server looks for expired streams', () => clock.timers.size > 0)
  clock.pass(70_000)
  await until('the short ones are gone', async () => (await left()).length === 3)
  expect(await left()).toEqual(['ever', 'long', 'until'])
  clock.pass(3_600_000)
  await until('the next one is gone', async () => (await left()).length === 2)
  expect(await left()).toEqual(['ever', 'long'])
  const owner = ownerKey({ id: keyPrincipalId('anna') })
  // The session of the one that is left.
  await until('their documents too', async () => (await store.usage.of(owner)).documents === 1)
  expect(await store.usage.of(owner)).toMatchObject({ runs: 1, documents: 1 })
})

test('[SEC-2] Durable Streams: a principal over its quota can read and delete a stream with a lifetime', async () => {
  const path = join(temporaryFolder(), 'keys.json')
  const [anna = ''] = await createKeys(path, ['anna'])
  const clock = sweepingClock()
  const limits = { maxStoredBytesPerPrincipal: 5000 }
  const { url } = await serveInProcess({ store: createMemoryStore(), clock, limits, auth: { keys: path } })
  const ask = (name: string, init: RequestInit): Promise<Response> =>
    fetch(`${url}/v1/stream/${name}`, {
      ...init,
      headers: { ...TEXT, authorization: `Bearer ${anna}`, ...(init.headers as Record<string, string>) },
    })
  const lifetime = { 'stream-ttl': '3600' }
  expect((await ask('one', { method: 'PUT', body: 'kept', headers: lifetime })).status).toBe(201)
  expect((await ask('two', { method: 'PUT', body: 'x'.repeat(5000), headers: lifetime })).status).toBe(201)
  expect((await ask('three', { method: 'PUT', headers: lifetime })).status).toBe(507)
  clock.pass(1_800_000) // an access is noted again
  const read = await ask('one', {})
  expect([read.status, await read.text()]).toEqual([200, 'kept'])
  for (const name of ['one', 'two']) expect((await ask(name, { method: 'DELETE' })).status).toBe(204)
  clock.pass(60_000) // usage is asked for again
  expect((await ask('three', { method: 'PUT', headers: lifetime })).status).toBe(201)
})

test('[SEC-2] Durable Streams: the metadata stored with every append is bounded', async () => {
  const { url } = await serveInProcess({ store: createMemoryStore() })
  const stream = `${url}/v1/stream/bounded`
  await fetch(stream, { method: 'PUT', headers: TEXT })
  const append = async (headers: Record<string, string>): Promise<number> =>
    (await fetch(stream, { method: 'POST', body: 'x', headers: { ...TEXT, ...headers } })).status
  expect(await append({ 'stream-seq': '1'.repeat(201) })).toBe(400)
  expect(await append({ 'stream-seq': '1'.repeat(200) })).toBe(204)
})
