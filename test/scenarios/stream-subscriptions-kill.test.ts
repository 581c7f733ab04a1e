/** A server that is killed while subscribers are awake. */
import { expect, test } from 'vitest'
import { call } from '../support/http.ts'
import { startServer } from '../support/process.ts'
import { temporaryDatabase } from '../support/temporary.ts'
import { until } from '../support/until.ts'
import { receiveWebhooks } from '../protocols/durable-streams/subscriptions/receiver.ts'
import { allOf, subscriber } from '../protocols/durable-streams/subscriptions/serve.ts'

test('subscriptions: wakes in flight survive kill -9, and are fenced from those that follow', async () => {
  const store = temporaryDatabase()
  const start = () => startServer({ store, args: ['--stream-webhook-loopback'] })
  const { url, received } = await receiveWebhooks()
  const first = await start()
  const before = subscriber(first)
  for (const name of ['news', 'wakes']) await before.create(name)
  await before.webhook('hook', url, { lease_ttl_ms: 1000 })
  await before.pull('worker', { lease_ttl_ms: 600_000 })
  await before.append('news', 'one')
  const { body: sent } = await until('the webhook is called', () => received[0])
  await until('the wake is announced', async () => (await before.messages('wakes')).length === 1)
  const { body: claimed } = await before.claim('worker')
  await first.kill()

  const second = await start()
  const after = subscriber(second)
  expect((await after.claim('worker', 'worker-2')).body.error).toMatchObject({ code: 'ALREADY_CLAIMED' })
  expect((await after.ack('worker', claimed, allOf(claimed))).status).toBe(200)
  const again = await until('the webhook is called again', () =>
    received.find(({ body }) => body.generation > sent.generation),
  )
  expect(again.body.streams).toMatchObject([{ path: 'news', has_pending: true }])
  const callback = { url: `${second.url}/v1/stream/__ds/subscriptions/hook/callback` }
  const late = { wake_id: sent.wake_id, generation: sent.generation, done: true }
  const { body } = await call<{ error: object }>({ ...callback, token: sent.callback_token }, 'POST', '', {
    body: late,
  })
  expect(body.error).toMatchObject({ code: 'FENCED' })
})
