/** Stores that break the rules of store transfer. */
import { SESSIONS } from '../../core/model/document.ts'
import { isHoldfastError } from '../../core/model/errors.ts'
import type { TransferredRun, StoreTransfer } from '../../core/ports/store-transfer.ts'
import type { Run } from '../../core/model/run.ts'
import type { Store } from '../../core/ports/store.ts'
import { dropsEpochCheck } from './log.ts'
import { type BrokenStore, overriding } from './overriding.ts'

const faults: readonly (readonly [string, (store: Store) => Store])[] = [
  ['exports runs newest first', givesNewestFirst],
  ['exports runs without their keys', withoutKeys],
  ['exports sessions only', givesSessionsOnly],
  ['reports no workers', (store) => withMoving(store, { workers: async () => [] })],
  ['imports runs with a new epoch', admitting((kept) => withHead(kept, { epoch: 0 }))],
  ['loses the stop request of an imported run', admitting(withoutStop)],
  ['lets an imported log start at 0', admitting((kept) => withHead(kept, { first: 0, next: 1 }))],
  ['leaves an imported log open', admitting((kept) => withRun(kept, { ...kept.stored.run, status: 'running' }))],
  ['never lets imported runs be claimed', hidesAdmitted],
  ['lets the importer write after a claim', dropsEpochCheck],
  ['imports a run without its lane', admitting(({ stored, ...rest }) => ({ stored: outOfLane(stored), ...rest }))],
  ['ignores import conflicts', overlooksConflicts],
  ['touches the session of an imported run', touchesSessions],
  ['imports a document as a new one', makesDocumentsAnew],
]

export const brokenMoves: readonly BrokenStore[] = [
  ...faults.map(([name, breakStore]) => ({ name, section: 'moving', breakStore })),
  {
    name: 'forgets imported data on reopen',
    section: 'recovery of what was moved',
    breakStore: (store) => withMoving(store, { runs: async () => [] }),
    afterReopen: true,
  },
]

function withMoving(store: Store, overrides: Partial<StoreTransfer>): Store {
  const { transfer: moving } = store
  return overriding(store, {
    transfer: {
      workers: () => moving.workers(),
      runs: (limit, after) => moving.runs(limit, after),
      documents: (limit, after) => moving.documents(limit, after),
      admit: (kept, record) => moving.admit(kept, record),
      admitDocument: (document) => moving.admitDocument(document),
      ...overrides,
    },
  })
}

/** Stores another run than it gets. */
function admitting(change: (kept: TransferredRun) => TransferredRun): (store: Store) => Store {
  return (store) => withMoving(store, { admit: (kept, record) => store.transfer.admit(change(kept), record) })
}

function withHead(kept: TransferredRun, head: Partial<TransferredRun['stored']>): TransferredRun {
  return { ...kept, stored: { ...kept.stored, ...head } }
}

function withRun(kept: TransferredRun, run: Run): TransferredRun {
  return withHead(kept, { run })
}

function withoutStop({ stored: { stop: _, ...stored }, ...rest }: TransferredRun): TransferredRun {
  return { stored, ...rest }
}

function outOfLane({ run: { lane: _, ...run }, ...rest }: TransferredRun['stored']): TransferredRun['stored'] {
  return { run, ...rest }
}

function givesNewestFirst(store: Store): Store {
  return withMoving(store, { runs: async (limit, after) => (await store.transfer.runs(limit, after)).toReversed() })
}

function withoutKeys(store: Store): Store {
  return withMoving(store, {
    runs: async (limit, after) => (await store.transfer.runs(limit, after)).map(({ stored }) => ({ stored })),
  })
}

function givesSessionsOnly(store: Store): Store {
  return withMoving(store, {
    documents: async (limit, after) =>
      (await store.transfer.documents(limit, after)).filter(({ collection }) => collection === SESSIONS),
  })
}

function hidesAdmitted(store: Store): Store {
  const admitted = new Set<string>()
  const hiding = overriding(store, {
    claimable: async (limit, query) => (await store.claimable(limit, query)).filter((id) => !admitted.has(id)),
  })
  return withMoving(hiding, {
    admit: (kept, record) => {
      admitted.add(kept.stored.run.id)
      return store.transfer.admit(kept, record)
    },
  })
}

function overlooksConflicts(store: Store): Store {
  return withMoving(store, {
    admit: async (kept, record) => {
      await store.transfer.admit(kept, record).catch((error: unknown) => {
        if (!isHoldfastError(error, 'conflict')) throw error
      })
    },
  })
}

function touchesSessions(store: Store): Store {
  return withMoving(store, {
    admit: async (kept, record) => {
      const { owner, session } = kept.stored.run
      await store.transfer.admit(kept, record)
      await store.documents.put({ owner, collection: SESSIONS, id: session, body: {} })
    },
  })
}

function makesDocumentsAnew(store: Store): Store {
  return withMoving(store, {
    admitDocument: async ({ version: _, createdAt: _created, updatedAt: _updated, ...draft }) =>
      (await store.documents.put(draft, 0)) !== undefined,
  })
}
