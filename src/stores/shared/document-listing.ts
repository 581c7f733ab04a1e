/** Filters and sorts documents, for stores that hold their listable fields in memory. */
import { type Document, type DocumentQuery, caseFolded } from '../../core/model/document.ts'

/** The fields that listings use. */
export type ListableDocument = Omit<Document, 'body' | 'version'>

/** All matches in order, regardless of the page. */
export function listDocuments<Item extends ListableDocument>(all: Iterable<Item>, query: DocumentQuery): Item[] {
  const { order = 'created', ascending = false } = query
  const time = order === 'created' ? 'createdAt' : 'updatedAt'
  const found: Item[] = []
  for (const item of all) if (matches(item, query)) found.push(item)
  found.sort((a, b) => compare(a[time], b[time]) || compare(a.id, b.id) || compare(a.owner, b.owner))
  return ascending ? found : found.toReversed()
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

function compare(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1
}
