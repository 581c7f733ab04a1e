/** Webhooks of one principal do not delay those of another. */
import type { IncomingHttpHeaders } from 'node:http'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createKeys } from '../../support/keys.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { until } from '../../support/until.ts'
import { receive } from './receiver.ts'
import { current, message, rpc, serveA2a } from './serve.ts'

const push = { loopback: true, limits: { pollIntervalMs: 20, maxDeliveries: 12, timeoutMs: 60_000 } }

async function serveTwo(limits: object = {}) {
  const path = join(temporaryFolder(), 'keys.json')
  const [anna, bert] = await createKeys(path, ['anna', 'bert'])
  const server = await serveA2a({ a2a: { push }, auth: { keys: path }, limits })
  const as = (key: string) => ({ ...current, authorization: `Bearer ${key}` })
  return { server, anna: as(anna!), bert: as(bert!) }
}

function sending(url: string): object {
  const configuration = { returnImmediately: true, taskPushNotificationConfig: { id: 'c', url } }
  return { message: message('ask Go?'), configuration }
}

test('push: receivers of one principal that never respond do not delay the pushes of another [SEC-2]', async () => {
  const { server, anna, bert } = await serveTwo()
  const never = new Promise<number>(() => {})
  const dead = await Promise.all(Array.from({ length: 5 }, () => receive({ answer: () => never })))
  // The oldest are all for one host, which gets no more than its share.
  for (let count = 0; count < 30; count++)
    await rpc(server.agent(), 'SendMessage', sending(dead[Math.floor(count / 6)]!.url), anna)
  const underWay = (): number => dead.reduce((sum, { received }) => sum + received.length, 0)
  await until('as many are under way as one principal may have', () => underWay() === 8)
  expect(Math.max(...dead.map(({ received }) => received.length))).toBe(4)

  const live = await receive()
  await rpc(server.agent(), 'SendMessage', sending(live.url), bert)
  await until('the other principal is told', () => live.taken.length > 0)
  expect(underWay()).toBe(8)
})

test('push: three hundred dead receivers of many principals, also on the same host, delay no other receiver [SEC-2]', async () => {
  const path = join(temporaryFolder(), 'keys.json')
  const names = Array.from({ length: 11 }, (_, at) => `principal${at}`)
  const [bert, ...hostile] = await createKeys(path, names)
  const limits = { pollIntervalMs: 20, requestTimeoutMs: 120_000 }
  const server = await serveA2a({
    a2a: { push: { loopback: true, limits } },
    auth: { keys: path },
  })
  const as = (key: string) => ({ ...current, authorization: `Bearer ${key}` })
  const never = new Promise<number>(() => {})
  const reported: string[] = []
  const dead = await Promise.all(Array.from({ length: 30 }, () => receive({ answer: () => never })))
  // Two kinds of receivers behind one address, as at a service that many use.
  const shared = await receive({
    answer: (_count, { path: at }) => (at === '/dead' ? never : (reported.push(at), 200)),
  })
  const urls = [...dead.map(({ url }) => url), ...Array.from({ length: 2 }, () => `${new URL(shared.url).origin}/dead`)]
  for (const key of hostile)
    await Promise.all(urls.map((url) => rpc(server.agent(), 'SendMessage', sending(url), as(key))))
  const underWay = (): number => [...dead, shared].reduce((sum, { received }) => sum + received.length, 0)
  await until('no more are under way than may be at once', () => underWay() >= 64)

  await rpc(server.agent(), 'SendMessage', sending(`${new URL(shared.url).origin}/live`), as(bert!))
  await until('the other principal is told', () => reported.includes('/live'), { withinMs: 20_000 })
  expect(shared.taken.map(({ path: at }) => at)).not.toContain('/dead')
  // 64 in all, besides the first one of each principal.
  expect(underWay()).toBeLessThanOrEqual(64 + names.length)
})

test('push: a delivery that only waits for more events makes room for another one of its principal [SEC-2]', async () => {
  const path = join(temporaryFolder(), 'keys.json')
  const [anna, bert] = await createKeys(path, ['anna', 'bert'])
  // No delivery ends by itself while the test runs.
  const limits = { pollIntervalMs: 20, maxDeliveries: 2, followTimeoutMs: 600_000, requestTimeoutMs: 600_000 }
  const server = await serveA2a({ a2a: { push: { loopback: true, limits } }, auth: { keys: path } })
  const as = (key: string) => ({ ...current, authorization: `Bearer ${key}` })
  const dead = await receive({ answer: () => new Promise<number>(() => {}) })
  const live = await receive()
  for (let count = 0; count < 3; count++) await rpc(server.agent(), 'SendMessage', sending(dead.url), as(anna!))
  await until('all places are taken', () => dead.received.length >= 2)
  const tasks = (): number => new Set(live.taken.map(({ headers }) => taskOf(headers))).size
  for (let reported = 1; reported <= 3; reported++) {
    await rpc(server.agent(), 'SendMessage', sending(live.url), as(bert!))
    await until(`${reported} tasks of the other principal are told`, () => tasks() === reported)
  }
  expect(dead.taken).toEqual([]) // the places of the others were not freed meanwhile
})

test('push: the first deliveries of many principals are bounded too [SEC-2]', async () => {
  const path = join(temporaryFolder(), 'keys.json')
  const keys = await createKeys(
    path,
    Array.from({ length: 7 }, (_, at) => `principal${at}`),
  )
  const limits = { ...push.limits, maxDeliveries: 1 }
  const server = await serveA2a({
    a2a: { push: { loopback: true, limits } },
    auth: { keys: path },
  })
  const waiting: (() => void)[] = []
  let most = 0
  const receiver = await receive({
    answer: async () => {
      await new Promise<void>((resolve) => (most = Math.max(most, waiting.push(resolve))))
      return 200
    },
  })
  for (const key of keys)
    await rpc(server.agent(), 'SendMessage', sending(receiver.url), { ...current, authorization: `Bearer ${key}` })
  await until('as many are under way as may be', () => waiting.length >= 4)
  const tasks = (): number => new Set(receiver.taken.map(({ headers }) => taskOf(headers))).size
  await until('all are told', () => {
    waiting.shift()?.()
    return tasks() === keys.length
  })
  expect(most).toBe(4)
})

function taskOf(headers: IncomingHttpHeaders): string {
  return String(headers['idempotency-key']).split('/')[0]!
}

test('push: the number of configurations per task and principal is limited, and existing ones can be replaced [SEC-2]', async () => {
  const { server, anna, bert } = await serveTwo({ maxWebhooksPerTask: 2, maxWebhooksPerPrincipal: 3 })
  const url = 'https://example.com/hook'
  const task = async (headers: Record<string, string>): Promise<string> => {
    const { result } = await rpc(server.agent(), 'SendMessage', { message: message('ask Go?') }, headers)
    return (result as { task: { id: string } }).task.id
  }
  const create = (taskId: string, id: string, headers: Record<string, string>) =>
    rpc(server.agent(), 'CreateTaskPushNotificationConfig', { taskId, id, url }, headers)

  const first = await task(anna)
  for (const id of ['a', 'b', 'a']) expect((await create(first, id, anna)).error).toBeUndefined()
  expect((await create(first, 'c', anna)).error).toMatchObject({ code: -32_000, message: /has 2 push configurations/ })
  const second = await task(anna)
  expect((await create(second, 'a', anna)).error).toBeUndefined()
  expect((await create(second, 'b', anna)).error).toMatchObject({ message: /you have 3 push configurations/ })
  const other = await task(bert)
  expect((await create(other, 'a', bert)).error).toBeUndefined()
})
