import { expect, test } from 'vitest'
import type { PushConfig, PushConfigList } from '../../../src/protocols/a2a/wire/wire.ts'
import { current, message, result, rpc, send, serveA2a } from './serve.ts'

const authentication = { scheme: 'Bearer', credentials: 'secret' }

test('A2A over JSON-RPC: a push configuration is created, found, listed and deleted', async () => {
  const server = await serveA2a()
  const url = server.agent()
  const { id: taskId } = await send(url, 'ask Go?')
  const made = await result<PushConfig>(url, 'CreateTaskPushNotificationConfig', {
    taskId,
    url: 'https://example.com/a',
    token: 't',
    authentication,
  })
  expect(made).toEqual({
    taskId,
    id: expect.any(String) as string,
    url: 'https://example.com/a',
    authentication: { scheme: 'Bearer' },
  })
  await result(url, 'CreateTaskPushNotificationConfig', { taskId, id: 'mine', url: 'https://example.com/b' })
  expect(await result(url, 'GetTaskPushNotificationConfig', { taskId, id: made.id })).toEqual(made)
  const first = await result<PushConfigList>(url, 'ListTaskPushNotificationConfigs', { taskId, pageSize: 1 })
  const second = await result<PushConfigList>(url, 'ListTaskPushNotificationConfigs', {
    taskId,
    pageToken: first.nextPageToken,
  })
  expect([...first.configs, ...second.configs].map(({ id }) => id).toSorted()).toEqual([made.id, 'mine'].toSorted())
  for (const _ of [1, 2])
    expect((await rpc(url, 'DeleteTaskPushNotificationConfig', { taskId, id: 'mine' })).result).toBeNull()
  expect((await rpc(url, 'GetTaskPushNotificationConfig', { taskId, id: 'mine' })).error?.code).toBe(-32001)
})

test('A2A over HTTP+JSON: a push configuration is created, found, listed and deleted', async () => {
  const server = await serveA2a()
  const { id } = await send(server.agent(), 'ask Go?')
  const base = `${server.agent()}/tasks/${id}/pushNotificationConfigs`
  const made = await fetch(base, {
    method: 'POST',
    headers: current,
    body: JSON.stringify({ id: 'c', url: 'https://example.com' }),
  })
  expect(await made.json()).toMatchObject({ taskId: id, id: 'c' })
  expect(await (await fetch(`${base}/c`, { headers: current })).json()).toMatchObject({ url: 'https://example.com' })
  const removed = await fetch(`${base}/c`, { method: 'DELETE', headers: current })
  expect([removed.status, await removed.json()]).toEqual([200, {}])
  expect(await (await fetch(base, { headers: current })).json()).toEqual({ configs: [], nextPageToken: '' })
})

test('A2A: a message can carry a push configuration', async () => {
  const server = await serveA2a()
  const task = await send(
    server.agent(),
    'text 1',
    {},
    { taskPushNotificationConfig: { id: 'x', url: 'https://example.com' } },
  )
  expect(await result(server.agent(), 'GetTaskPushNotificationConfig', { taskId: task.id, id: 'x' })).toMatchObject({
    id: 'x',
  })
})

test('A2A: an invalid webhook address is rejected, and without push support every configuration is', async () => {
  const server = await serveA2a()
  const { id: taskId } = await send(server.agent(), 'ask Go?')
  expect((await rpc(server.agent(), 'CreateTaskPushNotificationConfig', { taskId, url: 'ftp://x' })).error?.code).toBe(
    -32602,
  )
  const without = await serveA2a({ a2a: { push: false } })
  expect((await rpc(without.agent(), 'ListTaskPushNotificationConfigs', { taskId: 'any' })).error?.code).toBe(-32003)
  const configuration = { taskPushNotificationConfig: { url: 'https://example.com' } }
  expect((await rpc(without.agent(), 'SendMessage', { message: message('text 1'), configuration })).error?.code).toBe(
    -32003,
  )
})
