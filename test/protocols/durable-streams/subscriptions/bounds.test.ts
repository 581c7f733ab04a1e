/** Limits of subscriptions: counts, lengths and bodies, with errors in the form of the protocol. */
import { expect, test } from 'vitest'
import { serveTwo } from './serve.ts'

const invalid = { status: 400, body: { error: { code: 'INVALID_REQUEST' } } }
const full = { status: 507, body: { error: { code: 'quota_exceeded' } } }

test('[SEC-2] subscriptions: a principal has a limited number, and deleting one makes room', async () => {
  const { anna, bert } = await serveTwo({ limits: { maxWebhooksPerPrincipal: 2 } })
  for (const id of ['a', 'b']) expect((await anna.pull(id)).status).toBe(201)
  expect(await anna.pull('c')).toMatchObject(full)
  expect((await anna.pull('a')).status).toBe(200)
  expect((await bert.pull('c')).status).toBe(201)
  await anna.remove('a')
  expect((await anna.pull('c')).status).toBe(201)
})

test('[SEC-2] subscriptions: a subscription has at most 500 streams', async () => {
  const { anna } = await serveTwo()
  const names = (count: number, from = 0) => Array.from({ length: count }, (_, at) => `s${from + at}`)
  expect(await anna.pull('many', { streams: names(501) })).toMatchObject(invalid)
  expect((await anna.pull('many', { streams: names(400) })).status).toBe(201)
  expect(await anna.ask('POST', 'many/streams', { streams: names(101, 400) })).toMatchObject(full)
  expect((await anna.get('many')).body['streams']).toHaveLength(400)
  expect((await anna.ask('POST', 'many/streams', { streams: names(100, 400) })).status).toBe(204)
})

test('[SEC-2] subscriptions: long names leave room for fewer streams', async () => {
  const { anna } = await serveTwo()
  const names = Array.from({ length: 100 }, (_, at) => `${'x'.repeat(900)}${at}`)
  expect(await anna.pull('long', { streams: names })).toMatchObject(full)
  expect((await anna.pull('long', { streams: names.slice(0, 50) })).status).toBe(201)
})

test('[SEC-2] subscriptions: a pattern that matches more streams than fit is refused at its creation', async () => {
  const { anna } = await serveTwo()
  for (let at = 0; at < 60; at++) await anna.create(`${'x'.repeat(900)}${at}`)
  expect(await anna.pull('all', { streams: [], pattern: '*' })).toMatchObject(full)
})

test.each<[string, object]>([
  ['without a type', { type: undefined }],
  ['of an unknown type', { type: 'email' }],
  ['without streams and pattern', { streams: [] }],
  ['with streams that are no list', { streams: 'news' }],
  ['with a stream that is no text', { streams: [1] }],
  ['with a run as stream', { streams: ['run_01m7g0000000000000000000'] }],
  ['with a reserved name', { streams: ['__ds/x'] }],
  ['with a name of 1,001 characters', { streams: ['x'.repeat(1001)] }],
  ['with a pattern of 1,001 characters', { pattern: 'x'.repeat(1001) }],
  ['with a pattern of 51 segments', { pattern: Array.from({ length: 51 }, () => '**').join('/') }],
  ['with a lone surrogate', { pattern: 'a\ud800' }],
  ['without a wake stream', { wake_stream: undefined }],
  ['with a lease of half a second', { lease_ttl_ms: 500 }],
  ['with a lease of an hour', { lease_ttl_ms: 3_600_000 }],
  ['with a lease that is no number', { lease_ttl_ms: '30000' }],
  ['with a description of 1,001 characters', { description: 'x'.repeat(1001) }],
])('[SEC-2] subscriptions: one %s is refused', async (_what, config) => {
  const { anna } = await serveTwo()
  expect(await anna.pull('wrong', config)).toMatchObject(invalid)
  expect((await anna.get('wrong')).status).toBe(404)
})

test('[SEC-2] subscriptions: a body of more than 1 MiB is refused, and one without a valid token is not read', async () => {
  const { anna, url } = await serveTwo()
  await anna.pull('worker')
  const large = JSON.stringify({ streams: ['x'.repeat(1024 * 1024)] })
  expect((await anna.ask('POST', 'worker/streams', JSON.parse(large))).status).toBe(413)
  const { status } = await fetch(`${url}/v1/stream/__ds/subscriptions/worker/ack`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: large,
  })
  expect(status).toBe(401)
})

test('[SEC-2] subscriptions: an id that documents cannot have is refused', async () => {
  const { anna } = await serveTwo()
  expect((await anna.pull('x'.repeat(300))).status).toBe(400)
  expect((await anna.pull('a%00b')).status).toBe(400)
})
