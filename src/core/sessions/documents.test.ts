/** Documents and sessions as protocols access them. */
import { describe, expect, test } from 'vitest'
import { aborted, openNode, subject, type TestNode } from '../../../test/support/node.ts'
import { until } from '../../../test/support/until.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { withDocuments } from '../../testing/broken-stores/documents.ts'
import { newRun, RunWriter } from '../../testing/fixtures.ts'
import { systemClock } from '../ports/clock.ts'
import { type DocumentDraft, caseFolded, SESSIONS } from '../model/document.ts'
import { HoldfastError, isHoldfastError } from '../model/errors.ts'
import { defaultLimits } from '../model/limits.ts'
import { localPrincipal } from '../model/principal.ts'
import { removeSession } from './session-removal.ts'
import type { Store } from '../ports/store.ts'

const anna = { id: 'anna' }
const bert = { id: 'bert' }

const note: Omit<DocumentDraft, 'owner'> = { collection: 'notes', id: 'one', body: { text: 'hello' } }

function bare(limits = {}): TestNode['service'] {
  return openNode({ components: [], limits }).service
}

describe('documents of a principal', () => {
  test('are created, read, listed and removed', async () => {
    const documents = bare().documents(anna)
    const put = await documents.put({ ...note, label: 'storyteller', title: 'A tale' })
    expect(put).toMatchObject({ ...note, owner: 'anna', label: 'storyteller', title: 'A tale', version: 1 })
    expect(await documents.get('notes', 'one')).toEqual(put)
    expect(await documents.list({ collection: 'notes', title: 'TALE' })).toEqual({ documents: [put], total: 1 })
    expect(await documents.put(note, 2)).toBeUndefined()
    expect(await documents.remove('notes', 'one')).toBe(true)
    expect(await documents.get('notes', 'one')).toBeUndefined()
  })

  test('[SEC-1] are visible to no other principal', async () => {
    const service = bare()
    await service.documents(anna).put(note)
    const others = [bert, { ...anna, tenant: 'acme' }]
    for (const other of others) {
      const documents = service.documents(other)
      expect(await documents.get('notes', 'one')).toBeUndefined()
      expect(await documents.list({ collection: 'notes' })).toEqual({ documents: [], total: 0 })
      expect(await documents.remove('notes', 'one')).toBe(false)
      expect(await documents.put({ ...note, body: 'other' }, 0)).toBeDefined()
    }
    expect(await service.documents(anna).get('notes', 'one')).toMatchObject({ body: note.body, version: 1 })
    const all = await service.allDocuments({ collection: 'notes', ascending: true, limit: 10 })
    expect(all.documents.map(({ owner }) => owner).toSorted()).toEqual(['acme/anna', 'anna', 'bert'])
  })

  test('are listed by a query even if it names another owner', async () => {
    const service = bare()
    await service.documents(bert).put(note)
    const query = { collection: 'notes', owner: 'bert' }
    expect(await service.documents(anna).list(query)).toEqual({ documents: [], total: 0 })
  })

  test.each<[string, Partial<DocumentDraft>, string]>([
    ['without an id', { id: '' }, 'the id of a document is empty'],
    ['without a collection', { collection: '' }, 'the collection of a document is empty'],
    ['with an empty label', { label: '' }, 'the label of a document is empty'],
    ['with a long id', { id: 'x'.repeat(257) }, 'the id of a document is longer than 256 characters'],
    ['with a long title', { title: 'x'.repeat(257) }, 'the title of a document is longer than 256 characters'],
    [
      'with a lone surrogate in its id',
      { id: 'a\ud800' },
      'the id of a document contains a control character or a lone surrogate',
    ],
    [
      'with U+0000 in its title',
      { title: 'a\0b' },
      'the title of a document contains a character that cannot be stored',
    ],
    ['with a large body', { body: 'é'.repeat(128 * 1024) }, 'body is 262146 bytes long; the limit is 262144'],
    ['with a body that is not data', { body: { act: () => {} } }, 'body.act is a function'],
  ])('are rejected %s, and nothing is stored', async (_name, part, message) => {
    const documents = bare().documents(anna)
    await expect(documents.put({ ...note, ...part })).rejects.toMatchObject({ code: 'invalid_request', message })
    expect((await documents.list({ collection: 'notes' })).total).toBe(0)
  })

  test('may be as large as the limit', async () => {
    const documents = bare().documents(anna)
    const body = 'x'.repeat(256 * 1024 - 2)
    const names = { id: 'i'.repeat(256), label: 'l'.repeat(256), title: 't'.repeat(256) }
    expect(await documents.put({ ...note, ...names, body })).toMatchObject({ ...names, body })
  })

  test('have bodies in their JSON form', async () => {
    const documents = bare().documents(anna)
    const put = await documents.put({ ...note, body: { when: new Date(0), none: undefined, many: new Set([1]) } })
    expect(put?.body).toEqual({ when: '1970-01-01T00:00:00.000Z', many: [1] })
    expect(await documents.put({ ...note, body: undefined })).toMatchObject({ body: null })
  })

  test('are listed in pages of a bounded size', async () => {
    const service = bare({ maxPageDocuments: 3 })
    const documents = service.documents(anna)
    for (let number = 0; number < 5; number++) await documents.put({ ...note, id: `note-${number}` })
    const query = { collection: 'notes', limit: 100 }
    for (const page of [await documents.list(query), await service.allDocuments(query)]) {
      expect([page.documents.length, page.total]).toEqual([3, 5])
    }
    for (const wrong of [{ offset: -1 }, { limit: -1 }, { limit: 1.5 }, { offset: Number.NaN }]) {
      await expect(documents.list({ ...query, ...wrong })).rejects.toMatchObject({ code: 'invalid_request' })
    }
  })
})

test('caseFolded: case and composed letters make no difference', () => {
  expect(caseFolded('ÜBER')).toBe(caseFolded('über'))
  expect(caseFolded('ΟΔΟΣ')).toBe(caseFolded('οδος'))
  expect(caseFolded('Straße')).toBe(caseFolded('STRASSE'))
  expect(caseFolded('\u212A')).toBe(caseFolded('k'))
  expect(caseFolded('e\u0301')).toBe(caseFolded('É'))
})

describe('sessions: a session', () => {
  const story = subject(async function* () {
    yield 'Once upon a time.'
  })
  /** Runs until it is stopped. */
  const endless = subject(
    async function* (_, { signal }) {
      yield 'On '
      await aborted(signal)
    },
    { id: 'endless', onBusySession: 'enqueue' },
  )
  const asking = subject(
    async function* (_, { ask }) {
      yield 'Well? '
      await ask({ kind: 'input', prompt: 'And then?' })
    },
    { id: 'asking' },
  )
  const components = [story, endless, asking]
  const session = 'tale'

  function remove({ service }: TestNode): Promise<void> {
    return service.removeSession(localPrincipal, session)
  }

  async function expectGone(node: TestNode): Promise<void> {
    expect((await node.service.list(localPrincipal, { session })).runs).toEqual([])
    expect(await node.service.documents(localPrincipal).get(SESSIONS, session)).toBeUndefined()
  }

  test('has a document as soon as it has a run, and can be named while it executes', async () => {
    const node = openNode({ components })
    const documents = node.service.documents(localPrincipal)
    await node.ended(await node.start('subject', 1, { session }))
    const first = await documents.get(SESSIONS, session)
    expect(first).toMatchObject({ label: 'subject', body: {}, version: 1 })
    await documents.put({ collection: SESSIONS, id: session, title: 'My tale', body: { state: 1 } }, 1)
    await node.ended(await node.start('subject', 2, { session }))
    expect(await documents.get(SESSIONS, session)).toMatchObject({ title: 'My tale', body: { state: 1 }, version: 2 })
  })

  test('is removed with its runs, and other sessions stay', async () => {
    const node = openNode({ components, limits: { maxPageRuns: 2 } })
    for (let number = 0; number < 5; number++) await node.ended(await node.start('subject', number, { session }))
    const other = await node.start('subject', 0, { session: 'other' })
    await node.ended(other)
    await remove(node)
    await expectGone(node)
    expect((await node.get(other)).run.status).toBe('completed')
    expect((await node.service.documents(localPrincipal).list({ collection: SESSIONS })).total).toBe(1)
    await expect(remove(node)).rejects.toMatchObject({ code: 'not_found', message: 'session tale not found' })
  })

  test('a session without runs can be removed', async () => {
    const node = openNode({ components })
    await node.service.documents(localPrincipal).put({ collection: SESSIONS, id: session, body: {} })
    await remove(node)
    await expectGone(node)
  })

  test('[RUN-2] a session with running, queued and paused runs is removed after they are stopped', async () => {
    const node = openNode({ components, limits: { leaseMs: 20_000 } })
    const running = await node.start('endless', 0, { session })
    await node.emitted(running, 'text.delta')
    await node.start('endless', 1, { session })
    const paused = await node.start('asking', 0, { session })
    await node.reached(paused, 'paused')
    const stopped: string[] = []
    node.store.watch('*', (hint) => void (hint.stop && stopped.push(hint.run)))
    await remove(node)
    await expectGone(node)
    expect(stopped).toHaveLength(3)
    await until('nothing is driven any more', () => node.service.health().running === 0)
  })

  test('[SEC-1] can be removed by its owner only', async () => {
    const node = openNode({ components })
    const { run } = await node.startAs(anna, 'subject', 0, { session })
    await node.ended(run.id)
    await expect(node.service.removeSession(bert, session)).rejects.toMatchObject({ code: 'not_found' })
    const { run: his } = await node.startAs(bert, 'subject', 0, { session })
    await node.ended(his.id)
    await node.service.removeSession(bert, session)
    expect((await node.service.get(anna, run.id)).run.status).toBe('completed')
    expect(await node.service.documents(anna).get(SESSIONS, session)).toBeDefined()
    expect(await node.service.documents(bert).get(SESSIONS, session)).toBeUndefined()
  })

  test('stays when one of its runs does not end in time, and can be removed later', async () => {
    const store = createMemoryStore()
    const node = openNode({ components, store, limits: { leaseMs: 150 } }) // removing waits for some of them
    const claim = { worker: 'a worker elsewhere', ttlMs: 60_000 }
    const held = newRun('run_held', new Date().toISOString(), { owner: 'local', session, claim })
    await store.create(held)
    await expect(remove(node)).rejects.toMatchObject({
      code: 'conflict',
      message: 'session tale cannot be removed yet: its run run_held is stopping. Try again later',
      details: { run: 'run_held' },
    })
    expect(await node.get('run_held')).toMatchObject({ stop: { by: 'local', reason: 'its session is removed' } })
    expect(await node.service.documents(localPrincipal).get(SESSIONS, session)).toBeDefined()
    await store.release('run_held', 1)
    await node.reached('run_held', 'cancelled')
    await remove(node)
    await expectGone(node)
  })

  test('a session that starts again while it is removed leaves no run without a document', async () => {
    const store = createMemoryStore()
    let late: string | undefined
    const racing: Store = withDocuments(store, {
      remove: async (...name) => {
        late ??= await node.start('endless', 'late', { session })
        return store.documents.remove(...name)
      },
    })
    const node: TestNode = openNode({ components, store: racing, limits: { leaseMs: 20_000 } })
    await node.ended(await node.start('subject', 0, { session }))
    await remove(node)
    expect(late).toBeDefined()
    await expectGone(node)
  })

  test('a session whose run is removed concurrently is removed too', async () => {
    const store = createMemoryStore()
    const claim = { worker: 'worker-1', ttlMs: 60_000 }
    const { stored } = await store.create(newRun('run_1', new Date().toISOString(), { owner: 'local', session, claim }))
    await removeSession({
      store,
      limits: defaultLimits,
      owner: 'local',
      session,
      stop: { at: new Date().toISOString() },
      waitForMore: async (id) => {
        const runWriter = new RunWriter(store, systemClock, stored, [])
        runWriter.cancel()
        await runWriter.flush()
        await store.remove(id)
        throw new HoldfastError('not_found', `run ${id} not found`)
      },
    })
    expect(await store.documents.get('local', SESSIONS, session)).toBeUndefined()
  })

  test('is removed once by concurrent removals', async () => {
    const node = openNode({ components, limits: { leaseMs: 20_000 } })
    for (let number = 0; number < 3; number++) await node.start('endless', number, { session })
    const removals = await Promise.allSettled(Array.from({ length: 5 }, () => remove(node)))
    const refusals = removals.flatMap((removal) => (removal.status === 'rejected' ? [removal.reason as unknown] : []))
    expect(refusals.every((refusal) => isHoldfastError(refusal, 'not_found'))).toBe(true)
    expect(removals.some(({ status }) => status === 'fulfilled')).toBe(true)
    await expectGone(node)
  })
})
