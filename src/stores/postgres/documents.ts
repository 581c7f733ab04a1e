/** Documents of the PostgreSQL store. Each command is one statement. */
import {
  type Document,
  type DocumentDraft,
  type DocumentPage,
  documentPosition,
  type DocumentQuery,
  type Documents,
  caseFolded,
} from '../../core/model/document.ts'
import type { DatabaseSchema } from './database.ts'

export interface DocumentRow {
  readonly owner: string
  readonly collection: string
  readonly id: string
  readonly label: string | null
  readonly title: string | null
  readonly version: number
  readonly created: string
  readonly updated: string
  readonly body: string
}

export const DOCUMENT_COLUMNS = 'owner, collection, id, label, title, version, created, updated, body'

export class PostgresDocuments implements Documents {
  readonly #schema: DatabaseSchema

  constructor(schema: DatabaseSchema) {
    this.#schema = schema
  }

  async get(owner: string, collection: string, id: string): Promise<Document | undefined> {
    const text = `SELECT ${DOCUMENT_COLUMNS} FROM ${this.#schema.name}.documents WHERE owner = $1 AND collection = $2 AND id = $3`
    const [row] = await this.#schema.database.query<DocumentRow>(text, [owner, collection, id])
    return row && documentOf(row)
  }

  /** Whether a row exists decides which of the statements can apply. */
  async put(draft: DocumentDraft, expected?: number): Promise<Document | undefined> {
    const { owner, collection, id, label, title, body } = draft
    const values = [
      owner,
      collection,
      id,
      label ?? null,
      title ?? null,
      caseFolded(title ?? ''),
      JSON.stringify(body),
      this.#schema.now(),
    ]
    const schema = this.#schema.name
    const [documents, durably] = [`${schema}.documents`, `${schema}.durably()`]
    const insert = `INSERT INTO ${documents} AS d (owner, collection, id, label, title, search, body, version, created, updated)
      SELECT $1, $2, $3, $4, $5, $6, $7, 1, ${schema}.iso($8), ${schema}.iso($8) WHERE ${durably}
      ON CONFLICT (collection, owner, id)`
    const change = `version = d.version + 1, updated = greatest(d.updated, ${schema}.iso($8))`
    if (expected === undefined) {
      const replaced = ['label', 'title', 'search', 'body'].map((name) => `${name} = excluded.${name}`).join(', ')
      return this.#put(`${insert} DO UPDATE SET ${replaced}, ${change}`, values)
    }
    if (expected === 0) return this.#put(`${insert} DO NOTHING`, values)
    const update = `UPDATE ${documents} d SET label = $4, title = $5, search = $6, body = $7, ${change}
      WHERE owner = $1 AND collection = $2 AND id = $3 AND version = $9 AND ${durably}`
    return this.#put(update, [...values, expected])
  }

  async remove(owner: string, collection: string, id: string): Promise<boolean> {
    const text = `DELETE FROM ${this.#schema.name}.documents
      WHERE owner = $1 AND collection = $2 AND id = $3 AND ${this.#schema.name}.durably() RETURNING id`
    return (await this.#schema.database.once(text, [owner, collection, id])).length > 0
  }

  async list(query: DocumentQuery): Promise<DocumentPage> {
    const { order = 'created', ascending = false, after, offset = 0, limit } = query
    const { where, values } = filterOf(query)
    const sortKey = [order, 'id', 'owner']
    const sorting = sortKey.map((column) => `${column} ${ascending ? 'ASC' : 'DESC'}`).join(', ')
    const parameters: unknown[] = [...values]
    const parameter = (value: unknown): string => `$${parameters.push(value)}`
    const onPage = after
      ? `${where} AND (${sortKey.join(', ')}) ${ascending ? '>' : '<'} (${[after.time, after.id, after.owner].map(parameter).join(', ')})`
      : where
    const documents = `${this.#schema.name}.documents`
    // One statement, so that page and total are from the same snapshot. The total is returned even if the page is empty.
    const text = `SELECT page.*, counted.total::integer FROM (SELECT count(*) AS total FROM ${documents} WHERE ${where}) counted
      LEFT JOIN (
        SELECT ${DOCUMENT_COLUMNS}, row_number() OVER (ORDER BY ${sorting}) AS place FROM ${documents} WHERE ${onPage}
        ORDER BY ${sorting} LIMIT ${parameter(limit + 1)} OFFSET ${parameter(offset)}
      ) page ON true ORDER BY page.place`
    const rows = await this.#schema.database.query<DocumentRow & { id: string | null; total: number }>(text, parameters)
    const documentsAndNext = rows.filter(({ id }) => id !== null).map(documentOf)
    const last = documentsAndNext.length > limit ? documentsAndNext[limit - 1] : undefined
    return {
      documents: documentsAndNext.slice(0, limit),
      total: rows[0]!.total,
      ...(last && { next: documentPosition(last, order) }),
    }
  }

  async #put(statement: string, values: readonly unknown[]): Promise<Document | undefined> {
    const columns = DOCUMENT_COLUMNS.split(', ').map((name) => `d.${name}`)
    const [row] = await this.#schema.database.once<DocumentRow>(`${statement} RETURNING ${columns.join(', ')}`, values)
    return row && documentOf(row)
  }
}

function filterOf(query: DocumentQuery): { readonly where: string; readonly values: readonly string[] } {
  const conditions: string[] = []
  const values: string[] = []
  for (const column of ['collection', 'owner', 'label'] as const) {
    const value = query[column]
    if (value !== undefined) conditions.push(`${column} = $${values.push(value)}`)
  }
  if (query.title !== undefined) conditions.push(`strpos(search, $${values.push(caseFolded(query.title))}) > 0`)
  return { where: conditions.join(' AND '), values }
}

export function documentOf(row: DocumentRow): Document {
  const { owner, collection, id, label, title, version, created, updated, body } = row
  return {
    owner,
    collection,
    id,
    ...(label !== null && { label }),
    ...(title !== null && { title }),
    body: JSON.parse(body) as unknown,
    version,
    createdAt: created,
    updatedAt: updated,
  }
}
