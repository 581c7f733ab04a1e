/**
 * Documents: small durable values beside the logs, for state that belongs to no run, such as a session's name or a webhook. Each
 * document belongs to an owner (SEC-1) and is changed by compare-and-set.
 */
import type { Run } from './run.ts'

/** A small durable value beside the logs, such as the name of a session. */
export interface Document {
  /** Key of the principal that owns it. Owner, collection and id together identify a document. */
  readonly owner: string
  readonly collection: string
  readonly id: string
  /** Listings filter by it. The label of a session is its component. */
  readonly label?: string
  /** Listings search in it. */
  readonly title?: string
  /** A JSON value. */
  readonly body: unknown
  /** Starts at 1; every put adds 1. A document that is removed and put again starts at 1. */
  readonly version: number
  /** By the store's clock; for a session, the creation time of its first run. */
  readonly createdAt: string
  /** By the store's clock; for a session, at least the creation time of its latest run. */
  readonly updatedAt: string
}

/** A document to store. It replaces the whole document: a label or title that is absent is removed. */
export type DocumentDraft = Omit<Document, 'version' | 'createdAt' | 'updatedAt'>

/** A position in a listing of documents: the sort key of the last document of a page. */
export interface DocumentPosition {
  /** `createdAt` or `updatedAt`, whichever the listing is ordered by. */
  readonly time: string
  readonly id: string
  readonly owner: string
}

/** Which documents to list. */
export interface DocumentQuery {
  readonly collection: string
  readonly owner?: string
  readonly label?: string
  /** Part of the title, ignoring case. */
  readonly title?: string
  /** Sort key. Default: `created`. */
  readonly order?: 'created' | 'updated'
  /** Oldest first. Default: newest first. Equal times are ordered by id, then owner, in the same direction. */
  readonly ascending?: boolean
  /** Only documents that come after this position in listing order. */
  readonly after?: DocumentPosition
  /** Number of documents to skip. Default: 0. */
  readonly offset?: number
  readonly limit: number
}

/** The sort key of a document in a listing. */
export function documentPosition(
  { createdAt, updatedAt, id, owner }: Pick<Document, 'createdAt' | 'updatedAt' | 'id' | 'owner'>,
  order: DocumentQuery['order'] = 'created',
): DocumentPosition {
  return { time: order === 'created' ? createdAt : updatedAt, id, owner }
}

/** One page of documents. */
export interface DocumentPage {
  readonly documents: readonly Document[]
  /** Number of documents that match the filters, on all pages. */
  readonly total: number
  /** `after` of the next page; absent on the last. */
  readonly next?: DocumentPosition
}

/** The document part of a store. A promise that resolves means that the change is durable. */
export interface Documents {
  get(owner: string, collection: string, id: string): Promise<Document | undefined>
  /** Compare-and-set: returns undefined and changes nothing unless the current version is `expected` (0: none exists). Default: any. */
  put(draft: DocumentDraft, expected?: number): Promise<Document | undefined>
  /** False if it does not exist. */
  remove(owner: string, collection: string, id: string): Promise<boolean>
  list(query: DocumentQuery): Promise<DocumentPage>
}

/** Collection of session documents. `Store.create` makes sure that every session with a run has one. */
export const SESSIONS = 'session'

/** The document of a session that its first run creates. */
export function sessionDocument({ owner, session, component, createdAt }: Run): Document {
  return {
    owner,
    collection: SESSIONS,
    id: session,
    label: component,
    body: {},
    version: 1,
    createdAt,
    updatedAt: createdAt,
  }
}

/** Normalizes a text for search: ignores case, and treats composed and decomposed letters as equal. */
export function caseFolded(text: string): string {
  // Lower, then upper: ς and σ share only their capital, the Kelvin sign and k only their small letter.
  return text.normalize('NFC').toLowerCase().toUpperCase()
}
