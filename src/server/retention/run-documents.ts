/** Removes a run's documents, and its session if no run is left in it. */
import { type Document, SESSIONS } from '../../core/model/document.ts'
import type { Run } from '../../core/model/run.ts'
import { SHARES } from '../../core/access/share-links.ts'
import type { Store } from '../../core/ports/store.ts'
import { DEAD_LETTERS, DELIVERIES, PUSH_CONFIGS, TURNS } from '../../protocols/a2a/collections.ts'

/** Collections whose documents belong to the run in their label. */
export const RUN_COLLECTIONS: readonly string[] = [SHARES, TURNS, PUSH_CONFIGS, DELIVERIES, DEAD_LETTERS]

const PAGE = 50

/** Removes a finished run and its documents. Returns the number of removed documents. */
export async function removeRun(store: Store, { id, owner, session }: Run, sessionBefore: string): Promise<number> {
  let documents = 0
  for (const collection of RUN_COLLECTIONS) {
    for (;;) {
      const page = await store.documents.list({ collection, owner, label: id, limit: PAGE })
      for (const each of page.documents) if (await store.documents.remove(owner, collection, each.id)) documents++
      if (page.documents.length < PAGE) break
    }
  }
  // The run last, so that an interrupted removal is retried.
  await store.remove(id)
  const sessionDocument = await store.documents.get(owner, SESSIONS, session)
  if (
    sessionDocument !== undefined &&
    sessionDocument.updatedAt < sessionBefore &&
    (await removeStale(store, sessionDocument))
  )
    documents++
  return documents
}

/** Removes a document unless a run still needs it; returns whether it was removed. */
export async function removeStale(store: Store, document: Document): Promise<boolean> {
  if (await isNeeded(store, document)) return false
  const { owner, collection, id } = document
  if (!(await store.documents.remove(owner, collection, id))) return false
  // A run that started in the session meanwhile relied on the document, so restore it.
  if (!(await isNeeded(store, document))) return true
  await store.transfer.admitDocument(document)
  return false
}

async function isNeeded(store: Store, { owner, collection, id, label }: Document): Promise<boolean> {
  if (collection === SESSIONS) return (await store.list({ owner, session: id, limit: 1 })).runs.length > 0
  if (!RUN_COLLECTIONS.includes(collection)) return true
  return label === undefined || (await store.get(label)) !== undefined
}
