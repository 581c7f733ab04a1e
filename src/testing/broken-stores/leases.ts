/** Stores that break the rules of leases, lanes and stop requests. */
import { isFinished } from '../../core/model/run.ts'
import type { StopRequest, Store } from '../../core/ports/store.ts'
import { dropsEpochCheck } from './log.ts'
import { type BrokenStore, BufferedWriter, commitTo, overriding } from './overriding.ts'

export const brokenLeases: readonly BrokenStore[] = [
  { name: 'lets a zombie write', section: 'leases', breakStore: dropsEpochCheck },
  { name: 'gives a held run to whoever asks', section: 'leases', breakStore: givesHeldAway },
  { name: 'looks whether a run is held and takes it later', section: 'leases', breakStore: racesClaims },
  { name: 'never lets a claim run out', section: 'leases', breakStore: holdsForEver },
  { name: 'releases what another worker holds', section: 'leases', breakStore: releasesAny },
  { name: 'does not release', section: 'leases', breakStore: neverReleases },
  { name: 'does not renew', section: 'leases', breakStore: neverRenews },
  { name: 'does not say under which claim a run was renewed', section: 'leases', breakStore: renewsWithoutEpoch },
  { name: 'does not tell of a stop when it renews', section: 'leases', breakStore: renewsWithoutStop },
  { name: 'says that a lost claim was renewed', section: 'leases', breakStore: renewsLost },
  { name: 'gives paused runs to any worker', section: 'leases', breakStore: givesPausedAway },
  { name: 'never gives a paused run back', section: 'leases', breakStore: keepsPaused },
  { name: 'does not wake a paused run', section: 'leases', breakStore: neverWakes },
  { name: 'lists claimable runs newest first', section: 'leases', breakStore: listsNewestFirst },
  { name: 'lists claimable runs of every component', section: 'leases', breakStore: ignoresComponents },
  { name: 'takes over where nothing is to be taken over', section: 'leases', breakStore: ignoresTakeover },
  { name: 'leaves what is to be stopped to who serves it', section: 'leases', breakStore: leavesStoppedToOthers },
  { name: 'does not know what nobody serves', section: 'leases', breakStore: neverUnserved },
  { name: 'tells of a refusal only who flushes', section: 'leases', breakStore: keepsRefusals },
  { name: 'lets the last stop request win', section: 'leases', breakStore: keepsLastStop },
  { name: 'keeps a run that is to be stopped from everybody', section: 'leases', breakStore: neverGivesStopped },
  { name: 'counts every unfinished run as queued', section: 'leases', breakStore: countsAllAsQueued },
  { name: 'notes a stop on a finished run', section: 'leases', breakStore: stopsFinished },
  { name: 'lists the oldest claimable run first, whoever has it', section: 'turns', breakStore: listsOldestFirst },
  { name: 'counts the queued runs of everybody for one owner', section: 'turns', breakStore: countsEverybody },
  { name: 'does not look at lanes', section: 'lanes', breakStore: ignoresLanes },
  { name: 'gives no run out of turn', section: 'lanes', breakStore: neverOutOfOrder },
  { name: 'claims a new run though its lane is taken', section: 'lanes', breakStore: claimsOnCreate },
  { name: 'never frees a lane', section: 'lanes', breakStore: neverFreesLane },
  { name: 'makes one lane of all', section: 'lanes', breakStore: makesOneLane },
  { name: 'creates in a busy lane', section: 'lanes', breakStore: ignoresBusy },
  { name: 'looks whether a lane is busy and creates later', section: 'lanes', breakStore: racesBusy },
  { name: 'frees the lane of a paused run', section: 'lanes', breakStore: freesPausedLane },
]

function neverGivesStopped(store: Store): Store {
  return overriding(store, {
    claim: async (id, owner, ttlMs, options = {}) => {
      const stored = await store.get(id)
      const paused = stored?.run.status === 'paused' && options.paused !== true
      return stored?.stop !== undefined && paused ? undefined : store.claim(id, owner, ttlMs, options)
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
    claim: (id, owner, ttlMs, { takeover: _takeover, ...options } = {}) => store.claim(id, owner, ttlMs, options),
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
    claim: async (id, owner, ttlMs, options) => {
      const stored = await store.get(id)
      if (stored?.lease !== undefined) await store.release(id, stored.epoch)
      return store.claim(id, owner, ttlMs, options)
    },
  })
}

function racesClaims(store: Store): Store {
  return overriding(store, {
    claim: async (id, owner, ttlMs, options) => {
      const seen = await store.get(id)
      const claimed = await store.claim(id, owner, ttlMs, options)
      if (claimed !== undefined || seen === undefined || seen.lease !== undefined) return claimed
      return { ...seen, epoch: seen.epoch + 1, lease: { owner, until: Infinity } }
    },
  })
}

function holdsForEver(store: Store): Store {
  return overriding(store, { claim: (id, owner, _, options) => store.claim(id, owner, 1e12, options) })
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
    renew: async (owner) => {
      const { runs } = await store.list({ limit: 1000 })
      return runs
        .filter(({ lease }) => lease?.owner === owner)
        .map(({ run: { id }, epoch, next }) => ({ id, epoch, next }))
    },
  })
}

function renewsLost(store: Store): Store {
  const claims = new Set<string>()
  return overriding(store, {
    create: async (draft) => {
      if (draft.claim) claims.add(`${draft.claim.owner} ${draft.run.id}`)
      return store.create(draft)
    },
    renew: async (owner, ttlMs) => {
      await store.renew(owner, ttlMs)
      const own = [...claims].filter((claim) => claim.startsWith(`${owner} `))
      return own.map((claim) => ({ id: claim.slice(owner.length + 1), epoch: 1, next: 2 }))
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
    claim: (id, owner, ttlMs, options) => store.claim(id, owner, ttlMs, { ...options, paused: true }),
  })
}

function keepsPaused(store: Store): Store {
  return overriding(store, { claim: (id, owner, ttlMs) => store.claim(id, owner, ttlMs) })
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
      return ids.toSorted().slice(0, limit) // the suite gives ids that sort by age
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
    claim: (id, owner, ttlMs, options) => store.claim(id, owner, ttlMs, { ...options, outOfOrder: true }),
  })
}

function neverOutOfOrder(store: Store): Store {
  return overriding(store, {
    claim: (id, owner, ttlMs, { paused = false } = {}) => store.claim(id, owner, ttlMs, { paused }),
  })
}

function claimsOnCreate(store: Store): Store {
  return overriding(store, {
    create: async (draft) => {
      const created = await store.create(draft)
      if (created.kind !== 'created' || !draft.claim || created.stored.lease) return created
      const { owner, ttlMs } = draft.claim
      const claimed = await store.claim(draft.run.id, owner, ttlMs, { outOfOrder: true })
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
