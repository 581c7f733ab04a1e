/** Stores that break the rules of leases, lanes and stop requests. */
import { isFinished } from '../../core/model/run.ts'
import type { StopRequest, Store } from '../../core/ports/store.ts'
import { dropsEpochCheck } from './log.ts'
import { type BrokenStore, BufferedWriter, commitTo, overriding } from './overriding.ts'

export const brokenLeases: readonly BrokenStore[] = [
  { name: 'lets a zombie write', section: 'leases', breakStore: dropsEpochCheck },
  { name: 'lets any worker claim a leased run', section: 'leases', breakStore: givesHeldAway },
  { name: 'checks the lease and claims later', section: 'leases', breakStore: racesClaims },
  { name: 'never lets a lease expire', section: 'leases', breakStore: holdsForEver },
  { name: 'releases the lease of another worker', section: 'leases', breakStore: releasesAny },
  { name: 'never releases a lease', section: 'leases', breakStore: neverReleases },
  { name: 'never renews a lease', section: 'leases', breakStore: neverRenews },
  { name: 'renews without the epoch', section: 'leases', breakStore: renewsWithoutEpoch },
  { name: 'renews without the stop request', section: 'leases', breakStore: renewsWithoutStop },
  { name: 'reports a lost lease as renewed', section: 'leases', breakStore: renewsLost },
  { name: 'lets any worker claim paused runs', section: 'leases', breakStore: givesPausedAway },
  { name: 'never lets a paused run be claimed', section: 'leases', breakStore: keepsPaused },
  { name: 'never wakes a paused run', section: 'leases', breakStore: neverWakes },
  { name: 'lists claimable runs newest first', section: 'leases', breakStore: listsNewestFirst },
  { name: 'lists claimable runs of every component', section: 'leases', breakStore: ignoresComponents },
  { name: 'takes over a lease without takeover', section: 'leases', breakStore: ignoresTakeover },
  { name: 'offers stopped runs only to workers that serve them', section: 'leases', breakStore: leavesStoppedToOthers },
  { name: 'never reports unserved components', section: 'leases', breakStore: neverUnserved },
  { name: 'reports a refusal only to flush', section: 'leases', breakStore: keepsRefusals },
  { name: 'lets the last stop request win', section: 'leases', breakStore: keepsLastStop },
  { name: 'never lets a stopped run be claimed', section: 'leases', breakStore: neverGivesStopped },
  { name: 'counts every unfinished run as queued', section: 'leases', breakStore: countsAllAsQueued },
  { name: 'records a stop request for a finished run', section: 'leases', breakStore: stopsFinished },
  {
    name: 'lists the oldest claimable run first, regardless of owner',
    section: 'fair order',
    breakStore: listsOldestFirst,
  },
  { name: 'counts all queued runs for one owner', section: 'fair order', breakStore: countsEverybody },
  { name: 'ignores lanes', section: 'lanes', breakStore: ignoresLanes },
  { name: 'never claims out of order', section: 'lanes', breakStore: neverOutOfOrder },
  { name: 'claims a new run although its lane is busy', section: 'lanes', breakStore: claimsOnCreate },
  { name: 'never frees a lane', section: 'lanes', breakStore: neverFreesLane },
  { name: 'treats all lanes as one', section: 'lanes', breakStore: makesOneLane },
  { name: 'creates in a busy lane', section: 'lanes', breakStore: ignoresBusy },
  { name: 'checks the lane and creates later', section: 'lanes', breakStore: racesBusy },
  { name: 'frees the lane of a paused run', section: 'lanes', breakStore: freesPausedLane },
]

function neverGivesStopped(store: Store): Store {
  return overriding(store, {
    claim: async (id, worker, ttlMs, options = {}) => {
      const stored = await store.get(id)
      const paused = stored?.run.status === 'paused' && options.paused !== true
      return stored?.stop !== undefined && paused ? undefined : store.claim(id, worker, ttlMs, options)
    },
  })
}

function countsAllAsQueued(store: Store): Store {
  return overriding(store, {
    queued: async () => (await store.list({ limit: 1000 })).runs.filter(({ run }) => !isFinished(run.status)).length,
  })
}

function ignoresComponents(store: Store): Store {
  return overriding(store, {
    claimable: (limit, { components: _components, ...query } = {}) => store.claimable(limit, query),
  })
}

function ignoresTakeover(store: Store): Store {
  return overriding(store, {
    claimable: (limit, { takeover: _takeover, ...query } = {}) => store.claimable(limit, query),
    claim: (id, worker, ttlMs, { takeover: _takeover, ...options } = {}) => store.claim(id, worker, ttlMs, options),
  })
}

function leavesStoppedToOthers(store: Store): Store {
  return overriding(store, {
    claimable: async (limit, query = {}) => {
      const { components } = query
      const ids = await store.claimable(limit, query)
      const stored = await Promise.all(ids.map((id) => store.get(id)))
      return ids.filter((_, index) => components?.includes(stored[index]!.run.component) ?? true)
    },
  })
}

function neverUnserved(store: Store): Store {
  return overriding(store, { unserved: async () => [] })
}

function keepsRefusals(store: Store): Store {
  return overriding(store, {
    writer: (id, claim) => new BufferedWriter(claim.next, (batch) => commitTo(store, id, claim, batch)),
  })
}

export function givesHeldAway(store: Store): Store {
  return overriding(store, {
    claim: async (id, worker, ttlMs, options) => {
      const stored = await store.get(id)
      if (stored?.lease !== undefined) await store.release(id, stored.epoch)
      return store.claim(id, worker, ttlMs, options)
    },
  })
}

function racesClaims(store: Store): Store {
  return overriding(store, {
    claim: async (id, worker, ttlMs, options) => {
      const seen = await store.get(id)
      const claimed = await store.claim(id, worker, ttlMs, options)
      if (claimed !== undefined || seen === undefined || seen.lease !== undefined) return claimed
      return { ...seen, epoch: seen.epoch + 1, lease: { worker, until: Infinity } }
    },
  })
}

function holdsForEver(store: Store): Store {
  return overriding(store, { claim: (id, worker, _, options) => store.claim(id, worker, 1e12, options) })
}

function releasesAny(store: Store): Store {
  return overriding(store, {
    release: async (id) => {
      const stored = await store.get(id)
      if (stored !== undefined) await store.release(id, stored.epoch)
    },
  })
}

function neverReleases(store: Store): Store {
  return overriding(store, { release: async () => {} })
}

function neverRenews(store: Store): Store {
  return overriding(store, {
    renew: async (worker) => {
      const { runs } = await store.list({ limit: 1000 })
      return runs
        .filter(({ lease }) => lease?.worker === worker)
        .map(({ run: { id }, epoch, next }) => ({ id, epoch, next }))
    },
  })
}

function renewsLost(store: Store): Store {
  const claims = new Set<string>()
  return overriding(store, {
    create: async (draft) => {
      if (draft.claim) claims.add(`${draft.claim.worker} ${draft.run.id}`)
      return store.create(draft)
    },
    renew: async (worker, ttlMs) => {
      await store.renew(worker, ttlMs)
      const own = [...claims].filter((claim) => claim.startsWith(`${worker} `))
      return own.map((claim) => ({ id: claim.slice(worker.length + 1), epoch: 1, next: 2 }))
    },
  })
}

function renewsWithoutEpoch(store: Store): Store {
  return overriding(store, {
    renew: async (...parameters) => (await store.renew(...parameters)).map((held) => ({ ...held, epoch: 1 })),
  })
}

function renewsWithoutStop(store: Store): Store {
  return overriding(store, {
    renew: async (...parameters) =>
      (await store.renew(...parameters)).map(({ id, epoch, next }) => ({ id, epoch, next })),
  })
}

function givesPausedAway(store: Store): Store {
  return overriding(store, {
    claim: (id, worker, ttlMs, options) => store.claim(id, worker, ttlMs, { ...options, paused: true }),
  })
}

function keepsPaused(store: Store): Store {
  return overriding(store, { claim: (id, worker, ttlMs) => store.claim(id, worker, ttlMs) })
}

function neverWakes(store: Store): Store {
  return overriding(store, {
    claimable: async (limit) => {
      const ids = await store.claimable(limit)
      const stored = await Promise.all(ids.map((id) => store.get(id)))
      return ids.filter((_, index) => stored[index]?.run.status !== 'paused')
    },
  })
}

function listsNewestFirst(store: Store): Store {
  return overriding(store, { claimable: async (limit) => (await store.claimable(limit)).toReversed() })
}

function listsOldestFirst(store: Store): Store {
  return overriding(store, {
    claimable: async (limit, query) => {
      const ids = await store.claimable(1000, query)
      return ids.toSorted().slice(0, limit) // the suite's ids sort by age
    },
  })
}

function countsEverybody(store: Store): Store {
  return overriding(store, { queued: () => store.queued() })
}

function keepsLastStop(store: Store): Store {
  const stops = new Map<string, StopRequest>()
  return overriding(store, {
    requestStop: async (id, stop) => {
      const stored = await store.requestStop(id, stop)
      stops.set(id, stop)
      return stored && { ...stored, stop }
    },
    get: async (id) => {
      const stored = await store.get(id)
      const stop = stops.get(id)
      return stored && stop ? { ...stored, stop } : stored
    },
  })
}

function stopsFinished(store: Store): Store {
  return overriding(store, {
    requestStop: async (id, stop) => {
      const stored = await store.requestStop(id, stop)
      return stored && { stop, ...stored }
    },
  })
}

export function ignoresLanes(store: Store): Store {
  return overriding(store, {
    claim: (id, worker, ttlMs, options) => store.claim(id, worker, ttlMs, { ...options, outOfOrder: true }),
  })
}

function neverOutOfOrder(store: Store): Store {
  return overriding(store, {
    claim: (id, worker, ttlMs, { paused = false } = {}) => store.claim(id, worker, ttlMs, { paused }),
  })
}

function claimsOnCreate(store: Store): Store {
  return overriding(store, {
    create: async (draft) => {
      const created = await store.create(draft)
      if (created.kind !== 'created' || !draft.claim || created.stored.lease) return created
      const { worker, ttlMs } = draft.claim
      const claimed = await store.claim(draft.run.id, worker, ttlMs, { outOfOrder: true })
      return { kind: 'created', stored: claimed ?? created.stored }
    },
  })
}

function ignoresBusy(store: Store): Store {
  return overriding(store, { create: ({ rejectIfBusy: _, ...rest }) => store.create(rest) })
}

function racesBusy(store: Store): Store {
  return overriding(store, {
    create: async (draft) => {
      const { rejectIfBusy = false, ...rest } = draft
      if (!rejectIfBusy) return store.create(rest)
      const { runs } = await store.list({ limit: 1000, status: ['queued', 'running', 'paused'] })
      const busy = runs.find(({ run }) => run.lane === draft.run.lane)
      return busy ? { kind: 'busy', stored: busy } : store.create(rest)
    },
  })
}

function freesPausedLane(store: Store): Store {
  return overriding(store, {
    claimable: async (limit) => {
      const { runs } = await store.list({ limit: 1000 })
      const paused = new Set(runs.filter(({ run }) => run.status === 'paused').map(({ run }) => run.lane))
      const freed = runs.filter(({ run }) => run.status === 'queued' && run.lane && paused.has(run.lane))
      return [...(await store.claimable(limit)), ...freed.map(({ run }) => run.id)]
    },
  })
}

function neverFreesLane(store: Store): Store {
  return overriding(store, {
    claimable: async (limit) => {
      const { runs } = await store.list({ limit: 1000 })
      const used = new Set(runs.filter(({ run }) => isFinished(run.status)).map(({ run }) => run.lane))
      const stuck = new Set(runs.filter(({ run }) => run.lane && used.has(run.lane)).map(({ run }) => run.id))
      return (await store.claimable(limit)).filter((id) => !stuck.has(id))
    },
  })
}

function makesOneLane(store: Store): Store {
  return overriding(store, { claimable: async (limit) => (await store.claimable(limit)).slice(0, 1) })
}
