/** The suite passes for a slow store that loses unsynced data when it is killed. */
import type { Store } from '../../src/core/ports/store.ts'
import { createMemoryStore } from '../../src/stores/memory.ts'
import { BufferedWriter, commitTo, overriding } from '../../src/testing/broken-stores.ts'
import { storeConformance } from '../../src/testing/stores.ts'
import { reopening } from './reopening.ts'

const killed = new WeakSet<Store>()
const slow = { open: createMemoryStore, handle: slowHandle, kill: (handle: Store) => void killed.add(handle) }

storeConformance(reopening({ ...slow, name: 'a slow store' }))
storeConformance(
  reopening({
    ...slow,
    name: 'a slow store that voids the claims of the dead',
    recover: releaseAll,
    leasesSurviveReopen: false,
  }),
)

/** Every response takes two ticks of the event loop, and responses in flight are lost when the process dies. */
function slowHandle(store: Store): Store {
  const turn = async (): Promise<void> => {
    await new Promise((resolve) => setImmediate(resolve))
    if (killed.has(handle)) await new Promise(() => {})
  }
  const slowly =
    <Parameters extends unknown[], Answer>(call: (...parameters: Parameters) => Promise<Answer>) =>
    async (...parameters: Parameters): Promise<Answer> => {
      await turn()
      const answer = await call(...parameters)
      await turn()
      return answer
    }
  const handle = overriding(store, {
    create: slowly((run) => store.create(run)),
    get: slowly((id) => store.get(id)),
    list: slowly((query) => store.list(query)),
    remove: slowly((id) => store.remove(id)),
    writer: (id, { epoch, next }, onRefused) => {
      const commit = slowly((batch: Parameters<typeof commitTo>[3]) =>
        commitTo(store, id, { epoch, next: batch[0]!.index }, batch).catch((cause: unknown) => {
          onRefused?.(cause)
          throw cause
        }),
      )
      return new BufferedWriter(next, commit)
    },
    read: slowly((id, after, maxBytes) => store.read(id, after, maxBytes)),
    trim: slowly((id, before) => store.trim(id, before)),
    size: slowly(() => store.size()),
    claim: slowly((id, owner, ttlMs, options) => store.claim(id, owner, ttlMs, options)),
    renew: slowly((owner, ttlMs, components) => store.renew(owner, ttlMs, components)),
    release: slowly((id, epoch) => store.release(id, epoch)),
    claimable: slowly((limit, query) => store.claimable(limit, query)),
    requestStop: slowly((id, stop) => store.requestStop(id, stop)),
    documents: {
      get: slowly((owner, collection, id) => store.documents.get(owner, collection, id)),
      put: slowly((draft, expected) => store.documents.put(draft, expected)),
      remove: slowly((owner, collection, id) => store.documents.remove(owner, collection, id)),
      list: slowly((query) => store.documents.list(query)),
    },
    watch: (id, listener) => {
      let watching = true
      const leave = store.watch(id, (hint) => setImmediate(() => watching && listener(hint)))
      return () => {
        watching = false
        leave()
      }
    },
  })
  return handle
}

async function releaseAll(store: Store): Promise<void> {
  const { runs } = await store.list({ limit: 1_000_000 })
  for (const { run, epoch } of runs) await store.release(run.id, epoch)
}
