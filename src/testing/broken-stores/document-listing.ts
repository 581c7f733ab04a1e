/** Stores that break the rules of document listings. */
import type { DocumentQuery, Documents } from '../../core/model/document.ts'
import { type DocumentFault, withFaults } from './documents.ts'
import type { BrokenStore } from './overriding.ts'

const EVERYTHING = 1_000_000

export const brokenDocumentListings: readonly BrokenStore[] = withFaults('document listing', [
  ['lists documents by creation only', asking((query) => ({ ...query, order: 'created' }))],
  ['lists documents newest first only', asking((query) => ({ ...query, ascending: false }))],
  ['lists documents of the same time in any order', ignoresTies],
  ['ignores the offset', asking((query) => ({ ...query, offset: 0 }))],
  ['ignores the position', asking(({ after: _, ...query }) => query)],
  ['takes the length of the page for the total', countsPage],
  ['ignores labels', asking(({ label: _, ...query }) => query)],
  ['searches with wildcards', searching((title, part) => wildcards(part).test(title))],
  ['folds the case of ASCII only', searching((title, part) => asciiLower(title).includes(asciiLower(part)))],
  ['lists documents without their bodies', listsNoBodies],
])

/** Answers a changed query. */
function asking(change: (query: DocumentQuery) => DocumentQuery): DocumentFault {
  return (documents) => ({ list: (query) => documents.list(change(query)) })
}

/** Searches by another rule. */
function searching(finds: (title: string, part: string) => boolean): DocumentFault {
  return (documents) => ({
    list: async ({ title: part, ...query }) => {
      const { documents: all } = await documents.list({ ...query, offset: 0, limit: EVERYTHING })
      const found = all.filter(({ title }) => part === undefined || finds(title ?? '', part))
      return { documents: found.slice(query.offset ?? 0).slice(0, query.limit), total: found.length }
    },
  })
}

function wildcards(part: string): RegExp {
  const escaped = part.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)
  return new RegExp(escaped.replaceAll('%', '.*').replaceAll('_', '.'), 'iu')
}

function asciiLower(text: string): string {
  return text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase())
}

function ignoresTies(documents: Documents): Partial<Documents> {
  return {
    list: async (query) => {
      const { documents: all, total } = await documents.list({ ...query, offset: 0, limit: EVERYTHING })
      const time = query.order === 'updated' ? 'updatedAt' : 'createdAt'
      const sign = query.ascending ? 1 : -1
      // Unstable: equal items are in reverse order.
      const sorted = all.toReversed().toSorted((a, b) => sign * (Date.parse(a[time]) - Date.parse(b[time])))
      return { documents: sorted.slice(query.offset ?? 0).slice(0, query.limit), total }
    },
  }
}

function countsPage(documents: Documents): Partial<Documents> {
  return {
    list: async (query) => {
      const page = await documents.list(query)
      return { ...page, total: page.documents.length }
    },
  }
}

function listsNoBodies(documents: Documents): Partial<Documents> {
  return {
    list: async (query) => {
      const page = await documents.list(query)
      return { ...page, documents: page.documents.map((document) => ({ ...document, body: null })) }
    },
  }
}
