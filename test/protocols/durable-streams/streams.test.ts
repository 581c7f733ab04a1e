/** Streams that clients write: server behaviour that the published suite does not cover. */
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { localPrincipal } from '../../../src/core/model/principal.ts'
import { splitArray } from '../../../src/protocols/durable-streams/wire/json-array.ts'
import { createMemoryStore } from '../../../src/stores/memory.ts'
import { serveInProcess } from '../../support/in-process.ts'
import { createKeys } from '../../support/keys.ts'
import { temporaryDatabase, temporaryFolder } from '../../support/temporary.ts'

const TEXT = { 'content-type': 'text/plain' }
const JSON_TYPE = { 'content-type': 'application/json' }

const put = (url: string, init: RequestInit = {}): Promise<Response> =>
  fetch(url, { method: 'PUT', headers: TEXT, ...init })
const post = (url: string, body: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(url, { method: 'POST', body, headers: { ...TEXT, ...headers } })

describe('Durable Streams: a stream of a client', () => {
  test('[LOG-2] Durable Streams: content, producers and closure are there after a restart', async () => {
    const path = temporaryDatabase()
    const first = await serveInProcess({ path })
    const turn = (seq: number): Record<string, string> => ({
      'producer-id': 'p',
      'producer-epoch': '1',
      'producer-seq': String(seq),
    })
    await put(`${first.url}/v1/stream/a/b`)
    expect((await post(`${first.url}/v1/stream/a/b`, 'one ', turn(0))).status).toBe(200)
    expect((await post(`${first.url}/v1/stream/a/b`, 'two', { ...turn(1), 'stream-closed': 'true' })).status).toBe(200)
    await first.close()
    const { url } = await serveInProcess({ path })
    const stream = `${url}/v1/stream/a/b`
    expect((await post(stream, 'two', { ...turn(1), 'stream-closed': 'true' })).status).toBe(204)
    expect((await post(stream, 'three', turn(2))).status).toBe(409)
    const read = await fetch(stream)
    expect([await read.text(), read.headers.get('stream-closed')]).toEqual(['one two', 'true'])
  })

  test('[LOG-4] Durable Streams: nodes of one store append to one stream, each append once and in one order', async () => {
    const store = createMemoryStore()
    const nodes = [await serveInProcess({ store }), await serveInProcess({ store })]
    await put(`${nodes[0]!.url}/v1/stream/shared`, { headers: JSON_TYPE })
    const written = Array.from({ length: 40 }, (_, index) => index)
    const answers = await Promise.all(
      written.map((index) => post(`${nodes[index % 2]!.url}/v1/stream/shared`, String(index), JSON_TYPE)),
    )
    expect(answers.map(({ status }) => status)).toEqual(written.map(() => 204))
    const [one, other] = await Promise.all(
      nodes.map(async ({ url }) => (await (await fetch(`${url}/v1/stream/shared`)).json()) as number[]),
    )
    expect(one).toEqual(other)
    expect(one!.toSorted((left, right) => left - right)).toEqual(written)
  })

  test('Durable Streams: a stream is a paused run, and a stop closes it', async () => {
    const server = await serveInProcess()
    const stream = `${server.url}/v1/stream/stopped`
    await put(stream, { body: 'kept' })
    const { runs } = await server.service.list(localPrincipal, { component: 'durable-stream' })
    expect(runs[0]!.run).toMatchObject({ status: 'paused', protocol: 'durable-streams' })
    await server.service.stop(localPrincipal, runs[0]!.run.id)
    await expect.poll(async () => (await fetch(stream, { method: 'HEAD' })).headers.get('stream-closed')).toBe('true')
    expect((await post(stream, 'late')).status).toBe(409)
    expect(await (await fetch(stream)).text()).toBe('kept')
  })

  test('[SEC-1] Durable Streams: a name belongs to its principal', async () => {
    const path = join(temporaryFolder(), 'keys.json')
    const [ann, bob] = (await createKeys(path, ['ann', 'bob'])) as [string, string]
    const server = await serveInProcess({ auth: { keys: path } })
    const as = (key: string, init: RequestInit = {}): Promise<Response> =>
      fetch(`${server.url}/v1/stream/mine`, { ...init, headers: { ...TEXT, authorization: `Bearer ${key}` } })
    expect((await as(ann, { method: 'PUT', body: 'of ann' })).status).toBe(201)
    expect((await as(bob)).status).toBe(404)
    expect((await as(bob, { method: 'DELETE' })).status).toBe(404)
    expect((await as(bob, { method: 'PUT', body: 'of bob' })).status).toBe(201)
    expect(await (await as(ann)).text()).toBe('of ann')
  })

  test('Durable Streams: messages keep the digits of their numbers', async () => {
    const server = await serveInProcess()
    const stream = `${server.url}/v1/stream/numbers`
    await put(stream, { headers: JSON_TYPE })
    await post(stream, '[1.0, 12345678901234567890, {"a":[1,"],"]}]', JSON_TYPE)
    expect(await (await fetch(stream)).text()).toBe('[1.0,12345678901234567890,{"a":[1,"],"]}]')
  })

  test('Durable Streams: an append that is too large for the log is refused whole', async () => {
    const server = await serveInProcess()
    const stream = `${server.url}/v1/stream/large`
    expect((await put(stream, { body: 'x'.repeat(3 * 1024 * 1024) })).status).toBe(413)
    expect((await fetch(stream)).status).toBe(404)
    await put(stream)
    expect((await post(stream, 'x'.repeat(3 * 1024 * 1024))).status).toBe(413)
    expect(await (await fetch(stream)).text()).toBe('')
  })
})

test.each([
  ['[]', []],
  [' [ 1 , 2 ] ', ['1', '2']],
  ['["a,b","\\"]",[1,2],{"x":[","]}]', ['"a,b"', '"\\"]"', '[1,2]', '{"x":[","]}']],
])('Durable Streams: the messages of the batch %s', (text, messages) => {
  expect(splitArray(text)).toEqual(messages)
})
