/** Webhooks: allowed targets, signatures, and dead receivers that delay no others. */
import { createPublicKey, type JsonWebKey, verify } from 'node:crypto'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createMemoryStore } from '../../../../src/stores/memory.ts'
import { call } from '../../../support/http.ts'
import { serveInProcess } from '../../../support/in-process.ts'
import { createKeys } from '../../../support/keys.ts'
import { temporaryFolder } from '../../../support/temporary.ts'
import { until } from '../../../support/until.ts'
import { receiveWebhooks, type Webhook } from './receiver.ts'
import { serveTwo, subscriber } from './serve.ts'

const rejected = { status: 400, body: { error: { code: 'WEBHOOK_URL_REJECTED' } } }

test.each([
  'http://127.0.0.1:9/hook',
  'http://localhost:9/hook',
  'http://a.localhost./hook',
  'http://[::1]:9/hook',
  'http://[::ffff:127.0.0.1]/hook',
  'http://2130706433/hook',
  'https://10.0.0.1/hook',
  'https://192.168.1.1/hook',
  'https://169.254.169.254/latest/meta-data',
  'https://[fd00::1]/hook',
  'https://0.0.0.0/hook',
  'http://example.com/hook',
  'https://user:password@example.com/hook',
  'ftp://example.com/hook',
  'file:///etc/passwd',
  'hook',
  '',
])('[SEC-2] subscriptions: a webhook to %s is refused by default', async (url) => {
  const { anna } = await serveTwo({ streamWebhooks: true })
  expect(await anna.webhook('hook', url)).toMatchObject(rejected)
  expect((await anna.get('hook')).status).toBe(404)
})

test('[SEC-2] subscriptions: loopback is allowed on option only, and other private addresses never are', async () => {
  const { anna } = await serveTwo({ streamWebhooks: { loopback: true } })
  expect((await anna.webhook('own', 'http://localhost:9/hook')).status).toBe(201)
  for (const url of ['http://10.0.0.1/', 'https://169.254.169.254/', 'http://example.com/'])
    expect(await anna.webhook('hook', url)).toMatchObject(rejected)
})

test('[SEC-2] subscriptions: a server without webhooks refuses them, and serves pull-wake', async () => {
  const { anna } = await serveTwo({ streamWebhooks: false })
  expect(await anna.webhook('hook', 'https://example.com/hook')).toMatchObject(rejected)
  expect((await anna.pull('worker')).status).toBe(201)
})

test('[SEC-2] subscriptions: the address is checked again at each delivery', async () => {
  const path = join(temporaryFolder(), 'runs.db')
  const { url, received } = await receiveWebhooks()
  const before = await serveInProcess({ path, streamWebhooks: { loopback: true } })
  const first = subscriber({ url: before.url })
  await first.create('news')
  await first.webhook('hook', url)
  await before.close()
  const { url: later } = await serveInProcess({ path, streamWebhooks: true })
  const client = subscriber({ url: later })
  await client.append('news', 'one')
  await until('the delivery has failed', async () => (await client.get('hook')).body['status'] === 'failed')
  expect(received).toEqual([])
})

test('[SEC-2] subscriptions: a redirect is not followed and counts as a failure', async () => {
  const { anna } = await serveTwo()
  const target = await receiveWebhooks()
  const { url, received } = await receiveWebhooks(() => ({ status: 307, headers: { location: target.url } }))
  await anna.create('news')
  await anna.webhook('hook', url)
  await anna.append('news', 'one')
  await until('the delivery has failed', async () => (await anna.get('hook')).body['status'] === 'failed')
  expect(received.length).toBeGreaterThan(0)
  expect(target.received).toEqual([])
})

function isSigned({ text, signature }: Webhook, keys: readonly JsonWebKey[]): boolean {
  const fields = new Map(signature.split(',').map((part) => part.split(/=(.*)/s) as [string, string]))
  const jwk = keys.find(({ kid }) => kid === fields.get('kid'))
  if (jwk === undefined) return false
  const key = createPublicKey({ key: jwk, format: 'jwk' })
  return verify(null, Buffer.from(`${fields.get('t')}.${text}`), key, Buffer.from(fields.get('ed25519')!, 'base64url'))
}

test('subscriptions: the signature of a webhook verifies with the published keys, also after a restart', async () => {
  const path = join(temporaryFolder(), 'runs.db')
  const { url, received } = await receiveWebhooks(() => ({ body: { done: true } }))
  const open = () => serveInProcess({ path, streamWebhooks: { loopback: true } })
  const before = await open()
  const first = subscriber({ url: before.url })
  await first.create('news')
  const { body } = await first.webhook('hook', url)
  const { signing } = body['webhook'] as { signing: { jwks_url: string; kid: string; alg: string } }
  const jwks = await fetch(signing.jwks_url)
  expect(jwks.headers.get('content-type')).toBe('application/jwk-set+json')
  const { keys } = (await jwks.json()) as { keys: JsonWebKey[] }
  expect(keys).toMatchObject([{ kty: 'OKP', crv: 'Ed25519', kid: signing.kid }])
  expect(JSON.stringify(keys)).not.toContain('"d"')
  await first.append('news', 'one')
  await until('the first webhook arrives', () => received.length === 1)
  await before.close()
  const client = subscriber({ url: (await open()).url })
  await client.append('news', 'two')
  await until('the second webhook arrives', () => received.length === 2)
  for (const webhook of received) {
    expect(isSigned(webhook, keys)).toBe(true)
    expect(isSigned({ ...webhook, text: `${webhook.text} ` }, keys)).toBe(false)
  }
})

test('[SEC-2] subscriptions: dead receivers of many principals delay no other owner', async () => {
  const path = join(temporaryFolder(), 'keys.json')
  const [bert = '', ...hostile] = await createKeys(
    path,
    Array.from({ length: 11 }, (_, at) => `principal${at}`),
  )
  const { url } = await serveInProcess({
    store: createMemoryStore(),
    auth: { keys: path },
    streamWebhooks: { loopback: true },
  })
  const never = new Promise<never>(() => {})
  const dead = await Promise.all(Array.from({ length: 20 }, () => receiveWebhooks(() => never)))
  const inFlight = (): number => dead.reduce((sum, { received }) => sum + received.length, 0)
  for (const token of hostile) {
    const client = subscriber({ url, token })
    await client.create('news')
    await Promise.all(dead.map(({ url: hook }, at) => client.webhook(`dead-${at}`, hook)))
    await client.append('news', 'one')
  }
  await until('as many deliveries are in flight as there may be', () => inFlight() >= 64)
  const live = await receiveWebhooks(() => ({ body: { done: true } }))
  const client = subscriber({ url, token: bert })
  await client.create('news')
  await client.webhook('hook', live.url)
  await client.append('news', 'one')
  await until('the other owner is woken', () => live.received.length === 1)
  // No owner has more than its share.
  expect(inFlight()).toBeLessThanOrEqual(64 + hostile.length)
})

test('[SEC-2] subscriptions: one receiving host gets four deliveries at once', async () => {
  const { anna } = await serveTwo()
  const never = new Promise<never>(() => {})
  const dead = await receiveWebhooks(() => never)
  const live = await receiveWebhooks(() => ({ body: { done: true } }))
  await anna.create('news')
  for (let at = 0; at < 12; at++) await anna.webhook(`dead-${at}`, dead.url)
  await anna.webhook('live', live.url)
  await anna.append('news', 'one')
  await until('the other host is called', () => live.received.length === 1)
  // A request that was sent earlier may arrive later.
  await until('the dead host is called', () => dead.received.length >= 4)
  expect(dead.received).toHaveLength(4)
})

test('[SEC-2] subscriptions: more subscriptions than slots are all woken, one after the other', async () => {
  const { anna } = await serveTwo()
  const { url, received } = await receiveWebhooks(() => ({ body: { done: true } }))
  await anna.create('news')
  await Promise.all(Array.from({ length: 30 }, (_, at) => anna.webhook(`hook-${at}`, url)))
  await anna.append('news', 'one')
  const woken = () => new Set(received.map(({ body }) => body.subscription_id))
  await until('all are woken', () => woken().size === 30)
  expect(received.map(({ body }) => body.generation)).toEqual(received.map(() => 1))
})

test('subscriptions: the callback address is the one at which the creator called the server', async () => {
  const { server, anna } = await serveTwo()
  const { url, received } = await receiveWebhooks()
  await anna.create('news')
  await anna.webhook('my hook/1'.replaceAll('/', '%2F').replaceAll(' ', '%20'), url)
  await anna.append('news', 'one')
  const { body } = await until('the webhook arrives', () => received[0])
  expect(body.callback_url).toBe(`${server.url}/v1/stream/__ds/subscriptions/my%20hook%2F1/callback`)
  const wake = { wake_id: body.wake_id, generation: body.generation, done: true }
  expect((await call({ url: body.callback_url, token: body.callback_token }, 'POST', '', { body: wake })).status).toBe(
    200,
  )
})
