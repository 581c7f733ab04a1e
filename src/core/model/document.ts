/**
 * Documents: small durable values beside the logs, for what a protocol must remember and no run holds, such as the name and state of a
 * session or a webhook. Each belongs to an owner (SEC-1) and is changed by compare-and-set.
 */
import type { Run } from './run.ts'

/** A small durable value beside the logs, such as the name of a session. */
export interface Document {
  /** Key of the principal that it belongs to. Owner, collection and id together name a document. */
  readonly owner: string
  readonly collection: string
  readonly id: string
  /** What listings filter by, such as a component. */
  readonly label?: string
  /** What listings search in. */
  readonly title?: string
  /** A JSON value. */
  readonly body: unknown
  /** 1 at first, and one more with each put. One that was removed starts again at 1. */
  readonly version: number
  /** Both by the store's clock, or by the creation of the run that touched a session. */
  readonly createdAt: string
  readonly updatedAt: string
}

/** A document as it is to be; a label or title that is not given is not there afterwards. */
export type DocumentDraft = Omit<Document, 'version' | 'createdAt' | 'updatedAt'>

/** Which documents to list. */
export interface DocumentQuery {
  readonly collection: string
  readonly owner?: string
  readonly label?: string
  /** A part of the title, whatever its case. */
  readonly title?: string
  /** By which time. Default: `created`. */
  readonly order?: 'created' | 'updated'
  /** Oldest first. Default: newest first. Equal times by id, and then owner, in the same direction. */
  readonly ascending?: boolean
  /** How many of the matching ones to leave out first. */
  readonly offset?: number
  readonly limit: number
}

/** One page of documents. */
export interface DocumentPage {
  readonly documents: readonly Document[]
  /** How many match, on this page or not. */
  readonly total: number
}

/** The part of a store that keeps them. What was answered is durable. */
export interface Documents {
  get(owner: string, collection: string, id: string): Promise<Document | undefined>
  /** `expected`: the version that must be there, 0 for none. Undefined, and nothing changed, when it is another one. */
  put(draft: DocumentDraft, expected?: number): Promise<Document | undefined>
  /** False when there is none. */
  remove(owner: string, collection: string, id: string): Promise<boolean>
  list(query: DocumentQuery): Promise<DocumentPage>
}

/** Every session that has a run has a document here, which `Store.create` sees to. */
export const SESSIONS = 'session'

/** What a session is when its first run begins it. */
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

/** A text as searches compare it: upper and lower case, and composed and decomposed letters, are the same. */
export function caseFolded(text: string): string {
  // There and back: ς and σ share only their capital, the Kelvin sign and k only their small letter.
  return text.normalize('NFC').toLowerCase().toUpperCase()
}
