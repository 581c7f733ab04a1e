/** Filters and sorts documents, for stores that hold their listable fields in memory. */
import {
  type Document,
  type DocumentPage,
  type DocumentPosition,
  documentPosition,
  type DocumentQuery,
  caseFolded,
} from '../../core/model/document.ts'

/** The fields that listings use. */
export type ListableDocument = Omit<Document, 'body' | 'version'>

/** A page before the documents' bodies are read. */
export interface ListedPage<Item> extends Omit<DocumentPage, 'documents'> {
  readonly items: readonly Item[]
}

/** One page of the matches, in order. */
export function listDocuments<Item extends ListableDocument>(
  all: Iterable<Item>,
  query: DocumentQuery,
): ListedPage<Item> {
  const { order = 'created', ascending = false, after, offset = 0, limit } = query
  const sign = ascending ? 1 : -1
  const found: Item[] = []
  for (const item of all) if (matches(item, query)) found.push(item)
  found.sort((a, b) => sign * comparePositions(documentPosition(a, order), documentPosition(b, order)))
  const rest = after ? found.filter((item) => sign * comparePositions(documentPosition(item, order), after) > 0) : found
  const items = rest.slice(offset, offset + limit)
  const last = rest.length > offset + limit ? items.at(-1) : undefined
  return { items, total: found.length, ...(last && { next: documentPosition(last, order) }) }
}

/** Times never move back, even if the update comes from a node whose clock is behind. */
export function laterOf(before: string | undefined, now: string): string {
  return before !== undefined && before > now ? before : now
}

function matches(item: ListableDocument, { collection, owner, label, title = '' }: DocumentQuery): boolean {
  return (
    item.collection === collection &&
    (owner === undefined || item.owner === owner) &&
    (label === undefined || item.label === label) &&
    caseFolded(item.title ?? '').includes(caseFolded(title))
  )
}

function comparePositions(a: DocumentPosition, b: DocumentPosition): number {
  return compare(a.time, b.time) || compare(a.id, b.id) || compare(a.owner, b.owner)
}

function compare(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1
}
