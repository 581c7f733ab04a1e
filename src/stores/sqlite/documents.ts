/** Documents of the embedded store: written by the committing thread, read from durable data. */
import type { Clock } from '../../core/ports/clock.ts'
import {
  type Document,
  type DocumentDraft,
  type DocumentPage,
  type DocumentQuery,
  type Documents,
  caseFolded,
} from '../../core/model/document.ts'
import type { DocumentAnswer, DocumentCommand } from './committing/document-writes.ts'
import type { ReadingThreadHandle } from './reading/reading-thread-handle.ts'

/** The parts of the store that documents need; both refuse if it is not open. */
export interface DocumentAccess {
  readonly request: ReadingThreadHandle['request']
  /** Resolves when the command is durable. */
  readonly write: (command: DocumentCommand) => Promise<DocumentAnswer>
}

export class SqliteDocuments implements Documents {
  readonly #access: DocumentAccess
  readonly #clock: Clock

  constructor(access: DocumentAccess, clock: Clock) {
    this.#access = access
    this.#clock = clock
  }

  get(owner: string, collection: string, id: string): Promise<Document | undefined> {
    return this.#access.request('document', owner, collection, id)
  }

  async put(draft: DocumentDraft, expected?: number): Promise<Document | undefined> {
    const { owner, collection, id, label, title } = draft
    const body = JSON.stringify(draft.body)
    const written = await this.#access.write({
      kind: 'put',
      key: { owner, collection, id },
      label: label ?? null,
      title: title ?? null,
      search: caseFolded(title ?? ''),
      body,
      at: new Date(this.#clock.now()).toISOString(),
      expected,
    })
    return written && { ...draft, body: JSON.parse(body) as unknown, ...written }
  }

  async remove(owner: string, collection: string, id: string): Promise<boolean> {
    return (await this.#access.write({ kind: 'remove', key: { owner, collection, id } })) !== undefined
  }

  list(query: DocumentQuery): Promise<DocumentPage> {
    return this.#access.request('documents', query)
  }
}
