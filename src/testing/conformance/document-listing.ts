/** Document listings: order, filters, search, and totals. */
import { expect } from 'vitest'
import { documentPosition, type DocumentQuery } from '../../core/model/document.ts'
import { current, draft } from './documents.ts'
import type { ConformanceSection } from './target.ts'
import type { Trial } from './trial.ts'

export const documentListingSection: ConformanceSection = {
  name: 'document listing',
  cases: [
    { name: 'documents are listed newest first by default, or in the requested order', run: keepsOrder },
    { name: 'documents of the same time are ordered by id, then owner', run: breaksTies },
    { name: 'pages of any size return every document once', run: givesEveryDocumentOnce },
    {
      name: 'the next page starts at the position that a page returns, also after later puts',
      run: startsAfterPosition,
    },
    { name: 'the total counts all matches, regardless of the page', run: countsMatches },
    { name: 'filters apply alone and combined', run: filters },
    { name: 'a search matches part of a title, ignoring case', run: searches },
    { name: 'a search has no wildcards', run: searchesLiterally },
    { name: 'a listed document equals what get returns', run: listsWhatGetGives },
  ],
}

async function idsOf(trial: Trial, query: Partial<DocumentQuery> = {}): Promise<string[]> {
  const { documents } = await trial.store.documents.list({ collection: 'notes', limit: 100, ...query })
  return documents.map(({ id }) => id)
}

/** Documents with these ids, with increasing times. */
async function putMany(trial: Trial, ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    await trial.store.documents.put(draft({ id }))
    trial.clock.advance(1)
  }
}

async function keepsOrder(trial: Trial): Promise<void> {
  await putMany(trial, ['c', 'a', 'd', 'b'])
  await putMany(trial, ['d', 'c'])
  expect(await idsOf(trial)).toEqual(['b', 'd', 'a', 'c'])
  expect(await idsOf(trial, { order: 'created', ascending: false })).toEqual(['b', 'd', 'a', 'c'])
  expect(await idsOf(trial, { ascending: true })).toEqual(['c', 'a', 'd', 'b'])
  expect(await idsOf(trial, { order: 'updated' })).toEqual(['c', 'd', 'b', 'a'])
  expect(await idsOf(trial, { order: 'updated', ascending: true })).toEqual(['a', 'b', 'd', 'c'])
}

async function breaksTies(trial: Trial): Promise<void> {
  for (const id of ['b', 'd', 'a', 'c']) {
    for (const owner of id === 'b' ? ['owner-2', 'owner-3', 'owner-1'] : ['owner-1'])
      await trial.store.documents.put(draft({ id, owner, body: owner }))
  }
  const names = ['a owner-1', 'b owner-1', 'b owner-2', 'b owner-3', 'c owner-1', 'd owner-1']
  for (const order of ['created', 'updated'] as const) {
    for (const ascending of [true, false]) {
      const { documents } = await trial.store.documents.list({ collection: 'notes', order, ascending, limit: 100 })
      const listed = documents.map(({ id, owner }) => `${id} ${owner}`)
      expect(listed).toEqual(ascending ? names : names.toReversed())
      expect(await idsOf(trial, { order, ascending, owner: 'owner-1' })).toEqual(
        ascending ? ['a', 'b', 'c', 'd'] : ['d', 'c', 'b', 'a'],
      )
    }
  }
}

async function givesEveryDocumentOnce(trial: Trial): Promise<void> {
  await putMany(trial, ['f', 'b', 'g', 'a', 'e', 'c', 'd'])
  const all = await idsOf(trial)
  expect(all).toHaveLength(7)
  for (const limit of [1, 2, 3, 7, 10]) {
    const paged: string[] = []
    for (let offset = 0; offset < all.length; offset += limit) {
      const page = await idsOf(trial, { offset, limit })
      expect(page.length).toBe(Math.min(limit, all.length - offset))
      paged.push(...page)
    }
    expect(paged).toEqual(all)
  }
}

async function startsAfterPosition(trial: Trial): Promise<void> {
  await putMany(trial, ['f', 'b', 'g', 'a'])
  for (const owner of ['owner-2', 'owner-1']) await trial.store.documents.put(draft({ id: 'tie', owner, body: owner }))
  for (const order of ['created', 'updated'] as const) {
    for (const ascending of [true, false]) {
      const query = { collection: 'notes', order, ascending }
      const { documents: all } = await trial.store.documents.list({ ...query, limit: 100 })
      for (const [index, document] of all.entries()) {
        const after = documentPosition(document, order)
        const { documents, total, next } = await trial.store.documents.list({ ...query, after, limit: 2 })
        expect(documents, JSON.stringify({ order, ascending, after })).toEqual(all.slice(index + 1, index + 3))
        expect(total).toBe(all.length)
        expect(next).toEqual(index + 3 < all.length ? documentPosition(documents[1]!, order) : undefined)
      }
    }
  }
  const { next } = await trial.store.documents.list({ collection: 'notes', limit: 3 })
  await putMany(trial, ['newer-1', 'newer-2'])
  expect(await idsOf(trial, { ...(next && { after: next }) })).toEqual(['g', 'b', 'f'])
}

async function countsMatches(trial: Trial): Promise<void> {
  await putMany(trial, ['a', 'b', 'c'])
  await trial.store.documents.put(draft({ id: 'd', label: 'other', title: 'Other' }))
  await trial.store.documents.put(draft({ id: 'e', collection: 'elsewhere' }))
  const pages = [{ limit: 100 }, { limit: 1 }, { limit: 0 }, { limit: 2, offset: 3 }, { limit: 10, offset: 4 }]
  for (const page of pages) {
    const { documents, total } = await trial.store.documents.list({ collection: 'notes', ...page })
    expect(total, JSON.stringify(page)).toBe(4)
    expect(documents).toHaveLength(Math.max(0, Math.min(page.limit, 4 - (page.offset ?? 0))))
  }
  for (const filter of [{ label: 'other' }, { title: 'OTHER' }]) {
    expect((await trial.store.documents.list({ collection: 'notes', limit: 0, ...filter })).total).toBe(1)
  }
}

async function filters(trial: Trial): Promise<void> {
  const all = Array.from({ length: 24 }, (_, index) => ({
    id: `note-${String(index).padStart(2, '0')}`,
    owner: `owner-${index % 2}`,
    ...(index % 3 > 0 && { label: `label-${index % 3}` }),
    ...(index % 4 > 0 && { title: `title ${index % 4}` }),
  }))
  for (const each of all) await trial.store.documents.put(draft(each))
  const queries: Partial<DocumentQuery>[] = [
    { owner: 'owner-1' },
    { label: 'label-2' },
    { title: 'TITLE 3' },
    { owner: 'owner-0', label: 'label-1' },
    { owner: 'owner-1', title: '1' },
    { owner: 'owner-0', label: 'label-2', title: 'le 2' },
    { owner: 'nobody' },
    { label: '' },
  ]
  for (const query of queries) {
    const expected = all.filter(
      (each) =>
        (query.owner === undefined || each.owner === query.owner) &&
        (query.label === undefined || each.label === query.label) &&
        (each.title ?? '').includes(query.title?.toLowerCase() ?? ''),
    )
    const ids = await idsOf(trial, { ...query, ascending: true })
    expect(ids, JSON.stringify(query)).toEqual(expected.map(({ id }) => id))
  }
}

async function expectFound(trial: Trial, expected: Readonly<Record<string, readonly string[]>>): Promise<void> {
  for (const [title, ids] of Object.entries(expected))
    expect((await idsOf(trial, { title })).toSorted(), `searching ${title}`).toEqual(ids)
}

async function searches(trial: Trial): Promise<void> {
  const titles = {
    a: 'Whale Song',
    b: 'ÜBERFAHRT nach Göteborg',
    c: 'Ταξίδι στους ΟΔΟΣ',
    d: 'Cafe\u0301 🌊',
    e: undefined,
  }
  for (const [id, title] of Object.entries(titles))
    await trial.store.documents.put(draft({ id, ...(title !== undefined && { title }) }))
  await expectFound(trial, {
    whale: ['a'],
    'LE SO': ['a'],
    überfahrt: ['b'],
    GÖTE: ['b'],
    οδος: ['c'],
    'ταξίδι ΣΤΟΥΣ': ['c'],
    'CAF\u00c9': ['d'],
    '🌊': ['d'],
    nowhere: [],
    '': ['a', 'b', 'c', 'd', 'e'],
  })
}

async function searchesLiterally(trial: Trial): Promise<void> {
  const titles = {
    a: '100% done',
    b: '100 done',
    c: 'snake_case',
    d: 'snakescase',
    e: 'back\\slash',
    f: "it's [a*] (b?)",
  }
  for (const [id, title] of Object.entries(titles)) await trial.store.documents.put(draft({ id, title }))
  await expectFound(trial, {
    '%': ['a'],
    '0% d': ['a'],
    _: ['c'],
    e_c: ['c'],
    '\\': ['e'],
    '\\%': [],
    "'": ['f'],
    '[a*]': ['f'],
    '(b?)': ['f'],
    '.': [],
    '*': ['f'],
  })
}

async function listsWhatGetGives(trial: Trial): Promise<void> {
  await trial.store.documents.put(draft({ id: 'a', label: 'x', title: 'Y', body: { deep: [{ é: null }] } }))
  await trial.store.documents.put(draft({ id: 'b' }))
  await trial.store.documents.put(draft({ id: 'b', body: 2 }))
  const { documents } = await trial.store.documents.list({ collection: 'notes', limit: 10 })
  expect(documents).toHaveLength(2)
  for (const document of documents) expect(document).toEqual(await current(trial, document))
}
