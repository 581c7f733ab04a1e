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
  const inOrder = (a: Item, b: Item): number =>
    sign * comparePositions(documentPosition(a, order), documentPosition(b, order))
  const first = new FirstInOrder(offset + limit + 1, inOrder)
  let total = 0
  for (const item of all) {
    if (!matches(item, query)) continue
    total++
    if (after === undefined || sign * comparePositions(documentPosition(item, order), after) > 0) first.add(item)
  }
  const found = first.take()
  const items = found.slice(offset, offset + limit)
  const last = found.length > offset + limit ? items.at(-1) : undefined
  return { items, total, ...(last && { next: documentPosition(last, order) }) }
}

/** The first of many items in an order, without sorting all: a page of a long listing must not hold the event loop. */
class FirstInOrder<Item> {
  readonly #count: number
  readonly #inOrder: (a: Item, b: Item) => number
  #items: Item[] = []
  /** The last item that can be on the page. */
  #last: Item | undefined

  constructor(count: number, inOrder: (a: Item, b: Item) => number) {
    this.#count = count
    this.#inOrder = inOrder
  }

  add(item: Item): void {
    if (this.#last !== undefined && this.#inOrder(item, this.#last) >= 0) return
    this.#items.push(item)
    if (this.#items.length >= 2 * this.#count) this.#shrink()
  }

  take(): readonly Item[] {
    this.#shrink()
    return this.#items
  }

  #shrink(): void {
    this.#items = this.#items.toSorted(this.#inOrder).slice(0, this.#count)
    if (this.#items.length === this.#count) this.#last = this.#items.at(-1)
  }
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
