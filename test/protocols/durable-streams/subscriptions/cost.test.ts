/** The cost of wakes: none without subscriptions, and otherwise proportional to the work. */
import { expect, test } from 'vitest'
import type { Store } from '../../../../src/core/ports/store.ts'
import { SUBSCRIPTIONS } from '../../../../src/protocols/durable-streams/subscriptions/model.ts'
import { createMemoryStore } from '../../../../src/stores/memory.ts'
import { withDocuments } from '../../../../src/testing/broken-stores/documents.ts'
import { jumpingClock } from '../../../support/jumping-clock.ts'
import { settle } from '../../../support/manual-clock.ts'
import { until } from '../../../support/until.ts'
import { receiveWebhooks } from './receiver.ts'
import { serveTwo } from './serve.ts'

interface Reads {
  /** Pages of subscriptions. */
  lists: number
  /** Subscriptions, one by one. */
  gets: number
}

function countingStore() {
  const reads: Reads = { lists: 0, gets: 0 }
  const inner = createMemoryStore()
  const documents: Partial<Store['documents']> = {
    list(query) {
      if (query.collection === SUBSCRIPTIONS && query.limit > 1) reads.lists++
      return inner.documents.list(query)
    },
    get(owner, collection, id) {
      if (collection === SUBSCRIPTIONS) reads.gets++
      return inner.documents.get(owner, collection, id)
    },
  }
  const store = withDocuments(inner, documents)
  return { store, reads }
}

/** Time passes, second by second. */
async function passSeconds(clock: ReturnType<typeof jumpingClock>, seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second++) {
    clock.pass(1000)
    await settle()
  }
}

test('[SEC-2] subscriptions: appends of an owner without subscriptions ask the store once', async () => {
  const { store, reads } = countingStore()
  const clock = jumpingClock()
  const { anna } = await serveTwo({ store, clock })
  await until('the worker has started', () => reads.lists === 1)
  await anna.create('news')
  await until('the owner is looked up', () => reads.lists === 2)
  for (let at = 0; at < 50; at++) await anna.append('news', at)
  await settle()
  expect(reads).toEqual({ lists: 2, gets: 0 })
  // The scan looks whether there are any, every ten seconds.
  await passSeconds(clock, 60)
  expect(reads.lists).toBeLessThanOrEqual(2 + 7)
  expect(reads.gets).toBe(0)
})

test('[SEC-2] subscriptions: those that wait for nothing are read by the scan only', async () => {
  const { store, reads } = countingStore()
  const clock = jumpingClock()
  const { anna, bert } = await serveTwo({ store, clock })
  for (let at = 0; at < 60; at++) await anna.pull(`worker-${at}`)
  await until('the worker has started', () => reads.lists > 0)
  await settle()
  const before = { ...reads }
  await passSeconds(clock, 30)
  expect(reads.gets).toBe(before.gets)
  // Three pages per round.
  expect(reads.lists - before.lists).toBeLessThanOrEqual(3 * 4)
  // Another owner's append does not touch them.
  await bert.create('news')
  await bert.append('news', 'one')
  await settle()
  expect(reads.gets).toBe(before.gets)
})

test('[SEC-2] subscriptions: an append reads those that it concerns, and not the others one by one', async () => {
  const { store, reads } = countingStore()
  const { anna } = await serveTwo({ store })
  const { url, received } = await receiveWebhooks(() => ({ body: { done: true } }))
  await anna.create('news')
  for (let at = 0; at < 30; at++) await anna.webhook(`other-${at}`, url, { streams: ['other'] })
  await anna.webhook('hook', url)
  await until('the worker has started', () => reads.lists > 0)
  await settle()
  const before = reads.gets
  await anna.append('news', 'one')
  await until('it is woken', () => received.length === 1)
  await settle()
  expect(reads.gets - before).toBeLessThan(10)
})

test('subscriptions: a lease costs one look when it is over', async () => {
  const { store, reads } = countingStore()
  const clock = jumpingClock()
  const { anna } = await serveTwo({ store, clock })
  const { url, received } = await receiveWebhooks()
  await anna.create('news')
  await anna.webhook('hook', url, { lease_ttl_ms: 600_000 })
  await anna.append('news', 'one')
  await until('it is woken', () => received.length === 1)
  await settle()
  const before = reads.gets
  await passSeconds(clock, 60)
  expect(reads.gets).toBe(before)
  clock.pass(540_000)
  await until('it is woken again', () => received.length === 2)
})

test('subscriptions: one that cannot be read stops nobody else', async () => {
  const inner = createMemoryStore()
  const documents: Partial<Store['documents']> = {
    get: (owner, collection, id) =>
      collection === SUBSCRIPTIONS && id === 'broken'
        ? Promise.reject(new Error('this document cannot be read'))
        : inner.documents.get(owner, collection, id),
  }
  const store = withDocuments(inner, documents)
  const { anna, bert } = await serveTwo({ store })
  const { url, received } = await receiveWebhooks(() => ({ body: { done: true } }))
  const owner = 'unknown'
  const config = { type: 'webhook', streams: ['x'], webhook: { url }, leaseTtlMs: 1000 }
  const body = { config, url: '', links: [], generation: 1, wake: { id: 'w', at: 0, until: 1 } }
  await store.documents.put({ owner, collection: SUBSCRIPTIONS, id: 'broken', body })
  for (const client of [anna, bert]) {
    await client.create('news')
    await client.webhook('hook', url)
    await client.append('news', 'one')
  }
  await until('both owners are woken', () => received.length === 2)
  expect(received.map((webhook) => webhook.body.subscription_id)).toEqual(['hook', 'hook'])
})
