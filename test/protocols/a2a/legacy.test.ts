import { ClientFactory, ClientFactoryOptions, JsonRpcTransportFactory, RestTransportFactory } from 'a2a-sdk-v03/client'
import { describe, expect, test } from 'vitest'
import { assembled, begin, collected, getTask, message, rpc, send, serveA2a, texts } from './serve.ts'
import { until } from '../../support/until.ts'

function client(url: string, transport: 'JSONRPC' | 'HTTP+JSON') {
  const transports = [transport === 'JSONRPC' ? new JsonRpcTransportFactory() : new RestTransportFactory()]
  const options = ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
    transports,
    preferredTransports: [transport],
  })
  return new ClientFactory(options).createFromUrl(`${url}/`)
}

function outputOf(text: string, more: object = {}) {
  const { messageId } = message('')
  return {
    message: {
      kind: 'message' as const,
      messageId,
      role: 'user' as const,
      parts: [{ kind: 'text' as const, text }],
      ...more,
    },
  }
}

describe.each(['JSONRPC', 'HTTP+JSON'] as const)('A2A: the official 0.3 client over %s', (transport) => {
  test('sends a message and gets the task', async () => {
    const server = await serveA2a()
    const peer = await client(server.agent(), transport)
    const task = await peer.sendMessage(outputOf('text 3'))
    expect(task).toMatchObject({ kind: 'task', status: { state: 'completed' } })
    if (task.kind !== 'task') return
    expect(await peer.getTask({ id: task.id, historyLength: 1 })).toMatchObject({
      id: task.id,
      history: [{ role: 'user' }],
    })
  })

  test('streams the whole task, and the last event is final', async () => {
    const server = await serveA2a()
    const peer = await client(server.agent(), transport)
    const events = await collected(peer.sendMessageStream(outputOf('text 3')))
    expect(events[0]).toMatchObject({ kind: 'task' })
    expect(events.at(-1)).toMatchObject({ kind: 'status-update', status: { state: 'completed' }, final: true })
    expect(events.filter(({ kind }) => kind === 'artifact-update')).toHaveLength(4)
  })

  test('answers a task that asks, whose event is not final', async () => {
    const server = await serveA2a()
    const peer = await client(server.agent(), transport)
    const events = await collected(peer.sendMessageStream(outputOf('ask Go?; text 1')))
    const last = events.at(-1)!
    expect(last).toMatchObject({ kind: 'status-update', status: { state: 'input-required' }, final: false })
    if (last.kind !== 'status-update') return
    const task = await peer.sendMessage(outputOf('yes', { taskId: last.taskId, contextId: last.contextId }))
    expect(task).toMatchObject({ id: last.taskId, status: { state: 'completed' } })
  })

  test('resubscribes to a working task and cancels it', async () => {
    const server = await serveA2a()
    const peer = await client(server.agent(), transport)
    const { id } = await begin(server.agent(), 'text 2; hang')
    await until('it has said something', async () =>
      texts(await getTask(server.agent(), id))['answer']?.includes('[1]'),
    )
    const events = peer.resubscribeTask({ id })
    expect((await events.next()).value).toMatchObject({ kind: 'task', id, status: { state: 'working' } })
    expect(await peer.cancelTask({ id })).toMatchObject({ status: { state: 'canceled' } })
    expect((await events.next()).value).toMatchObject({ kind: 'artifact-update', lastChunk: true })
    expect((await events.next()).value).toMatchObject({
      kind: 'status-update',
      status: { state: 'canceled' },
      final: true,
    })
    expect((await events.next()).done).toBe(true)
  })

  test('gets errors with their codes', async () => {
    const server = await serveA2a()
    const peer = await client(server.agent(), transport)
    await expect(peer.getTask({ id: 'nope' })).rejects.toThrow(/not found/i)
    const { id } = await send(server.agent(), 'text 1')
    await expect(peer.cancelTask({ id })).rejects.toThrow(/canceled|cancelable|COMPLETED/i)
    await expect(collected(peer.resubscribeTask({ id: 'nope' }))).rejects.toThrow(/not found/i)
  })

  test('creates, lists and deletes push configurations', async () => {
    const server = await serveA2a()
    const peer = await client(server.agent(), transport)
    const { id } = await send(server.agent(), 'ask Go?')
    const config = {
      id: 'c',
      url: 'https://example.com',
      token: 't',
      authentication: { schemes: ['Bearer'], credentials: 'x' },
    }
    await peer.setTaskPushNotificationConfig({ taskId: id, pushNotificationConfig: config })
    const query = { id, pushNotificationConfigId: 'c' }
    const found = await peer.getTaskPushNotificationConfig(query)
    expect(found).toMatchObject({ taskId: id, pushNotificationConfig: { id: 'c', url: 'https://example.com' } })
    expect(found.pushNotificationConfig.token ?? '').toBe('') // write-only
    expect(await peer.listTaskPushNotificationConfig({ id })).toHaveLength(1)
    await peer.deleteTaskPushNotificationConfig(query)
    expect(await peer.listTaskPushNotificationConfig({ id })).toEqual([])
  })

  test('sends and receives files and data', async () => {
    const server = await serveA2a()
    const peer = await client(server.agent('echo'), transport)
    const parts = [
      { kind: 'text' as const, text: 'hello' },
      { kind: 'file' as const, file: { bytes: 'AAEC', mimeType: 'image/png' } },
      { kind: 'data' as const, data: { a: 1 } },
    ]
    const task = await peer.sendMessage(outputOf('', { parts }))
    expect(task).toMatchObject({ history: [{ parts }], artifacts: [{ parts: [{ kind: 'data' }] }] })
  })
})

test('A2A: a value that 0.3 cannot carry is wrapped and marked', async () => {
  const server = await serveA2a()
  const task = await send(server.agent('surveyor'), 'measure')
  await send(server.agent('surveyor'), 'ten', { taskId: task.id })
  expect((await rpc(server.agent('surveyor'), 'tasks/get', { id: task.id })).result).toMatchObject({
    kind: 'task',
    artifacts: [{ parts: [{ kind: 'data', data: { value: ['ten', 'ten'] }, metadata: { data_part_compat: true } }] }],
  })
})

test('A2A: both versions see the same task', async () => {
  const server = await serveA2a()
  const task = await send(server.agent(), 'text 2')
  const old = (await rpc(server.agent(), 'tasks/get', { id: task.id }, { 'a2a-version': '' })).result as {
    artifacts: { artifactId: string; parts: { kind: string; text: string }[] }[]
  }
  expect(old).toMatchObject({ kind: 'task', id: task.id, status: { state: 'completed' } })
  const artifacts = old.artifacts.map(({ artifactId, parts }) => ({ artifactId, parts }))
  expect(assembled([{ id: '', task: { ...task, artifacts } }])).toEqual(texts(task))
})
