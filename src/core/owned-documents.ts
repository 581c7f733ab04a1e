/** The documents of one principal, as protocols get at them: whatever is too large or badly named is refused here. */
import type { Document, DocumentDraft, DocumentPage, DocumentQuery, Documents } from './document.ts'
import { HoldfastError, messageOf } from './errors.ts'
import type { Limits } from './limits.ts'
import { serialize } from './serialize.ts'

export type OwnedDraft = Omit<DocumentDraft, 'owner'>

export type OwnedQuery = Omit<DocumentQuery, 'owner' | 'limit'> & { readonly limit?: number }

const LIMIT = 50

export class OwnedDocuments {
  readonly #documents: Documents
  readonly #owner: string
  readonly #limits: Limits

  constructor(documents: Documents, owner: string, limits: Limits) {
    this.#documents = documents
    this.#owner = owner
    this.#limits = limits
  }

  get(collection: string, id: string): Promise<Document | undefined> {
    return this.#documents.get(this.#owner, collection, id)
  }

  /** `expected`: the version that must be there, 0 for none. Undefined, and nothing changed, when it is another one. */
  async put(draft: OwnedDraft, expected?: number): Promise<Document | undefined> {
    const { collection, id, label, title } = draft
    for (const [what, name] of Object.entries({ collection, id, label })) this.#checkName(what, name)
    if (title !== undefined) this.#checkText('title', title)
    return this.#documents.put(
      {
        owner: this.#owner,
        collection,
        id,
        ...(label !== undefined && { label }),
        ...(title !== undefined && { title }),
        body: this.#plain(draft.body),
      },
      expected,
    )
  }

  remove(collection: string, id: string): Promise<boolean> {
    return this.#documents.remove(this.#owner, collection, id)
  }

  list(query: OwnedQuery): Promise<DocumentPage> {
    return listWithin(this.#documents, { limit: LIMIT, ...query, owner: this.#owner }, this.#limits)
  }

  #checkName(what: string, name: string | undefined): void {
    if (name === '') throw new HoldfastError('invalid_request', `the ${what} of a document is empty`)
    if (name !== undefined) this.#checkText(what, name)
  }

  /** Stores keep UTF-8 text: what has no UTF-8 would come back as something else, and not every store takes U+0000. */
  #checkText(what: string, text: string): void {
    const { nameCharsMax } = this.#limits
    if (text.length > nameCharsMax)
      throw new HoldfastError('invalid_request', `the ${what} of a document is longer than ${nameCharsMax} characters`)
    if (!text.isWellFormed() || text.includes('\0'))
      throw new HoldfastError('invalid_request', `the ${what} of a document has a character that cannot be stored`)
  }

  /** The body as JSON has it. */
  #plain(body: unknown): unknown {
    const { eventDepthMax: depthMax, documentBytesMax: bytesMax } = this.#limits
    try {
      return JSON.parse(serialize(body, 'body', { depthMax, bytesMax })) as unknown
    } catch (cause) {
      throw new HoldfastError('invalid_request', messageOf(cause), { cause })
    }
  }
}

/** A page of a listing, of bounded size. */
export async function listWithin(documents: Documents, query: DocumentQuery, limits: Limits): Promise<DocumentPage> {
  for (const [what, count] of Object.entries({ offset: query.offset ?? 0, limit: query.limit })) {
    if (!Number.isSafeInteger(count) || count < 0)
      throw new HoldfastError('invalid_request', `the ${what} of a listing is a whole number, 0 or more`)
  }
  return documents.list({ ...query, limit: Math.min(query.limit, limits.pageDocumentsMax) })
}
