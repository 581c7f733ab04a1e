import { expect, test } from 'vitest'
import { createMemoryStore } from '../../stores/memory.ts'
import { overriding } from '../../testing/broken-stores/overriding.ts'
import { createFakeClock, type FakeClock } from '../../testing/fake-clock.ts'
import { SESSIONS } from '../model/document.ts'
import { isHoldfastError } from '../model/errors.ts'
import type { Store } from '../ports/store.ts'
import { type UnverifiedMark, UnverifiedStorage } from './unverified-storage.ts'
import { NETWORK_BYTES_MAX, SITE_BYTES_MAX } from './unverified-sums.ts'

const MB = 1_000_000

/** Admits a write, and returns whether there was room for it. */
async function admits(storage: UnverifiedStorage, owner: string, network: string, bytes = MB): Promise<boolean> {
  try {
    await storage.admit({ owner, network, bytes, collections: [SESSIONS] })
    return true
  } catch (cause) {
    if (isHoldfastError(cause, 'rate_limited')) return false
    throw cause
  }
}

/** Resolves when all work on the memory store is done. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

const times = (count: number): number[] => Array.from({ length: count }, (_, at) => at)

function openStorage(store: Store = createMemoryStore()): {
  readonly clock: FakeClock
  readonly storage: UnverifiedStorage
} {
  const clock = createFakeClock()
  return { clock, storage: new UnverifiedStorage(store, clock) }
}

async function marksOf(storage: UnverifiedStorage): Promise<UnverifiedMark[]> {
  const marks: UnverifiedMark[] = []
  for await (const mark of storage.marks()) marks.push(mark)
  return marks
}

/** The store, with other operations on documents. */
function withDocuments(store: Store, others: Partial<Store['documents']>): Store {
  const { documents } = store
  const get: typeof documents.get = (...name) => documents.get(...name)
  const put: typeof documents.put = (...draft) => documents.put(...draft)
  const remove: typeof documents.remove = (...name) => documents.remove(...name)
  const list: typeof documents.list = (query) => documents.list(query)
  return overriding(store, { documents: { get, put, remove, list, ...others } })
}

test('[SEC-2] unverified callers: writes at once stay within the limit of one address', async () => {
  const { storage } = openStorage()
  await admits(storage, 'o', '192.0.2.1', 1)
  const isAdmitted = await Promise.all(times(40).map((count) => admits(storage, `o${count}`, '192.0.2.1')))
  const admitted = isAdmitted.filter(Boolean).length
  expect(admitted * MB).toBeLessThanOrEqual(NETWORK_BYTES_MAX)
  expect(admitted).toBeGreaterThan(10)
})

test('[SEC-2] unverified callers: one credential has one limit, whatever addresses it is used from', async () => {
  const { clock, storage } = openStorage()
  let admitted = 0
  for (const count of times(40)) {
    if (await admits(storage, 'o', `192.0.2.${count}`)) admitted++
    clock.advance(30_000)
  }
  expect(admitted * MB).toBeLessThanOrEqual(NETWORK_BYTES_MAX)
  expect(admitted).toBeGreaterThan(10)
})

test('unverified callers: those that are accepted leave room for others of their address', async () => {
  const { storage } = openStorage()
  for (const count of times(40)) {
    expect(await admits(storage, `o${count}`, '192.0.2.1')).toBe(true)
    await storage.unmark(`o${count}`)
  }
})

test('[SEC-2] unverified callers: the networks of one IPv6 site share a limit', async () => {
  const { storage } = openStorage()
  const admitted = async (network: (count: number) => string): Promise<number> => {
    let sum = 0
    for (const count of times(80)) if (await admits(storage, `${network(count)} ${count}`, network(count))) sum += MB
    return sum
  }
  const sum = await admitted((count) => `2001:db8:1:${count}::/64`)
  expect(sum).toBeGreaterThan(NETWORK_BYTES_MAX)
  expect(sum).toBeLessThanOrEqual(SITE_BYTES_MAX)
  expect(await admitted((count) => `2001:db8:2:${count}::/64`)).toBe(sum)
  expect(await admitted((count) => `192.0.2.${count}`)).toBe(80 * MB)
})

test('[SEC-2] unverified callers: their number is limited, because all of them are read again and again', async () => {
  const { storage } = openStorage()
  let admitted = 0
  for (const count of times(300)) if (await admits(storage, `o${count}`, '192.0.2.1', 1)) admitted++
  expect(admitted).toBeLessThanOrEqual(256)
  expect(admitted).toBeGreaterThan(200)
})

test('[SEC-2] unverified callers: requests at once share one reading of what is stored', async () => {
  const store = createMemoryStore()
  let listings = 0
  const { clock, storage } = openStorage(
    withDocuments(store, {
      list: (query) => {
        listings++
        return store.documents.list(query)
      },
    }),
  )
  for (const round of times(3)) {
    await Promise.all(times(20).map((count) => admits(storage, `o${round}-${count}`, '192.0.2.1', 1)))
    expect(listings).toBe(round + 1)
    clock.advance(60_000)
  }
})

test('[SEC-2] unverified callers: a write that is in progress while the sums are read counts', async () => {
  const store = createMemoryStore()
  const gate = Promise.withResolvers<void>()
  const slow = withDocuments(store, {
    put: async (draft, expected) => {
      if (draft.id.startsWith('slow')) await gate.promise
      return store.documents.put(draft, expected)
    },
  })
  const { clock, storage } = openStorage(slow)
  await admits(storage, 'first', '192.0.2.1')
  const writing = times(10).map((count) => admits(storage, `slow-${count}`, '192.0.2.1'))
  await settled()
  clock.advance(60_000)
  const others = await Promise.all(times(10).map((count) => admits(storage, `o${count}`, '192.0.2.1')))
  gate.resolve()
  const all = [true, ...(await Promise.all(writing)), ...others]
  expect(all.filter(Boolean).length * MB).toBeLessThanOrEqual(NETWORK_BYTES_MAX)
})

test('unverified callers: writes that another request overtakes take no room', async () => {
  const { storage } = openStorage()
  let admitted = 0
  for (let round = 0; round < 20; round++)
    for (const isAdmitted of await Promise.all(times(5).map(() => admits(storage, 'o', '192.0.2.1', MB / 2))))
      if (isAdmitted) admitted++
  expect(admitted * (MB / 2)).toBeGreaterThan(NETWORK_BYTES_MAX - 2 * MB)
})

test('[SEC-2] unverified callers: a node neither closes nor removes a mark that has changed', async () => {
  const { storage } = openStorage()
  const mark = async (): Promise<UnverifiedMark> => (await marksOf(storage))[0]!
  await admits(storage, 'o', '192.0.2.1')
  const closed = (await storage.close(await mark()))!
  const closedAgain = (await storage.close(closed))!
  expect([await storage.close(closed), await storage.removeEmpty(closed)]).toEqual([undefined, false])
  expect(await storage.removeEmpty(closedAgain)).toBe(true)
  for (let writes = 0; writes < closed.version; writes++) await admits(storage, 'o', '192.0.2.1')
  expect(await mark()).toMatchObject({ version: closed.version, isClosed: false })
  expect([await storage.close(closed), await storage.removeEmpty(closed)]).toEqual([undefined, false])
})

test('[SEC-2] unverified callers: the mark of a caller that still has something stays', async () => {
  const store = createMemoryStore()
  const { storage } = openStorage(store)
  await storage.admit({ owner: 'o', network: '192.0.2.1', bytes: 1, collections: [SESSIONS] })
  await store.documents.put({ owner: 'o', collection: SESSIONS, id: 's', body: {} })
  const [mark] = (await marksOf(storage)) as [UnverifiedMark]
  const closed = await storage.close(mark)
  expect(await storage.removeEmpty(closed!)).toBe(false)
  await store.documents.remove('o', SESSIONS, 's')
  expect(await storage.removeEmpty(closed!)).toBe(true)
  expect(await marksOf(storage)).toEqual([])
})
