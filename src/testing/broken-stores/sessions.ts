/** Stores that update session documents wrongly. */
import { type Document, SESSIONS } from '../../core/model/document.ts'
import type { Run } from '../../core/model/run.ts'
import type { NewRun, Store } from '../../core/ports/store.ts'
import { withDocuments } from './documents.ts'
import { type BrokenStore, overriding } from './overriding.ts'

export const brokenSessions: readonly BrokenStore[] = [
  { name: 'has no documents of sessions', section: 'sessions', breakStore: makesNone },
  { name: 'does not touch a session that it knows', section: 'sessions', breakStore: touchesFirstOnly },
  { name: 'raises the version with a touch', section: 'sessions', breakStore: raisesVersion },
  { name: 'makes a session anew with every run', section: 'sessions', breakStore: overwrites },
  { name: 'moves the time of a session back', section: 'sessions', breakStore: movesBack },
  { name: 'touches the session of a run that it did not create', section: 'sessions', breakStore: touchesAnyway },
  { name: 'touches the session with every look at a run', section: 'sessions', breakStore: touchesOften },
  { name: 'removes a session with its run', section: 'sessions', breakStore: removesWithRun },
  { name: 'shares sessions among owners', section: 'sessions', breakStore: sharesSessions },
  { name: 'touches the session after the run was seen', section: 'sessions', breakStore: touchesLater },
]

export const brokenSessionRecoveries: readonly BrokenStore[] = [
  {
    name: 'has no documents of sessions on reopen',
    section: 'recovery of documents',
    breakStore: makesNone,
    afterReopen: true,
  },
  {
    name: 'does not touch a session that it knows on reopen',
    section: 'recovery of documents',
    breakStore: touchesFirstOnly,
    afterReopen: true,
  },
]

function session(store: Store, { owner, session: id }: Run): Promise<Document | undefined> {
  return store.documents.get(owner, SESSIONS, id)
}

/** Does something else to the session of a created run; `before` is its previous document. */
function afterCreate(store: Store, act: (run: Run, before: Document | undefined) => Promise<unknown>): Store {
  return overriding(store, {
    create: async (draft) => {
      const before = await session(store, draft.run)
      const created = await store.create(draft)
      if (created.kind === 'created') await act(draft.run, before)
      return created
    },
  })
}

function makesNone(store: Store): Store {
  return withDocuments(store, {
    get: async (owner, collection, id) =>
      collection === SESSIONS ? undefined : store.documents.get(owner, collection, id),
  })
}

function touchesFirstOnly(store: Store): Store {
  return changingRuns(store, async (draft) => {
    const known = await session(store, draft.run)
    return known === undefined ? draft.run.createdAt : known.updatedAt
  })
}

/** Creates runs with another time, which the session's update uses. */
function changingRuns(store: Store, timeOf: (draft: NewRun) => Promise<string>): Store {
  return overriding(store, {
    create: async (draft) => store.create({ ...draft, run: { ...draft.run, createdAt: await timeOf(draft) } }),
  })
}

function raisesVersion(store: Store): Store {
  return afterCreate(store, async (_, before) => before && store.documents.put(before))
}

function overwrites(store: Store): Store {
  return afterCreate(store, async ({ owner, component, session: id }) => {
    await store.documents.remove(owner, SESSIONS, id)
    await store.documents.put({ owner, collection: SESSIONS, id, label: component, body: {} })
  })
}

function movesBack(store: Store): Store {
  const latest = new Map<string, string>()
  const touching = afterCreate(store, async (run) => latest.set(`${run.owner} ${run.session}`, run.createdAt))
  return withDocuments(touching, {
    get: async (owner, collection, id) => {
      const document = await store.documents.get(owner, collection, id)
      return document && { ...document, updatedAt: latest.get(`${owner} ${id}`) ?? document.updatedAt }
    },
  })
}

function touchesAnyway(store: Store): Store {
  return overriding(store, {
    create: async (draft) => {
      const created = await store.create(draft)
      if (created.kind === 'created') return created
      const { owner, session: id } = draft.run
      await store.documents.put({ owner, collection: SESSIONS, id, body: {} })
      return created
    },
  })
}

function touchesOften(store: Store): Store {
  return overriding(store, {
    requestStop: async (id, stop) => {
      const stored = await store.requestStop(id, stop)
      const { owner, session: name } = stored!.run
      await store.documents.put({ owner, collection: SESSIONS, id: name, body: {} })
      return stored
    },
  })
}

function removesWithRun(store: Store): Store {
  return overriding(store, {
    remove: async (id) => {
      const stored = await store.get(id)
      const removed = await store.remove(id)
      if (stored) await store.documents.remove(stored.run.owner, SESSIONS, stored.run.session)
      return removed
    },
  })
}

function sharesSessions(store: Store): Store {
  return withDocuments(store, {
    get: async (owner, collection, id) => {
      const { documents } = await store.documents.list({ collection, limit: 100 })
      const found = documents.find((document) => document.id === id)
      return found && { ...found, owner }
    },
  })
}

/** Hides the document until shortly after the run is visible. */
function touchesLater(store: Store): Store {
  const hidden = new Set<string>()
  const creating = overriding(store, {
    create: async (draft) => {
      hidden.add(draft.run.session)
      const created = await store.create(draft)
      await new Promise((resolve) => setTimeout(resolve, 1))
      hidden.delete(draft.run.session)
      return created
    },
  })
  return withDocuments(creating, {
    get: async (owner, collection, id) => (hidden.has(id) ? undefined : store.documents.get(owner, collection, id)),
  })
}
