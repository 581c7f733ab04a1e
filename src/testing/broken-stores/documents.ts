/** Stores that break the rules of documents. */
import type { Document, DocumentDraft, Documents } from '../../core/model/document.ts'
import type { Store } from '../../core/ports/store.ts'
import { type BrokenStore, overriding } from './overriding.ts'

/** Overrides that make a store's documents wrong. */
export type DocumentFault = (documents: Documents) => Partial<Documents>

export const brokenDocuments: readonly BrokenStore[] = withFaults('documents', [
  ['ignores the expected version', ignoresExpected],
  ['checks the version and writes later', checksFirst],
  ['does not count versions', showing((document) => ({ ...document, version: 1 }))],
  ['answers a put with the previous document', answersBefore],
  ['keeps the title that a put leaves out', keepsTitles],
  ['loses the label of a document', putting(({ label: _, ...draft }) => draft)],
  ['makes a document anew with every put', showing((document) => ({ ...document, createdAt: document.updatedAt }))],
  ['shares documents between owners', renaming((name) => ({ ...name, owner: 'everybody' }))],
  [
    'joins the parts of a document name ambiguously',
    renaming((name) => ({ ...name, collection: '', id: `${name.collection}:${name.id}` })),
  ],
  ['ignores the case of an id', renaming((name) => ({ ...name, id: name.id.toLowerCase() }))],
  ['reports the removal of a document that never existed', removesNothing],
  ['continues the version count after a removal', countsOn],
  ['treats a false body as missing', putting((draft) => ({ ...draft, body: draft.body || {} }))],
  ['truncates large bodies', putting((draft) => ({ ...draft, body: cut(draft.body) }))],
  ['stores a body by reference', keepsReferences],
  ['drops a put while another is under way', dropsConcurrent],
])

export const brokenDocumentRecoveries: readonly BrokenStore[] = withFaults('recovery of documents', [
  ['forgets documents on reopen', forgetsDocuments],
  ['brings removed documents back on reopen', ignoresRemovals],
  ['resets versions on reopen', showing((document) => ({ ...document, version: 1 }))],
  ['keeps half a document on reopen', showing((document) => ({ ...document, body: null }))],
]).map((broken) => ({ ...broken, afterReopen: true }))

export function withFaults(section: string, faults: readonly (readonly [string, DocumentFault])[]): BrokenStore[] {
  return faults.map(([name, fault]) => ({
    name,
    section,
    breakStore: (store) => withDocuments(store, fault(store.documents)),
  }))
}

export function withDocuments(store: Store, overrides: Partial<Documents>): Store {
  const { documents } = store
  return overriding(store, {
    documents: {
      get: (owner, collection, id) => documents.get(owner, collection, id),
      put: (draft, expected) => documents.put(draft, expected),
      remove: (owner, collection, id) => documents.remove(owner, collection, id),
      list: (query) => documents.list(query),
      ...overrides,
    },
  })
}

/** Returns other documents than it stores. */
function showing(change: (document: Document) => Document): DocumentFault {
  return (documents) => ({
    get: async (owner, collection, id) => {
      const kept = await documents.get(owner, collection, id)
      return kept && change(kept)
    },
    put: async (draft, expected) => {
      const put = await documents.put(draft, expected)
      return put && change(put)
    },
  })
}

/** Stores other documents than it gets. */
function putting(change: (draft: DocumentDraft) => DocumentDraft): DocumentFault {
  return (documents) => ({ put: (draft, expected) => documents.put(change(draft), expected) })
}

/** Stores documents under other names. */
function renaming(rename: (name: DocumentDraft) => DocumentDraft): DocumentFault {
  return (documents) => ({
    get: async (owner, collection, id) => {
      const name = rename({ owner, collection, id, body: null })
      const kept = await documents.get(name.owner, name.collection, name.id)
      return kept && { ...kept, owner, collection, id }
    },
    put: async (draft, expected) => {
      const { owner, collection, id } = draft
      const put = await documents.put(rename(draft), expected)
      return put && { ...put, owner, collection, id }
    },
    remove: (owner, collection, id) => {
      const name = rename({ owner, collection, id, body: null })
      return documents.remove(name.owner, name.collection, name.id)
    },
  })
}

function ignoresExpected(documents: Documents): Partial<Documents> {
  return { put: (draft) => documents.put(draft) }
}

function checksFirst(documents: Documents): Partial<Documents> {
  return {
    put: async (draft, expected) => {
      const before = await documents.get(draft.owner, draft.collection, draft.id)
      return expected === undefined || expected === (before?.version ?? 0) ? documents.put(draft) : undefined
    },
  }
}

function answersBefore(documents: Documents): Partial<Documents> {
  return {
    put: async (draft, expected) => {
      const before = await documents.get(draft.owner, draft.collection, draft.id)
      const put = await documents.put(draft, expected)
      return put && (before ?? put)
    },
  }
}

function keepsTitles(documents: Documents): Partial<Documents> {
  return {
    put: async (draft, expected) => {
      const before = await documents.get(draft.owner, draft.collection, draft.id)
      return documents.put({ ...(before?.title !== undefined && { title: before.title }), ...draft }, expected)
    },
  }
}

function removesNothing(documents: Documents): Partial<Documents> {
  return { remove: async (owner, collection, id) => (await documents.remove(owner, collection, id)) || true }
}

function countsOn(documents: Documents): Partial<Documents> {
  let removed = 0
  return {
    remove: async (owner, collection, id) => {
      removed += (await documents.get(owner, collection, id))?.version ?? 0
      return documents.remove(owner, collection, id)
    },
    put: async (draft, expected) => {
      const put = await documents.put(draft, expected)
      return put && { ...put, version: put.version + removed }
    },
  }
}

function cut(body: unknown): unknown {
  return typeof body === 'string' ? body.slice(0, 64 * 1024) : body
}

function keepsReferences(documents: Documents): Partial<Documents> {
  let body: unknown
  return {
    put: (draft, expected) => {
      body = draft.body
      return documents.put(draft, expected)
    },
    get: async (owner, collection, id) => {
      const kept = await documents.get(owner, collection, id)
      return kept && { ...kept, body }
    },
  }
}

function dropsConcurrent(documents: Documents): Partial<Documents> {
  let underWay: Promise<Document | undefined> | undefined
  return {
    put: (draft, expected) => {
      underWay ??= documents.put(draft, expected).finally(() => (underWay = undefined))
      return underWay
    },
  }
}

function forgetsDocuments(): Partial<Documents> {
  return { get: async () => undefined, list: async () => ({ documents: [], total: 0 }) }
}

function ignoresRemovals(documents: Documents): Partial<Documents> {
  return {
    get: async (owner, collection, id) =>
      (await documents.get(owner, collection, id)) ??
      ({ owner, collection, id, body: null, version: 1, createdAt: '', updatedAt: '' } satisfies Document),
  }
}
