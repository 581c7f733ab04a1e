/** Ownership of subscriptions, and the access of a wake's token. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { keyPrincipalId, ownerKey } from '../../../../src/core/model/principal.ts'
import { SUBSCRIPTIONS } from '../../../../src/protocols/durable-streams/subscriptions/model.ts'
import { createKey } from '../../../../src/server/auth/api-keys.ts'
import { createMemoryStore } from '../../../../src/stores/memory.ts'
import { call } from '../../../support/http.ts'
import { serveInProcess } from '../../../support/in-process.ts'
import { temporaryFolder } from '../../../support/temporary.ts'
import { until } from '../../../support/until.ts'
import { receiveWebhooks } from './receiver.ts'
import { allOf, serveTwo, subscriber, type Wake } from './serve.ts'

const refused = (status: number, code: string) => ({ status, body: { error: { code } } })
const missing = refused(404, 'SUBSCRIPTION_NOT_FOUND')
const invalid = refused(401, 'TOKEN_INVALID')

test('[SEC-1] subscriptions: a principal cannot see, change, claim or delete the subscription of another', async () => {
  const { anna, bert } = await serveTwo()
  await anna.create('news')
  await anna.pull('worker')
  await anna.append('news', 'one')
  const before = (await anna.get('worker')).body
  expect(await bert.get('worker')).toMatchObject(missing)
  expect(await bert.claim('worker')).toMatchObject(missing)
  expect(await bert.ask('POST', 'worker/streams', { streams: ['mine'] })).toMatchObject(missing)
  expect(await bert.ask('DELETE', 'worker/streams/news')).toMatchObject(missing)
  await bert.remove('worker')
  expect((await anna.get('worker')).body['streams']).toEqual(before['streams'])
  // The id is free for others, and names another subscription.
  expect((await bert.pull('worker', { streams: ['mine'] })).status).toBe(201)
  expect((await anna.get('worker')).body['streams']).toEqual(before['streams'])
  expect((await anna.claim('worker')).status).toBe(200)
})

test('[SEC-1] subscriptions: streams of another principal are not matched, and wake nobody', async () => {
  const { anna, bert } = await serveTwo()
  const { url, received } = await receiveWebhooks(() => ({ body: { done: true } }))
  await bert.put('hook', { type: 'webhook', pattern: '**', streams: ['news'], webhook: { url } })
  await anna.create('news')
  await anna.append('news', 'private')
  await bert.create('mine')
  await bert.append('mine', 'one')
  await until('the own stream wakes', () => received.length > 0)
  expect(JSON.stringify(received.map(({ body }) => body.streams.filter(({ path }) => path === 'news')))).not.toContain(
    '"has_pending":true',
  )
  expect((await bert.get('hook')).body['streams']).toMatchObject([{ path: 'news' }, { path: 'mine' }])
})

test('[SEC-2] subscriptions: a token opens the current wake of its subscription, and nothing else', async () => {
  const { anna, bert } = await serveTwo()
  for (const client of [anna, bert]) {
    await client.create('news')
    for (const id of ['first', 'second']) await client.pull(id)
    await client.append('news', 'one')
  }
  const first = (await anna.claim('first')).body
  const second = (await anna.claim('second')).body
  const foreign = (await bert.claim('first')).body
  const forged = `${first.token.slice(0, -2)}${first.token.endsWith('AA') ? 'BB' : 'AA'}`
  const [payload = '', mac = ''] = first.token.split('.')
  const other = Buffer.from(payload, 'base64url').toString().replace(',1]', ',2]')
  const tokens = [second.token, forged, `${Buffer.from(other).toString('base64url')}.${mac}`, '', 'x'.repeat(10_000)]
  for (const token of tokens) {
    expect(await anna.ack('first', first, { done: true }, token)).toMatchObject(invalid)
    expect(await anna.release('first', first, token)).toMatchObject(invalid)
    expect(await anna.ask('POST', 'first/callback', {}, token)).toMatchObject(invalid)
  }
  // A token for the same id of another principal is for that principal's subscription.
  expect(await anna.ack('first', first, { done: true }, foreign.token)).toMatchObject(refused(409, 'FENCED'))
  // A credential is no token, and a token no credential.
  expect((await anna.ask('POST', 'first/ack', { ...first, done: true })).status).toBe(401)
  expect((await anna.ask('GET', 'first', undefined, first.token)).status).toBe(401)
  expect((await anna.ack('first', first, allOf(first))).status).toBe(200)
  expect((await bert.ack('first', foreign, allOf(foreign))).status).toBe(200)
})

test('[SEC-2] subscriptions: the token, wake id and generation of an earlier wake are fenced', async () => {
  const { anna } = await serveTwo()
  await anna.create('news')
  await anna.pull('worker')
  await anna.append('news', 'one')
  const old = (await anna.claim('worker')).body
  await anna.release('worker', old)
  const current = (await anna.claim('worker')).body
  expect(current.generation).toBe(old.generation + 1)
  const fenced = refused(409, 'FENCED')
  const mixed: [Wake, string][] = [
    [old, old.token],
    [old, current.token],
    [current, old.token],
    [{ ...current, wake_id: old.wake_id }, current.token],
    [{ ...current, generation: old.generation }, current.token],
  ]
  for (const [wake, token] of mixed) {
    expect(await anna.ack('worker', wake, { done: true }, token)).toMatchObject(fenced)
    expect(await anna.release('worker', wake, token)).toMatchObject(fenced)
  }
  expect((await anna.ack('worker', current, allOf(current))).status).toBe(200)
})

test('subscriptions: a deleted subscription refuses its tokens, and one with the same id starts anew', async () => {
  const { anna } = await serveTwo()
  await anna.create('news')
  await anna.pull('worker')
  await anna.append('news', 'one')
  const wake = (await anna.claim('worker')).body
  expect((await anna.remove('worker')).status).toBe(204)
  expect(await anna.ack('worker', wake, { done: true })).toMatchObject(missing)
  await anna.pull('worker')
  await anna.append('news', 'two')
  const again = (await anna.claim('worker')).body
  expect(await anna.ack('worker', wake, { done: true })).toMatchObject(refused(409, 'FENCED'))
  expect((await anna.ack('worker', again, allOf(again))).status).toBe(200)
})

test('[SEC-2] subscriptions: keys do what their scopes allow', async () => {
  const keys = join(temporaryFolder(), 'keys.json')
  const principal = 'anna'
  const { key } = await createKey(keys, { name: 'writer', principal })
  const { key: reading } = await createKey(keys, { name: 'reader', principal, scopes: ['runs:read'] })
  const { key: elsewhere } = await createKey(keys, { name: 'lab', principal, scopes: ['runs:write', 'component:lab'] })
  const { url } = await serveInProcess({ store: createMemoryStore(), auth: { keys } })
  const [anna, reader, labOnly] = [key, reading, elsewhere].map((token) => subscriber({ url, token })) as [
    ReturnType<typeof subscriber>,
    ReturnType<typeof subscriber>,
    ReturnType<typeof subscriber>,
  ]
  await anna.create('news')
  await anna.pull('worker')
  await anna.append('news', 'one')
  expect((await reader.get('worker')).status).toBe(200)
  for (const client of [reader, labOnly]) expect((await client.pull('other')).status).toBe(403)
  expect((await reader.claim('worker')).status).toBe(403)
  expect((await reader.remove('worker')).status).toBe(403)
  expect((await reader.ask('POST', 'worker/streams', { streams: ['x'] })).status).toBe(403)
  expect((await reader.ask('DELETE', 'worker/streams/news')).status).toBe(403)
  expect((await anna.claim('worker')).status).toBe(200)
})

test('[SEC-1] subscriptions: a forgotten principal has none, and nothing is delivered any more', async () => {
  const keys = join(temporaryFolder(), 'keys.json')
  const { key } = await createKey(keys, { name: 'anna' })
  const { key: admin } = await createKey(keys, { name: 'admin', scopes: ['admin'] })
  const store = createMemoryStore()
  const { url } = await serveInProcess({ store, auth: { keys }, streamWebhooks: { loopback: true } })
  const anna = subscriber({ url, token: key })
  const hooks = await receiveWebhooks()
  await anna.create('news')
  await anna.webhook('hook', hooks.url)
  await anna.append('news', 'one')
  const { body: wake } = await until('the wake arrives', () => hooks.received[0])
  const body = { principal: keyPrincipalId('anna'), stop: true }
  const forgotten = await call({ url, token: admin }, 'POST', '/admin/forget', { body })
  expect(forgotten.status).toBe(200)
  const owner = ownerKey({ id: keyPrincipalId('anna') })
  expect((await store.documents.list({ collection: SUBSCRIPTIONS, owner, limit: 10 })).total).toBe(0)
  const late = await call<{ error: object }>({ url: wake.callback_url, token: wake.callback_token }, 'POST', '', {
    body: { wake_id: wake.wake_id, generation: wake.generation, done: true },
  })
  expect(late.body.error).toMatchObject({ code: 'SUBSCRIPTION_NOT_FOUND' })
})
