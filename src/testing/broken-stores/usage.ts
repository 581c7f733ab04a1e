/** Stores that count usage wrongly. */
import type { Store } from '../../core/ports/store.ts'
import { type OwnerUsage, type StoredUsage, storedBytes } from '../../core/model/storage-usage.ts'
import { type BrokenStore, overriding } from './overriding.ts'

const faults: readonly (readonly [string, (store: Store) => Store])[] = [
  ['counts everything for everybody', countsForAll],
  ['counts no documents', counting((usage) => ({ ...usage, documents: 0, documentBytes: 0 }))],
  ['never counts down', neverCountsDown],
  ['lists the smallest owners first', (store) => withUsage(store, { largest: smallestFirst(store.usage) })],
  [
    'lists finished runs newest first',
    (store) =>
      withUsage(store, {
        finishedRuns: async (...query) => [...(await store.usage.finishedRuns(...query))].toReversed(),
      }),
  ],
]

export const brokenUsage: readonly BrokenStore[] = [
  ...faults.map(([name, breakStore]) => ({ name, section: 'usage', breakStore })),
  {
    name: 'resets counts on reopen',
    section: 'recovery of usage',
    breakStore: counting(({ owner }) => ({ owner, runs: 0, logBytes: 0, documents: 0, documentBytes: 0 })),
    afterReopen: true,
  },
]

function withUsage(store: Store, overrides: Partial<StoredUsage>): Store {
  const { usage } = store
  return overriding(store, {
    usage: {
      of: (owner) => usage.of(owner),
      total: () => usage.total(),
      largest: (limit) => usage.largest(limit),
      finishedRuns: (owner, limit, after) => usage.finishedRuns(owner, limit, after),
      ...overrides,
    },
  })
}

function counting(change: (usage: OwnerUsage) => OwnerUsage): (store: Store) => Store {
  return (store) => withUsage(store, { of: async (owner) => change(await store.usage.of(owner)) })
}

function countsForAll(store: Store): Store {
  return withUsage(store, {
    of: async (owner) => {
      const all = await store.usage.largest(100)
      const sum = (field: Exclude<keyof OwnerUsage, 'owner'>): number =>
        all.reduce((total, usage) => total + usage[field], 0)
      return {
        owner,
        runs: sum('runs'),
        logBytes: sum('logBytes'),
        documents: sum('documents'),
        documentBytes: sum('documentBytes'),
      }
    },
  })
}

function neverCountsDown(store: Store): Store {
  const most = new Map<string, OwnerUsage>()
  return withUsage(store, {
    of: async (owner) => {
      const now = await store.usage.of(owner)
      const before = most.get(owner)
      if (before === undefined || storedBytes(before) < storedBytes(now)) most.set(owner, now)
      return most.get(owner)!
    },
  })
}

function smallestFirst(usage: StoredUsage): StoredUsage['largest'] {
  return async (limit) => (await usage.largest(1000)).toReversed().slice(0, limit)
}
