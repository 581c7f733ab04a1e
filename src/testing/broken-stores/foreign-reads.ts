/** Stores that return wrong records, like a diverged replica. */
import type { Slice } from '../../core/model/slice.ts'
import type { Store } from '../../core/ports/store.ts'
import { type BrokenStore, overriding } from './overriding.ts'

export const brokenReads: readonly BrokenStore[] = [
  { name: 'returns the records of another run', section: 'reads', breakStore: readsAnotherRun },
  { name: 'ends a page with a record of another run', section: 'reads', breakStore: endsInAnotherRun },
  { name: 'returns a page without records', section: 'reads', breakStore: readsNothing },
  { name: 'returns a page that does not pass the cursor', section: 'reads', breakStore: readsTheSameAgain },
  { name: 'numbers the records of a page wrongly', section: 'reads', breakStore: renumbers },
]

function readsAnotherRun(store: Store): Store {
  return changing(store, (page, id) => ({ ...page, bytes: renamed(page.bytes, id) }))
}

function endsInAnotherRun(store: Store): Store {
  return changing(store, (page, id) => {
    const last = Buffer.from(page.bytes).lastIndexOf('\nid: ') + 1
    return { ...page, bytes: Buffer.concat([page.bytes.subarray(0, last), renamed(page.bytes.subarray(last), id)]) }
  })
}

/** Ids of other runs often have the same length, so the records look right except for the id. */
function renamed(bytes: Uint8Array, id: string): Uint8Array {
  const other = `${id.slice(0, -1)}${id.endsWith('~') ? '-' : '~'}`
  return Buffer.from(Buffer.from(bytes).toString().replaceAll(`{"run":"${id}"`, `{"run":"${other}"`))
}

function readsNothing(store: Store): Store {
  return changing(store, (page) => ({ ...page, count: 0, bytes: new Uint8Array() }))
}

function readsTheSameAgain(store: Store): Store {
  return overriding(store, {
    read: async (id, after, maxBytes) =>
      (await store.read(id, after, maxBytes)) && (await store.read(id, Math.max(-1, after - 1), 1)),
  })
}

function renumbers(store: Store): Store {
  return changing(store, (page) => ({ ...page, first: page.first + 1 }))
}

/** Changes every page but the first. */
function changing(store: Store, change: (page: Slice, id: string) => Slice): Store {
  return overriding(store, {
    read: async (id, after, maxBytes) => {
      const page = await store.read(id, after, maxBytes)
      return page === undefined || after < 0 ? page : change(page, id)
    },
  })
}
