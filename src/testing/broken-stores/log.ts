/** Stores that break the rules of the log. */
import { HoldfastError, isHoldfastError, runNotFound } from '../../core/model/errors.ts'
import { lastOf, type Slice, sliceBefore } from '../../core/model/slice.ts'
import { isFinished, type Run } from '../../core/model/run.ts'
import type { Store, StoredRun } from '../../core/ports/store.ts'
import { type BrokenStore, BufferedWriter, commitTo, overriding } from './overriding.ts'

export const brokenLogs: readonly BrokenStore[] = [
  { name: 'drops the epoch check', section: 'log', breakStore: dropsEpochCheck },
  { name: 'drops the index check', section: 'log', breakStore: dropsIndexCheck },
  { name: 'commits the valid part of a refused batch', section: 'log', breakStore: takesWhatFits },
  { name: 'swallows a refusal', section: 'log', breakStore: swallowsRefusals },
  { name: 'accepts an append after the terminal event', section: 'log', breakStore: staysOpen },
  { name: 'counts durable records as pending', section: 'log', breakStore: countsForEver },
  { name: 'forgets the changes of a run', section: 'log', breakStore: dropsChanges },
  { name: 'returns a record twice at a page boundary', section: 'reads', breakStore: repeatsAtPages },
  { name: 'skips a record at a page boundary', section: 'reads', breakStore: skipsAtPages },
  { name: 'withholds the last record', section: 'log', breakStore: holdsLastBack },
  { name: 'reads without a limit', section: 'reads', breakStore: readsAll },
  { name: 'normalizes Unicode text', section: 'reads', breakStore: normalizesTexts },
  { name: 'never reports the end of a log', section: 'reads', breakStore: hidesTheEnd },
  { name: 'returns nothing for a cursor beyond the end', section: 'reads', breakStore: ignoresBeyondEnd },
  { name: 'moves a trimmed cursor to the first record', section: 'reads', breakStore: clampsTrimmed },
  { name: 'returns nothing for an unknown run', section: 'reads', breakStore: ignoresUnknown },
  { name: 'trims one record too many', section: 'reads', breakStore: trimsTooMuch },
  { name: 'trims the last record', section: 'reads', breakStore: trimsLast },
  { name: 'never reports a smaller size after trimming', section: 'reads', breakStore: neverShrinks },
]

export function dropsEpochCheck(store: Store): Store {
  return overriding(store, {
    writer: (id, { next }) =>
      new BufferedWriter(next, async (batch) => {
        const { epoch } = await existing(store, id)
        await commitTo(store, id, { epoch, next: batch[0]!.index }, batch)
      }),
  })
}

function dropsIndexCheck(store: Store): Store {
  return overriding(store, {
    writer: (id, { epoch, next }) =>
      new BufferedWriter(next, async (batch) => {
        const stored = await existing(store, id)
        await commitTo(store, id, { epoch, next: stored.next }, batch)
      }),
  })
}

function takesWhatFits(store: Store): Store {
  return overriding(store, {
    writer: (id, { epoch, next }) =>
      new BufferedWriter(next, async (batch) => {
        try {
          await commitTo(store, id, { epoch, next: batch[0]!.index }, batch)
        } catch (error) {
          const stored = await existing(store, id)
          const fitting = batch.filter(({ index }) => index >= stored.next)
          if (fitting[0]?.index === stored.next) await commitTo(store, id, { epoch, next: stored.next }, fitting)
          throw error
        }
      }),
  })
}

function swallowsRefusals(store: Store): Store {
  return overriding(store, {
    writer: (id, { epoch, next }) =>
      new BufferedWriter(next, async (batch) => {
        // The fault: the refusal is lost.
        await commitTo(store, id, { epoch, next: batch[0]!.index }, batch).catch(() => {})
      }),
  })
}

/** Ends runs only in its replies: the underlying log stays open. */
export function staysOpen(store: Store): Store {
  const ended = new Map<string, Run>()
  const shown = (stored: StoredRun): StoredRun => ({ ...stored, run: ended.get(stored.run.id) ?? stored.run })
  return overriding(store, {
    get: async (id) => {
      const stored = await store.get(id)
      return stored && shown(stored)
    },
    read: async (id, after, maxBytes) => {
      const slice = await store.read(id, after, maxBytes)
      const { next } = await existing(store, id)
      return slice && { ...slice, closed: ended.has(id) && lastOf(slice) === next - 1 }
    },
    writer: (id, { epoch, next }) =>
      new BufferedWriter(next, async (batch) => {
        const open = batch.map((append) => {
          if (append.change === undefined || !isFinished(append.change.status)) return append
          ended.set(id, append.change)
          return { ...append, change: undefined }
        })
        await commitTo(store, id, { epoch, next: batch[0]!.index }, open)
      }),
  })
}

function dropsChanges(store: Store): Store {
  return overriding(store, {
    writer: (id, claim) => {
      const writer = store.writer(id, claim)
      return new BufferedWriter(claim.next, async (batch) => {
        for (const { record } of batch) writer.append(record)
        await writer.flush()
      })
    },
  })
}

function countsForEver(store: Store): Store {
  return overriding(store, {
    writer: (id, claim) => Object.defineProperty(store.writer(id, claim), 'pending', { value: 1 }),
  })
}

function repeatsAtPages(store: Store): Store {
  return overriding(store, {
    read: async (id, after, maxBytes) => {
      const page = await store.read(id, after, maxBytes)
      if (page === undefined || after < 0) return page
      const before = (await store.read(id, after - 1, 1))!
      const bytes = new Uint8Array([...before.bytes, ...page.bytes])
      return { ...page, count: page.count + before.count, bytes }
    },
  })
}

function skipsAtPages(store: Store): Store {
  return overriding(store, {
    read: async (id, after, maxBytes) => {
      const page = await store.read(id, after, maxBytes)
      if (page === undefined || after < 0) return page
      return (await store.read(id, after + 1, maxBytes)) ?? page
    },
  })
}

export function holdsLastBack(store: Store): Store {
  return overriding(store, {
    read: async (id, after, maxBytes) => {
      const page = await store.read(id, after, maxBytes)
      const { next } = await existing(store, id)
      if (page === undefined || page.closed || lastOf(page) < next - 1 || next === 1) return page
      return page.count === 1 ? undefined : sliceBefore(page, next - 1)
    },
  })
}

function readsAll(store: Store): Store {
  return overriding(store, { read: (id, after) => store.read(id, after, Infinity) })
}

export function normalizesTexts(store: Store): Store {
  return changingPages(store, (page) => ({
    ...page,
    bytes: Buffer.from(Buffer.from(page.bytes).toString().normalize()),
  }))
}

function hidesTheEnd(store: Store): Store {
  return changingPages(store, (page) => ({ ...page, closed: false }))
}

function ignoresBeyondEnd(store: Store): Store {
  return answering(store, 'cursor_invalid', () => undefined)
}

function clampsTrimmed(store: Store): Store {
  return answering(store, 'cursor_expired', async (id, maxBytes) => {
    const { first } = await existing(store, id)
    return store.read(id, first - 1, maxBytes)
  })
}

function ignoresUnknown(store: Store): Store {
  return answering(store, 'not_found', () => undefined)
}

function trimsTooMuch(store: Store): Store {
  return overriding(store, { trim: (id, before) => store.trim(id, before + 1) })
}

function trimsLast(store: Store): Store {
  const empty = new Set<string>()
  return overriding(store, {
    trim: async (id, before) => {
      if (before >= (await existing(store, id)).next) empty.add(id)
      await store.trim(id, before)
    },
    read: async (id, after, maxBytes) => {
      const { next } = await existing(store, id)
      if (empty.has(id) && after < next - 1)
        throw new HoldfastError('cursor_expired', 'trimmed', { details: { earliest: next } })
      return store.read(id, after, maxBytes)
    },
  })
}

function neverShrinks(store: Store): Store {
  let most = 0
  return overriding(store, { size: async () => (most = Math.max(most, await store.size())) })
}

function changingPages(store: Store, change: (page: Slice) => Slice): Store {
  return overriding(store, {
    read: async (id, after, maxBytes) => {
      const page = await store.read(id, after, maxBytes)
      return page && change(page)
    },
  })
}

type Answer = (id: string, maxBytes: number) => Promise<Slice | undefined> | undefined

function answering(store: Store, code: HoldfastError['code'], answer: Answer): Store {
  return overriding(store, {
    read: async (id, after, maxBytes) => {
      try {
        return await store.read(id, after, maxBytes)
      } catch (error) {
        if (isHoldfastError(error, code)) return await answer(id, maxBytes)
        throw error
      }
    },
  })
}

async function existing(store: Store, id: string): Promise<StoredRun> {
  const stored = await store.get(id)
  if (stored === undefined) throw runNotFound(id)
  return stored
}
