/** Stores that break the rules of the run index. */
import { isHoldfastError } from '../../core/model/errors.ts'
import type { NewRun, Store, StoredRun } from '../../core/ports/store.ts'
import { type BrokenStore, overriding } from './overriding.ts'

export const brokenIndexes: readonly BrokenStore[] = [
  { name: 'forgets idempotency keys', section: 'runs', breakStore: forgetsKeys },
  { name: 'checks a key and writes it later', section: 'runs', breakStore: racesKeys },
  { name: 'ignores the body for a known key', section: 'runs', breakStore: ignoresFingerprints },
  { name: 'shares keys between owners', section: 'runs', breakStore: sharesKeys },
  { name: 'keeps the key of a removed run', section: 'runs', breakStore: keepsRemovedKeys },
  { name: 'checks the lane before the key', section: 'runs', breakStore: asksLaneFirst },
  { name: 'shows a run before its first record', section: 'runs', breakStore: showsRunFirst },
  { name: 'creates first and claims later', section: 'runs', breakStore: forgetsClaims },
  { name: 'loses the metadata of a run', section: 'runs', breakStore: losesMetadata },
  { name: 'reports the removal of a run that never existed', section: 'runs', breakStore: removesNothing },
  { name: 'overwrites a run with the same id', section: 'runs', breakStore: overwrites },
  { name: 'removes unfinished runs', section: 'runs', breakStore: removesAnything },
  { name: 'counts the runs before a page', section: 'listing', breakStore: countsPages },
  { name: 'returns a cursor on the last page', section: 'listing', breakStore: neverEndsPages },
  { name: 'treats a malformed cursor as the first page', section: 'listing', breakStore: ignoresBadCursors },
  { name: 'lists oldest first', section: 'listing', breakStore: listsOldestFirst },
  { name: 'lists runs without their leases', section: 'listing', breakStore: hidesLeases },
  { name: 'ignores filters', section: 'listing', breakStore: ignoresFilters },
  { name: 'lists runs of every version', section: 'listing', breakStore: ignoresVersions },
]

export function forgetsKeys(store: Store): Store {
  return overriding(store, { create: ({ idempotency: _, ...rest }) => store.create(rest) })
}

/** Idempotency keys of the broken store itself. */
type Keys = Map<string, { readonly id: string; readonly fingerprint: string }>

async function lookUp(store: Store, keys: Keys, { idempotency }: NewRun, name: string) {
  const known = keys.get(name)
  const stored = known && (await store.get(known.id))
  if (known === undefined || stored === undefined) return undefined
  return { kind: known.fingerprint === idempotency?.fingerprint ? 'existing' : 'key_conflict', stored } as const
}

function racesKeys(store: Store): Store {
  const keys: Keys = new Map()
  return overriding(store, {
    create: async ({ idempotency, ...rest }) => {
      if (idempotency === undefined) return store.create(rest)
      const name = JSON.stringify([rest.run.owner, idempotency.key])
      const known = await lookUp(store, keys, { idempotency, ...rest }, name)
      if (known !== undefined) return known
      const created = await store.create(rest)
      keys.set(name, { id: rest.run.id, fingerprint: idempotency.fingerprint })
      return created
    },
  })
}

function sharesKeys(store: Store): Store {
  const keys: Keys = new Map()
  return overriding(store, {
    create: async (draft) => {
      const name = draft.idempotency?.key
      const known = name === undefined ? undefined : await lookUp(store, keys, draft, name)
      if (known !== undefined) return known
      if (draft.idempotency)
        keys.set(draft.idempotency.key, { id: draft.run.id, fingerprint: draft.idempotency.fingerprint })
      return store.create(draft)
    },
  })
}

function ignoresFingerprints(store: Store): Store {
  return overriding(store, {
    create: ({ idempotency, ...rest }) =>
      store.create({ ...rest, ...(idempotency && { idempotency: { ...idempotency, fingerprint: 'any' } }) }),
  })
}

function keepsRemovedKeys(store: Store): Store {
  const removed: StoredRun[] = []
  return overriding(store, {
    remove: async (id) => {
      const stored = await store.get(id)
      const done = await store.remove(id)
      if (stored !== undefined && done) removed.push(stored)
      return done
    },
    create: async (draft) =>
      draft.idempotency && removed[0] ? { kind: 'existing', stored: removed[0] } : store.create(draft),
  })
}

function asksLaneFirst(store: Store): Store {
  return overriding(store, {
    create: async (draft) => {
      const { runs } = await store.list({ limit: 1000, status: ['queued', 'running', 'paused'] })
      const busy = runs.find(({ run }) => run.lane === draft.run.lane)
      return draft.rejectIfBusy && busy ? { kind: 'busy', stored: busy } : store.create(draft)
    },
  })
}

function showsRunFirst(store: Store): Store {
  const early = new Map<string, StoredRun>()
  return overriding(store, {
    create: async (draft) => {
      early.set(draft.run.id, { run: draft.run, first: 0, next: 0, epoch: 0 })
      await new Promise((resolve) => setTimeout(resolve, 1))
      const created = await store.create(draft)
      early.delete(draft.run.id)
      return created
    },
    get: async (id) => (await store.get(id)) ?? early.get(id),
  })
}

function forgetsClaims(store: Store): Store {
  return overriding(store, {
    create: async ({ claim, ...rest }) => {
      const created = await store.create(rest)
      if (created.kind !== 'created' || claim === undefined) return created
      const lease = { worker: claim.worker, until: Infinity }
      return { kind: 'created', stored: { ...created.stored, epoch: 1, lease } }
    },
  })
}

function losesMetadata(store: Store): Store {
  return overriding(store, {
    create: ({ run: { metadata: _, ...run }, ...rest }) => store.create({ ...rest, run }),
  })
}

function removesNothing(store: Store): Store {
  return overriding(store, { remove: async (id) => (await store.remove(id)) || true })
}

function overwrites(store: Store): Store {
  return overriding(store, {
    create: async (draft) => {
      const stored = await store.get(draft.run.id)
      return stored ? { kind: 'created', stored: { ...stored, run: draft.run } } : store.create(draft)
    },
  })
}

function removesAnything(store: Store): Store {
  const gone = new Set<string>()
  return overriding(store, {
    remove: async (id) => {
      if ((await store.get(id)) === undefined || gone.has(id)) return false
      gone.add(id)
      return true
    },
    get: async (id) => (gone.has(id) ? undefined : store.get(id)),
  })
}

function countsPages(store: Store): Store {
  return overriding(store, {
    list: async ({ after, limit, ...filters }) => {
      const skipped = Number(after ?? 0)
      const { runs } = await store.list({ ...filters, limit: 1_000_000 })
      const page = runs.slice(skipped, skipped + limit)
      const end = skipped + page.length
      return end < runs.length ? { runs: page, cursor: String(end) } : { runs: page }
    },
  })
}

function neverEndsPages(store: Store): Store {
  let last = ''
  return overriding(store, {
    list: async (query) => {
      const { after, ...rest } = query
      const page = await store.list(after === 'end' ? { ...rest, limit: 1, after: last } : query)
      last = page.cursor ?? last
      return { ...page, cursor: page.cursor ?? 'end' }
    },
  })
}

function ignoresBadCursors(store: Store): Store {
  return overriding(store, {
    list: async (query) => {
      const { after: _, ...rest } = query
      return store.list(query).catch((error: unknown) => {
        if (isHoldfastError(error, 'cursor_invalid')) return store.list(rest)
        throw error
      })
    },
  })
}

function listsOldestFirst(store: Store): Store {
  return overriding(store, {
    list: async (query) => {
      const page = await store.list(query)
      return { ...page, runs: page.runs.toReversed() }
    },
  })
}

function hidesLeases(store: Store): Store {
  return overriding(store, {
    list: async (query) => {
      const page = await store.list(query)
      return { ...page, runs: page.runs.map(({ lease: _, ...rest }) => rest) }
    },
  })
}

function ignoresFilters(store: Store): Store {
  return overriding(store, {
    list: ({ limit, after }) => store.list({ limit, ...(after !== undefined && { after }) }),
  })
}

function ignoresVersions(store: Store): Store {
  return overriding(store, { list: ({ version: _version, ...query }) => store.list(query) })
}
