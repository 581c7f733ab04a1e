import { expect, test } from 'vitest'
import { listDocuments } from './document-listing.ts'

const at = (number: number): string => new Date(number).toISOString()

/** Reads of the sort key, which every comparison needs. */
function countingDocuments(count: number) {
  const reads = { count: 0 }
  const documents = Array.from({ length: count }, (_, index) => ({
    owner: 'anna',
    collection: 'notes',
    id: `note-${index}`,
    updatedAt: at(0),
    // In no particular order.
    get createdAt() {
      reads.count++
      return at((index * 7919) % count)
    },
  }))
  return { documents, reads }
}

test.each([true, false])('documents: pages of a long listing are in order (ascending: %s)', (ascending) => {
  const { documents } = countingDocuments(1000)
  const query = { collection: 'notes', ascending, limit: 70 }
  const ids: string[] = []
  for (let page = listDocuments(documents, query); ;) {
    expect(page.total).toBe(1000)
    ids.push(...page.items.map(({ id }) => id))
    if (page.next === undefined) break
    page = listDocuments(documents, { ...query, after: page.next })
  }
  const sorted = documents.toSorted((a, b) => a.createdAt.localeCompare(b.createdAt)).map(({ id }) => id)
  expect(ids).toEqual(ascending ? sorted : sorted.toReversed())
  const skipped = listDocuments(documents, { ...query, offset: 500 })
  expect(skipped.items.map(({ id }) => id)).toEqual(ids.slice(500, 570))
})

test('documents: a page of a long listing compares each document a few times', () => {
  const { documents, reads } = countingDocuments(10_000)
  listDocuments(documents, { collection: 'notes', limit: 20 })
  expect(reads.count).toBeLessThan(40_000)
})
