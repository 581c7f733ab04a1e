/** The documents of one principal, for protocols: validates names and sizes. */
import type {
  Document,
  DocumentDraft,
  DocumentPage,
  DocumentPosition,
  DocumentQuery,
  Documents,
} from '../model/document.ts'
import { HoldfastError, messageOf } from '../model/errors.ts'
import type { Limits } from '../model/limits.ts'
import { shareEventLoop } from '../runtime/share-event-loop.ts'
import { checkName, checkTitle } from '../model/names.ts'
import type { Redactor } from '../redaction/redactor.ts'
import { serialize } from '../model/serialize.ts'
import type { BodyBefore } from '../access/storage-quota.ts'

export type OwnedDraft = Omit<DocumentDraft, 'owner'>

/** A query for the documents of one owner. Default: `limit: 50`. */
export type OwnedQuery = Omit<DocumentQuery, 'owner' | 'limit' | 'after'> & {
  readonly limit?: number
  readonly after?: Omit<DocumentPosition, 'owner'>
}

/** Changes to a document. Absent fields stay unchanged. */
export type DocumentChanges = Pick<Partial<DocumentDraft>, 'label' | 'title' | 'body'>

export interface DocumentChecks {
  /** Throws `forbidden` if the caller may not do this. */
  readonly require: (action: 'read' | 'edit') => void
  /** Throws if the owner may not store a body of this size. */
  readonly admit: (owner: string, bytes: number, before: BodyBefore, collection: string) => Promise<void>
  readonly redactor: Redactor | undefined
}

export interface PutOptions {
  /** Ignore the storage quota, for documents that an accepted run needs. */
  readonly beyondQuota?: boolean
  /** Skip redaction, for encrypted credentials and for data that is sent to others. */
  readonly unredacted?: boolean
}

const LIMIT = 50

const UPDATE_TRIES_MAX = 10

export class OwnedDocuments {
  readonly #documents: Documents
  readonly #owner: string
  readonly #limits: Limits
  readonly #checks: DocumentChecks

  constructor(documents: Documents, owner: string, limits: Limits, checks: DocumentChecks) {
    this.#documents = documents
    this.#owner = owner
    this.#limits = limits
    this.#checks = checks
  }

  async get(collection: string, id: string): Promise<Document | undefined> {
    this.#checks.require('read')
    return this.#documents.get(this.#owner, collection, id)
  }

  /** `expected`: the required current version; 0 if the document must not exist. Undefined, without a change, if the version differs. */
  async put(draft: OwnedDraft, expected?: number, options: PutOptions = {}): Promise<Document | undefined> {
    this.#checks.require('edit')
    const redactor = options.unredacted === true ? undefined : this.#checks.redactor
    const { collection, id, label } = draft
    const title = draft.title === undefined ? undefined : (redactor?.text(draft.title) ?? draft.title)
    const { maxNameChars } = this.#limits
    for (const [what, name] of Object.entries({ collection, id, label }))
      if (name !== undefined) checkName(`${what} of a document`, name, maxNameChars)
    if (title !== undefined) checkTitle('title of a document', title, maxNameChars)
    const unredacted = this.#serialized(draft.body)
    const body = redactor === undefined ? unredacted : JSON.stringify(redactor.value(JSON.parse(unredacted)))
    if (!options.beyondQuota)
      await this.#checks.admit(
        this.#owner,
        Buffer.byteLength(body),
        () => this.#documents.get(this.#owner, collection, id),
        collection,
      )
    return this.#documents.put(
      {
        owner: this.#owner,
        collection,
        id,
        ...(label !== undefined && { label }),
        ...(title !== undefined && { title }),
        body: JSON.parse(body) as unknown,
      },
      expected,
    )
  }

  /**
   * Changes a document by compare-and-set, and retries after a concurrent change. `change` returns undefined to leave it unchanged.
   * Undefined if there is no such document.
   */
  async update(
    collection: string,
    id: string,
    change: (known: Document) => DocumentChanges | undefined,
  ): Promise<Document | undefined> {
    for (let tries = 0; tries < UPDATE_TRIES_MAX; tries++) {
      const known = await this.get(collection, id)
      const changes = known === undefined ? undefined : change(known)
      if (known === undefined || changes === undefined) return known
      const { label = known.label, title = known.title, body = known.body } = changes
      const draft = {
        collection,
        id,
        body,
        ...(label !== undefined && { label }),
        ...(title !== undefined && { title }),
      }
      const changed = await this.put(draft, known.version)
      if (changed !== undefined) return changed
    }
    throw new HoldfastError(
      'conflict',
      `${collection} ${id.slice(0, 100)} is being changed by other requests: try again`,
    )
  }

  async remove(collection: string, id: string): Promise<boolean> {
    this.#checks.require('edit')
    return this.#documents.remove(this.#owner, collection, id)
  }

  async list({ after, ...query }: OwnedQuery): Promise<DocumentPage> {
    await shareEventLoop()
    this.#checks.require('read')
    const owner = this.#owner
    const owned = { limit: LIMIT, ...query, owner, ...(after && { after: { ...after, owner } }) }
    return listWithin(this.#documents, owned, this.#limits)
  }

  /** The body as JSON. */
  #serialized(body: unknown): string {
    const { maxEventDepth: maxDepth, maxDocumentBytes: maxBytes } = this.#limits
    try {
      return serialize(body, 'body', { maxDepth, maxBytes })
    } catch (cause) {
      throw new HoldfastError('invalid_request', messageOf(cause), { cause })
    }
  }
}

/** A page of documents within the size limit of a response. */
export async function listWithin(documents: Documents, query: DocumentQuery, limits: Limits): Promise<DocumentPage> {
  for (const [what, count] of Object.entries({ offset: query.offset ?? 0, limit: query.limit })) {
    if (!Number.isSafeInteger(count) || count < 0)
      throw new HoldfastError('invalid_request', `the ${what} of a listing must be a whole number, 0 or more`)
  }
  return documents.list({ ...query, limit: Math.min(query.limit, limits.maxPageDocuments) })
}
