/** Stores that break a rule only after a reopen. */
import { lastOf, sliceAfter, sliceBefore } from '../../core/model/slice.ts'
import type { Store, StoredRun } from '../../core/ports/store.ts'
import { givesHeldAway, ignoresLanes } from './leases.ts'
import { dropsEpochCheck, holdsLastBack, normalizesTexts, staysOpen } from './log.ts'
import { type BrokenStore, overriding } from './overriding.ts'
import { forgetsKeys } from './runs.ts'
import { showsPending } from './signals.ts'

/** Index of the record that is missing from a log with a gap. */
const HOLE = 30

export const brokenRecoveries: readonly BrokenStore[] = [
  { name: 'returns records that a kill loses', section: 'recovery', breakStore: showsPending },
  ...(
    [
      ['loses the last record that was flushed', holdsLastBack],
      ['changes the bytes of a log', normalizesTexts],
      ['forgets idempotency keys', forgetsKeys],
      ['forgets stop requests', forgetsStops],
      ['forgets leases', givesHeldAway],
      ['forgets lanes', ignoresLanes],
      ['resets epochs', dropsEpochCheck],
      ['reopens a closed log', forgetsTheEnd],
      ['leaves a gap', leavesHole],
      ['forgets run changes', forgetsChanges],
      ['restores trimmed records', forgetsTrim],
      ['reports that it is not durable', saysFleeting],
      ['sends no hints', (store: Store) => overriding(store, { watch: () => () => {} })],
    ] as const
  ).map(([name, breakStore]) => ({ name: `${name} on reopen`, section: 'recovery', breakStore, afterReopen: true })),
]

function forgetsStops(store: Store): Store {
  return overriding(store, {
    get: async (id) => {
      const stored = await store.get(id)
      if (stored === undefined) return undefined
      const { stop: _, ...rest } = stored
      return rest
    },
  })
}

function forgetsTheEnd(store: Store): Store {
  const open = staysOpen(store)
  return overriding(open, {
    writer: (id, claim) => {
      const writer = open.writer(id, claim)
      const flush = writer.flush.bind(writer)
      writer.flush = () => flush().catch(() => {}) // the fault
      return writer
    },
  })
}

function leavesHole(store: Store): Store {
  return overriding(store, {
    read: async (id, after, maxBytes) => {
      const page = await store.read(id, after, maxBytes)
      if (page === undefined || page.first >= HOLE || lastOf(page) <= HOLE) return page
      const bytes = Buffer.concat([sliceBefore(page, HOLE).bytes, sliceAfter(page, HOLE).bytes])
      return { ...page, count: page.count - 1, bytes }
    },
  })
}

function asCreated({ run, ...rest }: StoredRun): StoredRun {
  return { ...rest, run: { ...run, status: 'queued' } }
}

function forgetsChanges(store: Store): Store {
  return overriding(store, {
    get: async (id) => {
      const stored = await store.get(id)
      return stored && asCreated(stored)
    },
    list: async (query) => {
      const page = await store.list(query)
      return { ...page, runs: page.runs.map(asCreated) }
    },
  })
}

function forgetsTrim(store: Store): Store {
  return overriding(store, {
    get: async (id) => {
      const stored = await store.get(id)
      return stored && { ...stored, first: 0 }
    },
  })
}

function saysFleeting(store: Store): Store {
  return overriding(store, { capabilities: { ...store.capabilities, durable: false } })
}
