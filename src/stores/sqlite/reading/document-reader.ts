/** Reads durable documents. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { type Document, type DocumentPage, type DocumentQuery, caseFolded } from '../../../core/model/document.ts'
import type { DocumentName } from '../../../core/ports/store-transfer.ts'
import { documentDamage, documentIn } from '../tables/document-rows.ts'

export class DocumentReader {
  readonly #database: DatabaseSync
  readonly #byName: StatementSync

  constructor(database: DatabaseSync) {
    this.#database = database
    this.#byName = database.prepare('SELECT * FROM documents WHERE owner = ? AND collection = ? AND id = ?')
  }

  get(owner: string, collection: string, id: string): Document | undefined {
    const row = this.#byName.get(owner, collection, id)
    if (row === undefined) return undefined
    const document = documentIn(row)
    if (document === undefined) throw documentDamage(collection, id)
    return document
  }

  /** Documents of all owners and collections after a name, in primary key order. Skips damaged ones. */
  all(limit: number, after: DocumentName | undefined): Document[] {
    const where = after === undefined ? '' : 'WHERE (collection, owner, id) > (?, ?, ?)'
    const values = after === undefined ? [] : [after.collection, after.owner, after.id]
    const rows = this.#database
      .prepare(`SELECT * FROM documents ${where} ORDER BY collection, owner, id LIMIT ?`)
      .all(...values, limit)
    return rows.flatMap((row) => documentIn(row) ?? [])
  }

  /** Damaged documents are counted but skipped. */
  list(query: DocumentQuery): DocumentPage {
    const { where, values } = filterOf(query)
    const { order = 'created', ascending = false, after, offset = 0, limit } = query
    const sortKey = [order, 'id', 'owner']
    const sorting = sortKey.map((column) => `${column} ${ascending ? 'ASC' : 'DESC'}`).join(', ')
    const onPage = after ? `${where} AND (${sortKey.join(', ')}) ${ascending ? '>' : '<'} (?, ?, ?)` : where
    const position = after ? [after.time, after.id, after.owner] : []
    // One transaction, so that page and total are from the same snapshot.
    this.#database.exec('BEGIN')
    try {
      const rows = this.#database
        .prepare(`SELECT * FROM documents WHERE ${onPage} ORDER BY ${sorting} LIMIT ? OFFSET ?`)
        .all(...values, ...position, limit + 1, offset)
      const { total } = this.#database.prepare(`SELECT count(*) AS total FROM documents WHERE ${where}`).get(...values)!
      const last = rows.length > limit ? rows[limit - 1] : undefined
      return {
        documents: rows.slice(0, limit).flatMap((row) => documentIn(row) ?? []),
        total: Number(total),
        ...(last && { next: { time: String(last[order]), id: String(last['id']), owner: String(last['owner']) } }),
      }
    } finally {
      this.#database.exec('COMMIT')
    }
  }
}

function filterOf(query: DocumentQuery): { readonly where: string; readonly values: readonly string[] } {
  const conditions: string[] = []
  const values: string[] = []
  for (const column of ['collection', 'owner', 'label'] as const) {
    const value = query[column]
    if (value === undefined) continue
    conditions.push(`${column} = ?`)
    values.push(value)
  }
  if (query.title !== undefined) {
    conditions.push('instr(search, ?) > 0')
    values.push(caseFolded(query.title))
  }
  return { where: conditions.join(' AND '), values }
}
