/** Stores that break the rules of hints and visibility. */
import { sliceOf } from '../../core/model/slice.ts'
import type { Run } from '../../core/model/run.ts'
import type { Hint, HintListener, Store } from '../../core/ports/store.ts'
import { holdsLastBack } from './log.ts'
import { type Append, type BrokenStore, BufferedWriter, commitTo, overriding } from './overriding.ts'

export const brokenSignals: readonly BrokenStore[] = [
  { name: 'sends no hints', section: 'signals', breakStore: (store) => overriding(store, { watch: () => () => {} }) },
  { name: 'sends all hints to all watchers', section: 'signals', breakStore: hintsEverybody },
  { name: 'sends hints after unsubscribe', section: 'signals', breakStore: neverLetsGo },
  { name: 'announces records before they are durable', section: 'signals', breakStore: announcesEarly },
  { name: 'carries other records than it announces', section: 'signals', breakStore: carriesOthers },
  { name: 'shows a change before its record', section: 'signals', breakStore: showsChangeEarly },
  { name: 'loses hints together with their records', section: 'signals', breakStore: losesHintAndRecord },
  { name: 'loses the hint of a stop', section: 'signals', breakStore: (store) => dropping(store, ({ stop }) => stop) },
  {
    name: 'loses the hint of a claimable run',
    section: 'signals',
    breakStore: (store) => dropping(store, ({ claimable }) => claimable),
  },
]

function hintsEverybody(store: Store): Store {
  return overriding(store, { watch: (_, listener) => store.watch('*', listener) })
}

function neverLetsGo(store: Store): Store {
  return overriding(store, {
    watch: (id, listener) => {
      store.watch(id, listener)
      return () => {}
    },
  })
}

function announcesEarly(store: Store): Store {
  const listeners: HintListener[] = []
  return overriding(store, {
    watch: (id, listener) => {
      listeners.push(listener)
      return store.watch(id, listener)
    },
    writer: (id, claim) => {
      const writer = store.writer(id, claim)
      return overridingAppend(writer, () => {
        for (const listener of listeners) listener({ run: id, next: writer.next })
      })
    },
  })
}

function overridingAppend(writer: ReturnType<Store['writer']>, after: () => void): ReturnType<Store['writer']> {
  return new Proxy(writer, {
    get(target, key) {
      if (key !== 'append') {
        const value: unknown = Reflect.get(target, key, target)
        return typeof value === 'function' ? value.bind(target) : value
      }
      return (record: string, change?: Run) => {
        target.append(record, change)
        after()
      }
    },
  })
}

function carriesOthers(store: Store): Store {
  return overriding(store, {
    watch: (id, listener) =>
      store.watch(id, (hint) => listener(hint.slice ? { ...hint, slice: { ...hint.slice, first: 0 } } : hint)),
  })
}

function showsChangeEarly(store: Store): Store {
  const changes = new Map<string, Run>()
  return overriding(store, {
    writer: (id, { epoch, next }) =>
      new BufferedWriter(next, async (batch) => {
        const change = batch.findLast((append) => append.change)?.change
        if (change !== undefined) changes.set(id, change)
        await new Promise((resolve) => setTimeout(resolve, 2))
        await commitTo(store, id, { epoch, next: batch[0]!.index }, batch)
      }),
    get: async (id) => {
      const stored = await store.get(id)
      return stored && { ...stored, run: changes.get(id) ?? stored.run }
    },
  })
}

/** Readers see only what a hint announced: without a hint, the record is missing. */
function losesHintAndRecord(store: Store): Store {
  return overriding(holdsLastBack(store), { watch: () => () => {} })
}

function dropping(store: Store, isLost: (hint: Hint) => boolean | undefined): Store {
  return overriding(store, { watch: (id, listener) => store.watch(id, (hint) => isLost(hint) || listener(hint)) })
}

/** Reads return appended records at once, and a kill loses them. */
export function showsPending(store: Store): Store {
  const pending = new Map<string, Append[]>()
  return overriding(store, {
    writer: (id, { epoch, next }) => {
      const own: Append[] = []
      pending.set(id, own)
      const buffered = new BufferedWriter(next, async (batch) => {
        await commitTo(store, id, { epoch, next: batch[0]!.index }, batch)
        own.splice(0, batch.length)
      })
      const append = buffered.append.bind(buffered)
      buffered.append = (record, change) => {
        own.push({ index: buffered.next, record, change })
        append(record, change)
      }
      return buffered
    },
    read: async (id, after, maxBytes) => {
      const stored = await store.get(id)
      const early = (pending.get(id) ?? []).filter(({ index }) => index > after)
      if (stored === undefined || after < stored.next - 1 || early.length === 0) return store.read(id, after, maxBytes)
      return sliceOf(
        early[0]!.index,
        early.map(({ record }) => record),
        false,
      )
    },
  })
}
