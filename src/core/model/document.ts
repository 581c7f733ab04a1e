/**
 * Documents: small durable values beside the logs, such as the name and state of a session, or a webhook. Each belongs to an owner
 * (SEC-1) and is changed by compare-and-set.
 */
import type { Run } from './run.ts'

/** A small durable value beside the logs, such as the name of a session. */
export interface Document {
  /** Key of the owning principal. Owner, collection and id identify a document. */
  readonly owner: string
  readonly collection: string
  readonly id: string
  /** Listings filter by it. Example: a component. */
  readonly label?: string
  /** Listings search in it. */
  readonly title?: string
  /** A JSON value. */
  readonly body: unknown
  /** Starts at 1, incremented by each put. A removed document that is created again restarts at 1. */
  readonly version: number
  /** By the store's clock, or the creation time of the run that touched a session. */
  readonly createdAt: string
  readonly updatedAt: string
}

/** The new content of a document. An absent label or title is removed. */
export type DocumentDraft = Omit<Document, 'version' | 'createdAt' | 'updatedAt'>

/** Which documents to list. */
export interface DocumentQuery {
  readonly collection: string
  readonly owner?: string
  readonly label?: string
  /** Matches a part of the title, case-insensitively. */
  readonly title?: string
  /** The time to sort by. Default: `created`. */
  readonly order?: 'created' | 'updated'
  /** Oldest first. Default: newest first. Equal times are ordered by id, then owner, in the same direction. */
  readonly ascending?: boolean
  /** Number of matching documents to skip. */
  readonly offset?: number
  readonly limit: number
}

/** One page of documents. */
export interface DocumentPage {
  readonly documents: readonly Document[]
  /** Number of matches on all pages. */
  readonly total: number
}

/** The documents of a store. Writes are durable when they resolve. */
export interface Documents {
  get(owner: string, collection: string, id: string): Promise<Document | undefined>
  /** `expected`: the required current version; 0 if the document must not exist. Undefined, without a change, if the version differs. */
  put(draft: DocumentDraft, expected?: number): Promise<Document | undefined>
  /** Returns false if there is no such document. */
  remove(owner: string, collection: string, id: string): Promise<boolean>
  list(query: DocumentQuery): Promise<DocumentPage>
}

/** Collection of sessions. `Store.create` creates a document here for every session that has a run. */
export const SESSIONS = 'session'

/** The document of a session when its first run creates it. */
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

/** Normalizes a text for searches: case and composed or decomposed letters make no difference. */
export function caseFolded(text: string): string {
  // Both conversions: ς and σ share only their capital, the Kelvin sign and k only their small letter.
  return text.normalize('NFC').toLowerCase().toUpperCase()
}
