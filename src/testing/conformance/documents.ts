/** Documents: compare-and-set, owners, and unchanged bodies. */
import { expect } from 'vitest'
import type { Document, DocumentDraft } from '../../core/model/document.ts'
import type { ConformanceSection } from './target.ts'
import type { Trial } from './trial.ts'

const CONCURRENT = 50

export const documentsSection: ConformanceSection = {
  name: 'documents',
  cases: [
    { name: 'a document can be read after a put', run: keepsWhatIsPut },
    { name: 'an unknown document is undefined', run: knowsNoOther },
    { name: 'a second put replaces the whole document and raises the version', run: replaces },
    { name: 'a put that expects another version changes nothing', run: refusesOtherVersion },
    { name: 'of 50 concurrent puts that expect the same version, one succeeds', run: takesOne },
    { name: 'concurrent puts without an expected version all succeed', run: takesAll },
    { name: 'concurrent compare-and-set increments lose no update', run: countsRight },
    { name: '[SEC-1] documents of two owners are separate', run: keepsOwnersApart },
    { name: 'documents of two collections are separate', run: keepsCollectionsApart },
    { name: 'a document is removed once, and starts again at version 1', run: removes },
    { name: 'any JSON value can be a body', run: keepsAnyBody },
    { name: 'a body of 256 KiB is returned unchanged', run: keepsLargeBodies },
    { name: 'names are compared exactly', run: keepsNames },
    { name: 'later changes to a passed or returned body have no effect', run: keepsItsOwn },
  ],
}

export function draft(more: Partial<DocumentDraft> = {}): DocumentDraft {
  return { owner: 'owner-1', collection: 'notes', id: 'note-1', body: { text: 'hello' }, ...more }
}

/** The current document of a name. */
export function current(
  trial: Trial,
  { owner, collection, id }: Pick<Document, 'owner' | 'collection' | 'id'>,
): Promise<Document | undefined> {
  return trial.store.documents.get(owner, collection, id)
}

async function keepsWhatIsPut(trial: Trial): Promise<void> {
  const full = draft({ label: 'storyteller', title: 'A tale' })
  const plain = draft({ id: 'note-2' })
  for (const each of [full, plain]) {
    const put = await trial.store.documents.put(each)
    expect(put).toEqual({ ...each, version: 1, createdAt: trial.clock.iso(), updatedAt: trial.clock.iso() })
    expect(await current(trial, each)).toEqual(put)
  }
}

async function knowsNoOther(trial: Trial): Promise<void> {
  await trial.store.documents.put(draft())
  expect(await current(trial, draft({ id: 'note-2' }))).toBeUndefined()
  expect(await trial.store.documents.remove('owner-1', 'notes', 'note-2')).toBe(false)
  expect(await trial.store.documents.put(draft({ id: 'note-2' }), 1)).toBeUndefined()
  expect(await current(trial, draft({ id: 'note-2' }))).toBeUndefined()
}

async function replaces(trial: Trial): Promise<void> {
  const first = await trial.store.documents.put(draft({ label: 'a', title: 'b' }))
  trial.clock.advance(10)
  const second = await trial.store.documents.put(draft({ body: [2] }))
  const { createdAt } = first!
  expect(second).toEqual({ ...draft({ body: [2] }), version: 2, createdAt, updatedAt: trial.clock.iso() })
  expect(await current(trial, draft())).toEqual(second)
  const third = await trial.store.documents.put(draft({ label: 'c', title: 'd' }), 2)
  expect(third).toMatchObject({ version: 3, label: 'c', title: 'd' })
  expect(await current(trial, draft())).toEqual(third)
}

async function refusesOtherVersion(trial: Trial): Promise<void> {
  const { documents } = trial.store
  expect(await documents.put(draft(), 0)).toMatchObject({ version: 1 })
  const second = await documents.put(draft({ title: 'second' }), 1)
  trial.clock.advance(10)
  for (const expected of [0, 1, 3]) {
    expect(await documents.put(draft({ title: 'late', body: null }), expected), `expecting ${expected}`).toBeUndefined()
    expect(await current(trial, draft())).toEqual(second)
  }
}

async function takesOne(trial: Trial): Promise<void> {
  for (const expected of [0, 1, 2]) {
    const puts = Array.from({ length: CONCURRENT }, (_, number) =>
      trial.store.documents.put(draft({ body: { expected, number } }), expected),
    )
    const taken = (await Promise.all(puts)).filter((put) => put !== undefined)
    expect(taken).toHaveLength(1)
    expect(taken[0]!.version).toBe(expected + 1)
    expect(await current(trial, draft())).toEqual(taken[0])
  }
}

async function takesAll(trial: Trial): Promise<void> {
  const puts = Array.from({ length: CONCURRENT }, (_, number) => trial.store.documents.put(draft({ body: number })))
  const versions = (await Promise.all(puts)).map((put) => put!.version)
  expect(versions.toSorted((a, b) => a - b)).toEqual(Array.from({ length: CONCURRENT }, (_, index) => index + 1))
  expect((await current(trial, draft()))?.version).toBe(CONCURRENT)
}

async function countsRight(trial: Trial): Promise<void> {
  const [writers, rounds] = [5, 5]
  const raise = async (): Promise<void> => {
    // Every refusal means that another writer succeeded, so the number of refusals is bounded by the number of writes.
    for (let attempt = 0; attempt <= writers * rounds; attempt++) {
      const before = await current(trial, draft())
      const body = ((before?.body as number | undefined) ?? 0) + 1
      if (await trial.store.documents.put(draft({ body }), before?.version ?? 0)) return
    }
    throw new Error('refused more often than other writers succeeded')
  }
  await Promise.all(
    Array.from({ length: writers }, async () => {
      for (let round = 0; round < rounds; round++) await raise()
    }),
  )
  expect(await current(trial, draft())).toMatchObject({ body: writers * rounds, version: writers * rounds })
}

async function keepsOwnersApart(trial: Trial): Promise<void> {
  const owners = ['anna', 'bert', 'anna/notes', 'anna"']
  for (const owner of owners) expect(await trial.store.documents.put(draft({ owner, body: owner }), 0)).toBeDefined()
  expect(await trial.store.documents.remove('carl', 'notes', 'note-1')).toBe(false)
  expect(await trial.store.documents.remove('bert', 'notes', 'note-1')).toBe(true)
  for (const owner of ['anna', 'anna/notes', 'anna"']) {
    expect(await current(trial, draft({ owner }))).toMatchObject({ owner, body: owner, version: 1 })
    const { documents, total } = await trial.store.documents.list({ collection: 'notes', owner, limit: 10 })
    expect([documents.map((document) => document.owner), total]).toEqual([[owner], 1])
  }
  expect(await current(trial, draft({ owner: 'bert' }))).toBeUndefined()
}

async function keepsCollectionsApart(trial: Trial): Promise<void> {
  // Naive joining would make the last two names equal.
  const names = [
    { collection: 'notes', id: 'one' },
    { collection: 'drafts', id: 'one' },
    { collection: 'a', id: 'b:c' },
    { collection: 'a:b', id: 'c' },
  ]
  for (const name of names) expect(await trial.store.documents.put(draft({ ...name, body: name }), 0)).toBeDefined()
  expect(await trial.store.documents.remove('owner-1', 'drafts', 'one')).toBe(true)
  for (const name of names.filter(({ collection }) => collection !== 'drafts')) {
    expect(await current(trial, draft(name))).toMatchObject({ ...name, body: name, version: 1 })
    const { documents } = await trial.store.documents.list({ collection: name.collection, limit: 10 })
    expect(documents.map(({ id }) => id)).toEqual([name.id])
  }
}

async function removes(trial: Trial): Promise<void> {
  await trial.store.documents.put(draft({ label: 'old', title: 'old' }))
  await trial.store.documents.put(draft({ label: 'old', title: 'old' }))
  const removals = Array.from({ length: 10 }, () => trial.store.documents.remove('owner-1', 'notes', 'note-1'))
  expect((await Promise.all(removals)).filter(Boolean)).toHaveLength(1)
  expect(await current(trial, draft())).toBeUndefined()
  expect(await trial.store.documents.list({ collection: 'notes', limit: 10 })).toEqual({ documents: [], total: 0 })
  trial.clock.advance(10)
  const anew = await trial.store.documents.put(draft(), 0)
  expect(anew).toEqual({ ...draft(), version: 1, createdAt: trial.clock.iso(), updatedAt: trial.clock.iso() })
  expect(await current(trial, draft())).toEqual(anew)
}

async function keepsAnyBody(trial: Trial): Promise<void> {
  const texts = ['', 'null', 'e\u0301', '🌊', '\ud800', '\0', '"\\\n\u2028', "'; DROP TABLE documents; --"]
  const bodies = [null, true, false, 0, -1.5, 1e308, [], {}, [[[]]], { a: { b: [null, { '': 1 }] } }, ...texts, texts]
  for (const body of bodies) {
    const put = await trial.store.documents.put(draft({ body }))
    expect(put?.body).toEqual(body)
    expect((await current(trial, draft()))?.body).toEqual(body)
  }
  expect((await current(trial, draft()))?.version).toBe(bodies.length)
}

async function keepsLargeBodies(trial: Trial): Promise<void> {
  const bodies = ['x', 'é', '🌊'].map((letter) => letter.repeat((256 * 1024) / Buffer.byteLength(letter) - 1))
  const put = bodies.map((body, index) => trial.store.documents.put(draft({ id: `note-${index}`, body })))
  await Promise.all(put)
  for (const [index, body] of bodies.entries()) {
    expect((await current(trial, draft({ id: `note-${index}` })))?.body === body, `body ${index}`).toBe(true)
  }
  const { documents } = await trial.store.documents.list({ collection: 'notes', ascending: true, limit: 10 })
  expect(documents.map(({ body }) => (body as string).length)).toEqual(bodies.map((body) => body.length))
}

async function keepsNames(trial: Trial): Promise<void> {
  const ids = ['a', 'A', 'a ', 'ä', 'a\u0308', '%', '_', '*', "'", '"', '\\', '/', '🌊', '🌋', 'x'.repeat(256)]
  for (const id of ids) expect(await trial.store.documents.put(draft({ id, label: id, title: id }), 0)).toBeDefined()
  for (const id of ids) {
    expect(await current(trial, draft({ id }))).toMatchObject({ id, label: id, title: id, version: 1 })
    const { documents } = await trial.store.documents.list({ collection: 'notes', label: id, limit: 100 })
    expect(documents.map((document) => document.id)).toEqual([id])
  }
}

async function keepsItsOwn(trial: Trial): Promise<void> {
  const body = { list: ['mine'] }
  const answer = (await trial.store.documents.put(draft({ body })))!.body as typeof body
  body.list.push('changed in what was given')
  answer.list.push('changed in the answer')
  const got = (await current(trial, draft()))!.body as typeof body
  expect(got).toEqual({ list: ['mine'] })
  got.list.push('changed in what was got')
  const { documents } = await trial.store.documents.list({ collection: 'notes', limit: 1 })
  expect(documents[0]!.body).toEqual({ list: ['mine'] })
}
