/** Push deliveries read logs under the same limits as subscribers. */
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { keyPrincipalId, ownerKey } from '../../../src/core/model/principal.ts'
import { systemClock } from '../../../src/core/ports/clock.ts'
import type { Store } from '../../../src/core/ports/store.ts'
import { DELIVERIES } from '../../../src/protocols/a2a/collections.ts'
import { type Delivery, deliveryIn } from '../../../src/protocols/a2a/push/deliveries.ts'
import { createMemoryStore } from '../../../src/stores/memory.ts'
import { overriding } from '../../../src/testing/broken-stores.ts'
import { newRun, RunWriter } from '../../../src/testing/fixtures.ts'
import { createKeys } from '../../support/keys.ts'
import { addLongSession } from '../../support/long-session.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { until } from '../../support/until.ts'
import { receive } from './receiver.ts'
import { current, rpc, serveA2a } from './serve.ts'

/** Several pages of the bytes that a read may return. */
const EVENTS = 400
const ONE_FOLD_EACH = { maxReadBytes: 2048, maxConcurrentFolds: 2, maxQueuedFolds: 0 }

/** An unfinished run with a long log. */
async function addRunning(store: Store, id: string, owner: string): Promise<void> {
  const claim = { worker: 'runWriter', ttlMs: 600_000 }
  const { stored } = await store.create(
    newRun(id, new Date().toISOString(), { session: id, component: 'lab', owner, claim }),
  )
  const writer = new RunWriter(store, systemClock, stored, [])
  writer.start()
  for (let count = 0; count < EVENTS; count++) writer.text('once ')
  await writer.flush()
}

/** Anna and Bert have a finished run each, and Anna two unfinished ones. Reads of `slow` wait until `open` is called. */
async function serve(slow: readonly string[]) {
  const path = join(temporaryFolder(), 'keys.json')
  const names = ['anna', 'bert']
  const keys = await createKeys(path, names)
  const inner = createMemoryStore()
  const owner = (name: string): string => ownerKey({ id: keyPrincipalId(name) })
  for (const session of names)
    await addLongSession(inner, { session, component: 'lab', runs: 1, eventsPerRun: EVENTS, owner: owner(session) })
  for (const id of ['run_pushed', 'run_pushed2']) await addRunning(inner, id, owner('anna'))
  const gate = Promise.withResolvers<void>()
  let stuck = 0
  const read: Store['read'] = async (run, after, maxBytes) => {
    if (slow.includes(run) && after > 0) {
      stuck++
      await gate.promise
    }
    return inner.read(run, after, maxBytes)
  }
  const server = await serveA2a({
    store: overriding(inner, { read }),
    auth: { keys: path },
    a2a: { push: { loopback: true, limits: { pollIntervalMs: 20, retryDelayMs: 100, requestTimeoutMs: 600_000 } } },
    limits: ONE_FOLD_EACH,
  })
  // Before the server closes, which waits for its deliveries.
  onTestFinished(() => gate.resolve())
  const headers = (name: string) => ({ ...current, authorization: `Bearer ${keys[names.indexOf(name)]!}` })
  const push = (taskId: string, url: string) =>
    rpc(server.agent(), 'CreateTaskPushNotificationConfig', { taskId, id: 'c', url }, headers('anna'))
  const snapshot = async (name: string): Promise<number> => {
    const target = `${server.url}/runs/run_${name}0000/events?snapshot=1&format=json`
    const response = await fetch(target, { headers: headers(name) })
    await response.arrayBuffer()
    return response.status
  }
  const delivery = async (): Promise<Delivery | undefined> => {
    const { documents } = await inner.documents.list({ collection: DELIVERIES, owner: owner('anna'), limit: 10 })
    return documents[0] && deliveryIn(documents[0])
  }
  return { push, snapshot, delivery, stuck: () => stuck, open: () => gate.resolve() }
}

test('[SEC-2] push: a delivery that reads a long run counts among the folds of its principal', async () => {
  const { push, snapshot, stuck } = await serve(['run_pushed'])
  const receiver = await receive()
  await push('run_pushed', receiver.url)
  await until('the delivery reads', () => stuck() === 1)
  expect(await snapshot('anna')).toBe(429)
  expect(await snapshot('bert')).toBe(200)
})

test('[SEC-2] push: a slow receiver does not occupy a fold slot', async () => {
  const { push, snapshot } = await serve([])
  const receiver = await receive({ answer: () => new Promise<number>(() => {}) })
  for (const task of ['run_pushed', 'run_pushed2']) {
    await push(task, receiver.url)
    const before = receiver.received.length
    await until('the receiver is told', () => receiver.received.length > before)
  }
  expect(await snapshot('anna')).toBe(200)
})

test('[SEC-2] push: a delivery that waits for a fold slot does not count as a failure of its receiver', async () => {
  const { push, snapshot, delivery, stuck, open } = await serve(['run_anna0000'])
  const reading = snapshot('anna')
  await until('a subscriber reads', () => stuck() === 1)
  const receiver = await receive()
  await push('run_pushed', receiver.url)
  await until('the delivery is postponed', async () => ((await delivery())?.due ?? 0) > 0)
  expect(await delivery()).toMatchObject({ failures: 0 })
  expect(receiver.received).toEqual([])
  open()
  expect(await reading).toBe(200)
  await until('the receiver is told', () => receiver.taken.length > 0)
})
