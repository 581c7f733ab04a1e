/** Document commands in the committing thread: each is decided inside the transaction that writes it. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { type Document, SESSIONS } from '../../../core/model/document.ts'
import { type Field, fieldsChecksum } from '../tables/checksum.ts'
import { isSoundDocument } from '../tables/document-rows.ts'
import type { RunRow } from './committing-messages.ts'

export type DocumentKey = Pick<Document, 'owner' | 'collection' | 'id'>

export type DocumentCommand =
  | {
      readonly kind: 'put'
      readonly key: DocumentKey
      readonly label: string | null
      readonly title: string | null
      /** The folded title, for searches. */
      readonly search: string
      /** JSON. */
      readonly body: string
      readonly at: string
      /** Expected version; 0: none. */
      readonly expected: number | undefined
    }
  | {
      /** Imports with version and times; does nothing if the name is in use. */
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

/** The document that was written or removed; undefined if nothing was. */
export type DocumentAnswer = Pick<Document, 'version' | 'createdAt' | 'updatedAt'> | undefined

export class DocumentWrites {
  readonly #existing: StatementSync
  readonly #put: StatementSync
  readonly #admit: StatementSync
  readonly #remove: StatementSync
  readonly #touch: StatementSync

  constructor(database: DatabaseSync) {
    database.function('checksum', { varargs: true, deterministic: true }, (...fields) =>
      fieldsChecksum(fields as Field[]),
    )
    this.#touch = database.prepare(
      `INSERT INTO documents (collection, owner, id, label, search, version, created, updated, body, crc, touched)
       VALUES ('${SESSIONS}', ?1, ?2, ?3, '', 1, ?4, ?4, '{}',
         checksum(?1, '${SESSIONS}', ?2, ?3, NULL, '', 1, ?4, '{}'), checksum(?1, '${SESSIONS}', ?2, ?4))
       ON CONFLICT (collection, owner, id) DO UPDATE SET updated = excluded.updated, touched = excluded.touched
         WHERE excluded.updated > updated`,
    )
    this.#existing = database.prepare('SELECT * FROM documents WHERE owner = ? AND collection = ? AND id = ?')
    this.#put = database.prepare(
      `INSERT INTO documents (owner, collection, id, label, title, search, body, created, updated, version, crc, touched)
       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8, 1,
         checksum(?1, ?2, ?3, ?4, ?5, ?6, 1, ?8, ?7), checksum(?1, ?2, ?3, ?8))
       ON CONFLICT (collection, owner, id) DO UPDATE SET label = excluded.label, title = excluded.title,
         search = excluded.search, body = excluded.body, version = version + 1, updated = max(updated, excluded.updated),
         crc = checksum(owner, collection, id, excluded.label, excluded.title, excluded.search, version + 1, created, excluded.body),
         touched = checksum(owner, collection, id, max(updated, excluded.updated))
       RETURNING version, created AS createdAt, updated AS updatedAt`,
    )
    this.#admit = database.prepare(
      `INSERT INTO documents (owner, collection, id, label, title, search, body, version, created, updated, crc, touched)
       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10,
         checksum(?1, ?2, ?3, ?4, ?5, ?6, ?8, ?9, ?7), checksum(?1, ?2, ?3, ?10)) ON CONFLICT DO NOTHING
       RETURNING version, created AS createdAt, updated AS updatedAt`,
    )
    this.#remove = database.prepare(
      `DELETE FROM documents WHERE owner = ? AND collection = ? AND id = ?
       RETURNING version, created AS createdAt, updated AS updatedAt`,
    )
  }

  /** A run is created in a session: creates the session's document or updates its time. */
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
    const existing = this.#existing.get(owner, collection, id)
    const isSound = existing !== undefined && isSoundDocument(existing)
    if (expected !== undefined && expected !== (isSound ? existing['version'] : 0)) return undefined
    // Nothing of a damaged document is carried over to its replacement.
    if (existing !== undefined && !isSound) this.#remove.get(owner, collection, id)
    return this.#put.get(owner, collection, id, label, title, search, body, at) as DocumentAnswer
  }
}
