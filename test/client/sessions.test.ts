/** The client's sessions against a server with authentication. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ApiError, type Client, createClient } from '../../src/client/index.ts'
import { createKeys } from '../support/keys.ts'
import { temporaryFolder } from '../support/temporary.ts'
import { serveNative } from '../protocols/native/serve.ts'

/** Clients of two principals of one server. */
async function serveTwo(): Promise<readonly [alice: Client, bob: Client]> {
  const keys = join(temporaryFolder(), 'keys.json')
  const tokens = await createKeys(keys, ['alice', 'bob'])
  const { url } = await serveNative({ auth: { keys } })
  const [alice, bob] = tokens.map((key) => createClient({ url, key }))
  return [alice!, bob!]
}

async function runIn(client: Client, session: string, component = 'lab'): Promise<void> {
  const run = await client.runs.start({ component, input: 'text 1', session })
  await run.result()
}

test('client.sessions lists, gets, renames and deletes the caller’s sessions', async () => {
  const [alice] = await serveTwo()
  for (const session of ['first', 'second', 'a/b ü?']) await runIn(alice, session)
  await runIn(alice, 'other', 'echo')
  expect(await alice.sessions.list({ component: 'echo' })).toMatchObject({
    sessions: [{ id: 'other', name: 'other', component: 'echo' }],
    total: 1,
  })
  const renamed = await alice.sessions.rename('a/b ü?', 'Kelp forests')
  expect(renamed).toMatchObject({ id: 'a/b ü?', name: 'Kelp forests', component: 'lab' })
  expect(await alice.sessions.get('a/b ü?')).toEqual(renamed)
  expect(await alice.sessions.list({ name: 'kelp' })).toEqual({ sessions: [renamed], total: 1 })
  const first = await alice.sessions.list({ limit: 3 })
  const pages = [first, await alice.sessions.list({ limit: 3, cursor: first.cursor! })]
  expect(pages.map(({ cursor }) => typeof cursor)).toEqual(['string', 'undefined'])
  expect(pages.map(({ total }) => total)).toEqual([4, 4])
  expect(pages.map(({ sessions }) => sessions.map(({ id }) => id))).toEqual([['other', 'a/b ü?', 'second'], ['first']])
  await alice.sessions.delete('a/b ü?')
  await expect(alice.sessions.get('a/b ü?')).rejects.toMatchObject({ status: 404, code: 'not_found' })
  expect((await alice.sessions.runs('a/b ü?')).runs).toEqual([])
})

test('client.sessions.open: the handle has the methods of client.sessions without the id', async () => {
  const [alice] = await serveTwo()
  await runIn(alice, 'a/b ü?')
  await runIn(alice, 'other')
  const session = alice.sessions.open('a/b ü?')
  const renamed = await session.rename('Kelp forests')
  expect(renamed).toMatchObject({ id: 'a/b ü?', name: 'Kelp forests' })
  expect(await session.get()).toEqual(renamed)
  expect(await session.messages()).toEqual(await alice.sessions.messages('a/b ü?'))
  const { runs } = await session.runs()
  expect(runs).toHaveLength(1)
  const ofRuns = new Set<string>()
  for await (const event of session.follow()) {
    ofRuns.add(event.run)
    if (event.type === 'run.completed') break
  }
  expect([...ofRuns]).toEqual([runs[0]!.id])
  expect(await session.run(runs[0]!.id).get()).toEqual(runs[0])
  await session.delete()
  await expect(session.get()).rejects.toMatchObject({ status: 404, code: 'not_found' })
  expect(await alice.sessions.list()).toMatchObject({ sessions: [{ id: 'other' }], total: 1 })
})

test('[SEC-1] client.sessions: sessions of another principal do not exist', async () => {
  const [alice, bob] = await serveTwo()
  await runIn(alice, 'hers')
  const before = await alice.sessions.get('hers')
  expect(await bob.sessions.list()).toEqual({ sessions: [], total: 0 })
  for (const ask of [
    () => bob.sessions.get('hers'),
    () => bob.sessions.rename('hers', 'mine'),
    () => bob.sessions.delete('hers'),
  ]) {
    const error = await ask().catch((cause: unknown) => cause)
    expect(error).toBeInstanceOf(ApiError)
    expect(error).toMatchObject({ status: 404, code: 'not_found' })
  }
  expect(await alice.sessions.get('hers')).toEqual(before)
  expect((await alice.sessions.runs('hers')).runs).toHaveLength(1)
})

test('client.sessions: an empty or overlong name is rejected and the field is named', async () => {
  const [alice] = await serveTwo()
  await runIn(alice, 'one')
  for (const name of ['', 'x'.repeat(257)])
    await expect(alice.sessions.rename('one', name)).rejects.toMatchObject({
      status: 400,
      code: 'invalid_request',
      message: expect.stringMatching(/^name: /) as string,
    })
  await expect(alice.sessions.list({ limit: 0 })).rejects.toMatchObject({ status: 400, code: 'invalid_request' })
})
