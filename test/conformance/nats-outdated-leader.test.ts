/**
 * A server that is partitioned from its cluster acts as the leader for some seconds. It serves reads from its own data, and commits
 * nothing. Messages that it lacks may exist.
 */
import { expect, onTestFinished, test } from 'vitest'
import { silentLogger } from '../../src/core/ports/logger.ts'
import type { Store } from '../../src/core/ports/store.ts'
import { openNatsStore } from '../../src/stores/nats/index.ts'
import { newRun } from '../../src/testing/fixtures.ts'
import { startNats } from '../support/nats.ts'
import { DROP, openTampered, type RequestData, type Tamper } from '../support/nats-tampered.ts'
import { newRunId } from './failing-servers.ts'

const server = await startNats()
const document = { owner: 'someone', collection: 'notes', id: 'one' }

const isRead = (subject: string): boolean => subject.includes('.STREAM.MSG.GET.')
const isBarrier = (subject: string): boolean => subject.endsWith('.~barrier')

/** A read of a server that has none of the newer messages. */
function findingNothing(data: RequestData): string {
  const query = JSON.parse(Buffer.from(data as Uint8Array).toString()) as { last_by_subj: string }
  return JSON.stringify({ last_by_subj: `${query.last_by_subj}.none` })
}

/** Two nodes, and a run and a document that only the other node has read. */
async function openBoth(name: string, tamper: Tamper): Promise<{ store: Store; id: string; other: Store }> {
  const other = await openNatsStore({ servers: [server.address], name, partitions: 1 })
  onTestFinished(() => other.close())
  let hears = true
  const store = await openTampered(server.address, {
    name,
    tamper,
    receives: ({ reply }) => hears || !reply?.startsWith('$JS.ACK.'),
    logger: silentLogger,
    isReplicated: true,
    requestTimeoutMs: 200,
  })
  hears = false
  const id = newRunId()
  const idempotency = { key: 'key', fingerprint: 'print' }
  await other.create(newRun(id, new Date().toISOString(), { idempotency }))
  await other.documents.put({ ...document, body: {} })
  return { store, id, other }
}

test('[RUN-1] NATS: a server that is cut off makes reads and commands unavailable, and nothing not found', async () => {
  let isCutOff = false
  const { store, id } = await openBoth('cut-off', (subject, data) => {
    if (!isCutOff) return data
    if (isBarrier(subject)) return DROP
    return isRead(subject) ? findingNothing(data) : data
  })
  isCutOff = true
  const { owner } = newRun(id, '').run
  const requested: Record<string, Promise<unknown>> = {
    get: store.get(id),
    read: store.read(id, -1, 1000),
    stop: store.requestStop(id, { at: new Date().toISOString(), by: 'someone' }),
    remove: store.remove(id),
    claim: store.claim(id, 'worker-1', 1000),
    'find by key': store.findByKey(owner, 'key'),
    'get document': store.documents.get(document.owner, document.collection, document.id),
    'remove document': store.documents.remove(document.owner, document.collection, document.id),
  }
  const outcome = (asking: Promise<unknown>): Promise<unknown> =>
    asking.then(
      (value) => ({ value }),
      (error: { code?: string }) => error.code,
    )
  const outcomes = await Promise.all(Object.entries(requested).map(async ([name, each]) => [name, await outcome(each)]))
  expect(Object.fromEntries(outcomes)).toEqual(
    Object.fromEntries(Object.keys(requested).map((name) => [name, 'unavailable'])),
  )
  isCutOff = false
  expect((await store.get(id))?.run.id).toBe(id)
})

test('[RUN-1] NATS: a node that moves to a server that is behind, while it makes sure that a run is missing, asks again', async () => {
  /** Faults of the reads, in this order; later ones succeed. */
  const reads = ['behind', 'reconnect', 'behind']
  let isWatched = false
  const { store, id } = await openBoth('moving', (subject, data, connection) => {
    const what = isWatched && isRead(subject) ? reads.shift() : undefined
    if (what === 'behind') return findingNothing(data)
    if (what !== 'reconnect') return data
    void connection.reconnect()
    return DROP
  })
  isWatched = true
  expect((await store.get(id))?.run.id).toBe(id)
  expect(reads).toEqual([])
})
