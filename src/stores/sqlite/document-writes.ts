/** What the committing thread does to documents: each command is decided inside the transaction that writes it. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { type Document, SESSIONS } from '../../core/document.ts'
import type { RunRow } from './messages.ts'

export type DocumentKey = Pick<Document, 'owner' | 'collection' | 'id'>

export type DocumentCommand =
  | {
      readonly kind: 'put'
      readonly key: DocumentKey
      readonly label: string | null
      readonly title: string | null
      /** The title as searches compare it. */
      readonly search: string
      /** JSON. */
      readonly body: string
      readonly at: string
      /** The version that must be there, 0 for none. */
      readonly expected: number | undefined
    }
  | {
      /** With the version and the times that it has; nothing where there is one of its name. */
      readonly kind: 'admit'
      readonly key: DocumentKey
      readonly label: string | null
      readonly title: string | null
      readonly search: string
      readonly body: string
      readonly version: number
      readonly createdAt: string
      readonly updatedAt: string
    }
  | { readonly kind: 'remove'; readonly key: DocumentKey }

/** Of the document that was written or removed; undefined when nothing was. */
export type DocumentAnswer = Pick<Document, 'version' | 'createdAt' | 'updatedAt'> | undefined

export class DocumentWrites {
  readonly #version: StatementSync
  readonly #put: StatementSync
  readonly #admit: StatementSync
  readonly #remove: StatementSync
  readonly #touch: StatementSync

  constructor(database: DatabaseSync) {
    this.#touch = database.prepare(
      `INSERT INTO documents (collection, owner, id, label, search, version, created, updated, body)
       VALUES ('${SESSIONS}', ?, ?, ?, '', 1, ?4, ?4, '{}')
       ON CONFLICT (collection, owner, id) DO UPDATE SET updated = excluded.updated WHERE excluded.updated > updated`,
    )
    this.#version = database.prepare('SELECT version FROM documents WHERE owner = ? AND collection = ? AND id = ?')
    this.#put = database.prepare(
      `INSERT INTO documents (owner, collection, id, label, title, search, body, created, updated, version)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?8, ?8, 1)
       ON CONFLICT (collection, owner, id) DO UPDATE SET label = excluded.label, title = excluded.title,
         search = excluded.search, body = excluded.body, version = version + 1, updated = max(updated, excluded.updated)
       RETURNING version, created AS createdAt, updated AS updatedAt`,
    )
    this.#admit = database.prepare(
      `INSERT INTO documents (owner, collection, id, label, title, search, body, version, created, updated)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
       RETURNING version, created AS createdAt, updated AS updatedAt`,
    )
    this.#remove = database.prepare(
      `DELETE FROM documents WHERE owner = ? AND collection = ? AND id = ?
       RETURNING version, created AS createdAt, updated AS updatedAt`,
    )
  }

  /** A run is created in a session: `sessionDocument` where there is none, and its time where there is one. */
  touch({ owner, session, component, created }: RunRow): void {
    this.#touch.run(owner, session, component, created)
  }

  apply(command: DocumentCommand): DocumentAnswer {
    const { owner, collection, id } = command.key
    if (command.kind === 'remove') return this.#remove.get(owner, collection, id) as DocumentAnswer
    const { label, title, search, body } = command
    if (command.kind === 'admit') {
      const { version, createdAt, updatedAt } = command
      const values = [owner, collection, id, label, title, search, body, version, createdAt, updatedAt]
      return this.#admit.get(...values) as DocumentAnswer
    }
    const { at, expected } = command
    const version = this.#version.get(owner, collection, id)?.['version'] ?? 0
    if (expected !== undefined && expected !== version) return undefined
    return this.#put.get(owner, collection, id, label, title, search, body, at) as DocumentAnswer
  }
}
