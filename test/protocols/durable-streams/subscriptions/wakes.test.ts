/** How subscribers are woken, and what leases and generations protect. */
import { expect, test } from 'vitest'
import { call } from '../../../support/http.ts'
import { serveInProcess } from '../../../support/in-process.ts'
import { jumpingClock } from '../../../support/jumping-clock.ts'
import { temporaryDatabase } from '../../../support/temporary.ts'
import { until } from '../../../support/until.ts'
import { receiveWebhooks, type Webhook } from './receiver.ts'
import { allOf, serveTwo, subscriber } from './serve.ts'

const done = { body: { done: true } }

test('subscriptions: an append wakes by webhook, and `done` in the response acknowledges it', async () => {
  const { anna } = await serveTwo()
  const { url, received } = await receiveWebhooks(() => done)
  await anna.create('news')
  expect((await anna.webhook('hook', url)).status).toBe(201)
  await anna.append('news', 'one')
  await until('the first wake arrives', () => received.length === 1)
  await anna.append('news', 'two')
  await until('the second wake arrives', () => received.length === 2)
  expect(received.map(({ body }) => body.generation)).toEqual([1, 2])
  await until('it is acknowledged', async () => {
    const { body } = await anna.get('hook')
    const [link] = body['streams'] as { acked_offset: string }[]
    return link!.acked_offset === received[1]!.body.streams[0]!.tail_offset
  })
})

test('subscriptions: content that exists before the subscription wakes nobody', async () => {
  const { anna } = await serveTwo()
  await anna.create('news')
  await anna.append('news', 'old')
  await anna.pull('worker')
  expect((await anna.claim('worker')).body.error).toMatchObject({ code: 'NO_PENDING_WORK' })
})

test('subscriptions: a webhook that is not answered with `done` is sent again when its lease expires', async () => {
  const clock = jumpingClock()
  const { anna } = await serveTwo({ clock })
  const { url, received } = await receiveWebhooks()
  await anna.create('news')
  await anna.webhook('hook', url, { lease_ttl_ms: 60_000 })
  await anna.append('news', 'one')
  await until('the wake arrives', () => received.length === 1)
  await anna.append('news', 'two')
  clock.pass(59_000)
  expect((await anna.get('hook')).body['status']).toBe('active')
  expect(received).toHaveLength(1)
  await until('it is sent again', () => {
    clock.pass(1000)
    return received.length === 2
  })
  const [first, second] = received.map(({ body }) => body)
  expect([first!.generation, second!.generation]).toEqual([1, 2])
  expect(second!.wake_id).not.toBe(first!.wake_id)
  const token = { url: '', token: first!.callback_token }
  const late = { wake_id: first!.wake_id, generation: 1, done: true }
  const { status, body } = await call<{ error: object }>({ ...token, url: first!.callback_url }, 'POST', '', {
    body: late,
  })
  expect([status, body.error]).toEqual([409, expect.objectContaining({ code: 'FENCED' })])
})

test('subscriptions: a callback extends the lease, acknowledges, and ends the wake', async () => {
  const clock = jumpingClock()
  const { anna } = await serveTwo({ clock })
  const { url, received } = await receiveWebhooks()
  await anna.create('news')
  await anna.webhook('hook', url, { lease_ttl_ms: 60_000 })
  await anna.append('news', 'one')
  const { body: wake } = await until('the wake arrives', () => received[0])
  const callBack = (more: object) =>
    call<{ next_wake?: boolean }>({ url: wake.callback_url, token: wake.callback_token }, 'POST', '', {
      body: { wake_id: wake.wake_id, generation: wake.generation, ...more },
    })
  clock.pass(50_000)
  expect(await callBack({})).toMatchObject({ status: 200, body: { ok: true, next_wake: false } })
  clock.pass(50_000)
  const acks = [{ stream: 'news', offset: wake.streams[0]!.tail_offset }]
  expect(await callBack({ acks, done: true })).toMatchObject({ status: 200, body: { next_wake: false } })
  expect(received).toHaveLength(1)
  await anna.append('news', 'two')
  await until('the next wake arrives', () => received.length === 2)
})

test('subscriptions: a refused webhook is retried with the next generation, and shows as failed meanwhile', async () => {
  const clock = jumpingClock()
  const { anna } = await serveTwo({ clock })
  let status = 500
  const { url, received } = await receiveWebhooks(() => ({ status, ...done }))
  await anna.create('news')
  await anna.webhook('hook', url)
  await anna.append('news', 'one')
  await until('the failure is recorded', async () => (await anna.get('hook')).body['status'] === 'failed')
  status = 200
  await until('it is delivered', () => {
    clock.pass(1000)
    return received.length >= 2
  })
  await until('the failure is over', async () => (await anna.get('hook')).body['status'] === 'active')
  expect(received.map(({ body }) => body.generation)).toEqual(received.map((_, at) => at + 1))
})

test('subscriptions: the wake stream announces each wake, and a claim that expires is announced again', async () => {
  const clock = jumpingClock()
  const { anna } = await serveTwo({ clock })
  for (const name of ['news', 'wakes']) await anna.create(name)
  await anna.pull('worker', { lease_ttl_ms: 60_000 })
  await anna.append('news', 'one')
  await until('the wake is announced', async () => (await anna.messages('wakes')).length === 1)
  const first = await anna.claim('worker')
  expect(first.body).toMatchObject({ generation: 1, streams: [{ path: 'news', has_pending: true }] })
  expect(await anna.claim('worker', 'worker-2')).toMatchObject({
    status: 409,
    body: { error: { code: 'ALREADY_CLAIMED', current_holder: 'worker-1' } },
  })
  await until('it is announced again', async () => {
    clock.pass(10_000)
    return (await anna.messages('wakes')).length === 2
  })
  expect((await anna.messages('wakes')).map(({ generation }) => generation)).toEqual([1, 2])
  expect(await anna.ack('worker', first.body, { done: true })).toMatchObject({
    status: 409,
    body: { error: { code: 'FENCED' } },
  })
  const second = await anna.claim('worker', 'worker-2')
  expect(await anna.ack('worker', second.body, allOf(second.body))).toMatchObject({
    status: 200,
    body: { next_wake: false },
  })
})

test('subscriptions: a released claim is announced to the next worker', async () => {
  const { anna } = await serveTwo()
  for (const name of ['news', 'wakes']) await anna.create(name)
  await anna.pull('worker')
  await anna.append('news', 'one')
  await until('the wake is announced', async () => (await anna.messages('wakes')).length === 1)
  const { body: wake } = await anna.claim('worker')
  expect((await anna.release('worker', wake)).status).toBe(204)
  await until('it is announced again', async () => (await anna.messages('wakes')).length === 2)
  expect((await anna.claim('worker', 'worker-2')).body.generation).toBe(2)
})

test('subscriptions: a wake stream that is missing delays the announcement until it exists', async () => {
  const clock = jumpingClock()
  const { anna } = await serveTwo({ clock })
  await anna.create('news')
  await anna.pull('worker')
  await anna.append('news', 'one')
  await until('the failure is recorded', async () => (await anna.get('worker')).body['status'] === 'failed')
  await anna.create('wakes')
  await until('the wake is announced', async () => {
    clock.pass(1000)
    return (await anna.messages('wakes')).length > 0
  })
  expect((await anna.messages('wakes'))[0]).toMatchObject({ type: 'wake', subscription_id: 'worker', generation: 1 })
})

test('subscriptions: a pattern links streams that are created later, from their start', async () => {
  const { anna } = await serveTwo()
  const { url, received } = await receiveWebhooks(() => done)
  await anna.put('hook', { type: 'webhook', pattern: 'logs/*', webhook: { url } })
  for (const name of ['logs/a', 'logs/a/b', 'other']) {
    await anna.create(name)
    await anna.append(name, 'one')
  }
  await until('the wake arrives', () => received.length > 0)
  const { body } = await anna.get('hook')
  expect((body['streams'] as { path: string }[]).map(({ path }) => path)).toEqual(['logs/a'])
})

test('subscriptions: a stream that is deleted and created again is read from its start', async () => {
  const { anna } = await serveTwo()
  await anna.create('news')
  for (const message of ['one', 'two']) await anna.append('news', message)
  await anna.pull('worker')
  await anna.removeStream('news')
  await anna.create('news')
  await anna.append('news', 'again')
  const { body } = await anna.claim('worker')
  expect(body.streams).toMatchObject([{ path: 'news', has_pending: true }])
  expect(body.streams[0]!.acked_offset < body.streams[0]!.tail_offset).toBe(true)
})

test('subscriptions: acknowledgements beyond the tail or before the acknowledged offset change nothing', async () => {
  const { anna } = await serveTwo()
  await anna.create('news')
  await anna.pull('worker')
  for (const message of ['one', 'two']) await anna.append('news', message)
  const { body: wake } = await anna.claim('worker')
  const { tail_offset: tail, acked_offset: start } = wake.streams[0]!
  const ack = (offset: string, more: object = {}) =>
    anna.ack('worker', wake, { acks: [{ stream: 'news', offset }], ...more })
  expect((await ack(tail)).status).toBe(200)
  const beyond = tail.replace(/\d(?=_)/, (digit) => String(Number(digit) + 1))
  for (const offset of [start, beyond, 'nonsense'])
    expect(await ack(offset, { done: true })).toMatchObject({
      status: 409,
      body: { error: { code: 'INVALID_OFFSET' } },
    })
  expect((await ack(tail, { done: true })).status).toBe(200)
})

test('subscriptions: setting the wall clock ends no lease and keeps none alive', async () => {
  const clock = jumpingClock()
  const { anna } = await serveTwo({ clock })
  const { url, received } = await receiveWebhooks()
  await anna.create('news')
  await anna.webhook('hook', url, { lease_ttl_ms: 60_000 })
  await anna.append('news', 'one')
  await until('the wake arrives', () => received.length === 1)
  clock.step(86_400_000)
  clock.pass(30_000)
  await anna.append('news', 'two')
  const wake = received[0]!.body
  const extend = () =>
    call({ url: wake.callback_url, token: wake.callback_token }, 'POST', '', {
      body: { wake_id: wake.wake_id, generation: 1 },
    })
  expect((await extend()).status).toBe(200)
  clock.step(-2 * 86_400_000)
  clock.pass(59_000)
  expect((await extend()).status).toBe(200)
  expect(received).toHaveLength(1)
  await until('the lease expires', () => {
    clock.pass(10_000)
    return received.length === 2
  })
})

test('subscriptions: leases, generations and tokens survive a restart of the server', async () => {
  const path = temporaryDatabase()
  const clock = jumpingClock()
  const open = async () => {
    const server = await serveInProcess({ path, clock, streamWebhooks: { loopback: true } })
    return { server, client: subscriber({ url: server.url }) }
  }
  const { url, received } = await receiveWebhooks()
  const before = await open()
  for (const name of ['news', 'wakes']) await before.client.create(name)
  await before.client.webhook('hook', url, { lease_ttl_ms: 60_000 })
  await before.client.pull('worker', { lease_ttl_ms: 60_000 })
  await before.client.append('news', 'one')
  const { body: sent } = await until('the wake arrives', (): Webhook | undefined => received[0])
  const { body: claimed } = await before.client.claim('worker')
  await before.server.close()
  const { client, server } = await open()
  expect((await client.claim('worker', 'worker-2')).body.error).toMatchObject({ code: 'ALREADY_CLAIMED' })
  expect((await client.ack('worker', claimed, allOf(claimed))).status).toBe(200)
  await until('the webhook is sent again when its lease has expired', () => {
    clock.pass(5000)
    return received.length > 1
  })
  const again = received[1]!.body
  expect(again.generation).toBe(2)
  const target = { url: `${server.url}/v1/stream/__ds/subscriptions/hook/callback` }
  const answer = (wake: Webhook['body']) =>
    call<{ error?: { code: string } }>({ ...target, token: wake.callback_token }, 'POST', '', {
      body: { wake_id: wake.wake_id, generation: wake.generation, done: true },
    })
  expect((await answer(sent)).body.error).toMatchObject({ code: 'FENCED' })
  expect((await answer(again)).status).toBe(200)
})
