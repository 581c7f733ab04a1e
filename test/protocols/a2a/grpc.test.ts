import * as grpc from '@grpc/grpc-js'
import { connect } from 'node:http2'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { agent } from '../../../src/agents/agent.ts'
import { A2aClient } from '../../../src/a2a/index.ts'
import { silentLogger } from '../../../src/core/ports/logger.ts'
import { createKeys } from '../../support/keys.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { until } from '../../support/until.ts'
import { all, type Fields, Peer, type Reply, type Shown } from './peer.ts'
import { type A2aServer, message, serveA2a } from './serve.ts'

interface Card {
  readonly supportedInterfaces: readonly (Fields & { readonly url: string; readonly protocolBinding: string })[]
}

async function addressOf(server: A2aServer, component = 'lab'): Promise<string> {
  return (await interfaces(server, component))[0]!.url
}

async function interfaces(server: A2aServer, component: string): Promise<Card['supportedInterfaces']> {
  const headers = { 'a2a-version': '1.0' }
  const card = await fetch(`${server.agent(component)}/.well-known/agent-card.json`, { headers })
  return ((await card.json()) as Card).supportedInterfaces.filter(({ protocolBinding }) => protocolBinding === 'GRPC')
}

function serveGrpc(options: Parameters<typeof serveA2a>[0] = {}): Promise<A2aServer> {
  return serveA2a({ ...options, a2a: { defaultComponent: 'lab', grpcPort: 0, ...options.a2a } })
}

function textsOf(replies: readonly Reply[]): string {
  return replies.flatMap(({ artifactUpdate }) => artifactUpdate?.artifact.parts.map(({ text }) => text) ?? []).join('')
}

function statesOf(replies: readonly Reply[]): string[] {
  return replies.flatMap(({ task, statusUpdate }) => task?.status.state ?? statusUpdate?.status.state ?? [])
}

test('A2A over gRPC: a message is sent, its task is returned and listed, and a finished one cannot be canceled', async () => {
  const server = await serveGrpc()
  const peer = new Peer(await addressOf(server))
  const { task } = await peer.call('SendMessage', { message: message('text 2') })
  expect(task).toMatchObject({ status: { state: 'TASK_STATE_COMPLETED' } })
  expect(await peer.call('GetTask', { id: task!.id, historyLength: 0 })).toMatchObject({ id: task!.id })
  expect(await peer.call('ListTasks', {})).toMatchObject({ tasks: [{ id: task!.id }], totalSize: 1 })
  const refusal = await peer.call('CancelTask', { id: task!.id }).catch((cause: grpc.ServiceError) => cause)
  expect(refusal).toMatchObject({ code: grpc.status.FAILED_PRECONDITION })
})

test('A2A over gRPC: a stream has the same states and texts as the other bindings', async () => {
  const server = await serveGrpc()
  const peer = new Peer(await addressOf(server))
  const replies = await all(peer.stream('SendStreamingMessage', { message: message('text 3') }))
  expect(statesOf(replies)).toEqual(['TASK_STATE_SUBMITTED', 'TASK_STATE_WORKING', 'TASK_STATE_COMPLETED'])
  expect(textsOf(replies)).not.toBe('')
})

test('A2A over gRPC: the reason of an error is in the details of its status', async () => {
  const server = await serveGrpc()
  const peer = new Peer(await addressOf(server))
  const decode = (type: string, bytes: Buffer): Fields => peer.codecs[type]!.deserialize(bytes) as Fields
  const detailsOf = (error: grpc.ServiceError): Fields[] => {
    const [bytes] = error.metadata.get('grpc-status-details-bin')
    const { details } = decode('google.rpc.Status', bytes as Buffer) as {
      details: { typeUrl: string; value: string }[]
    }
    return details.map(({ typeUrl, value }) => decode(typeUrl.split('/')[1]!, Buffer.from(value, 'base64')))
  }
  const missing = (await peer.call('GetTask', { id: 'none' }).catch((cause: unknown) => cause)) as grpc.ServiceError
  expect(missing.code).toBe(grpc.status.NOT_FOUND)
  expect(detailsOf(missing)).toMatchObject([{ reason: 'TASK_NOT_FOUND', domain: 'a2a-protocol.org' }])
  const wrong = (await peer.call('SendMessage', {}).catch((cause: unknown) => cause)) as grpc.ServiceError
  expect(wrong.code).toBe(grpc.status.INVALID_ARGUMENT)
  expect(detailsOf(wrong)).toMatchObject([{ fieldViolations: [{ field: 'message' }] }])
  const streamed = await all(peer.stream('SubscribeToTask', { id: 'none' })).catch((cause: unknown) => cause)
  expect(detailsOf(streamed as grpc.ServiceError)).toMatchObject([{ reason: 'TASK_NOT_FOUND' }])
  const headers = { 'a2a-version': '7.0' }
  const other = (await peer.call('ListTasks', {}, headers).catch((cause: unknown) => cause)) as grpc.ServiceError
  expect(detailsOf(other)).toMatchObject([{ reason: 'VERSION_NOT_SUPPORTED' }])
})

test('[SEC-1] A2A over gRPC: the metadata identifies the caller, who sees only its own tasks', async () => {
  const keys = join(temporaryFolder(), 'keys')
  const [mine = '', theirs = ''] = await createKeys(keys, ['mine', 'theirs'])
  const server = await serveGrpc({ auth: { keys } })
  const peer = new Peer(await addressOf(server))
  const as = (key: string) => ({ authorization: `Bearer ${key}` })
  const { task } = await peer.call('SendMessage', { message: message('text 1') }, as(mine))
  const { id } = task!
  expect(await peer.call('GetTask', { id }, as(mine))).toMatchObject({ id })
  await expect(peer.call('GetTask', { id }, as(theirs))).rejects.toMatchObject({ code: grpc.status.NOT_FOUND })
  await expect(peer.call('GetTask', { id })).rejects.toMatchObject({ code: grpc.status.UNAUTHENTICATED })
  const streamed = all(peer.stream('SubscribeToTask', { id }))
  await expect(streamed).rejects.toMatchObject({ code: grpc.status.UNAUTHENTICATED })
  expect(await peer.call('GetExtendedAgentCard', {}, as(mine))).toMatchObject({ name: 'Lab' })
})

test('A2A over gRPC: agents other than the default one are tenants, as their cards say', async () => {
  const server = await serveGrpc()
  const [only, ...others] = await interfaces(server, 'notary')
  expect([only, others]).toEqual([expect.objectContaining({ tenant: 'notary', protocolVersion: '1.0' }), []])
  const peer = new Peer(only!.url)
  const { task } = await peer.call('SendMessage', { tenant: 'notary', message: message('sign') })
  expect(task).toMatchObject({ status: { state: 'TASK_STATE_AUTH_REQUIRED' } })
  expect(await peer.call('GetTask', { tenant: 'notary', id: task!.id })).toMatchObject({ id: task!.id })
  await expect(peer.call('GetTask', { id: task!.id })).rejects.toMatchObject({ code: grpc.status.NOT_FOUND })
  const ours = await peer.call('SendMessage', { tenant: 'lab/acme', message: message('text 1') })
  await expect(peer.call('GetTask', { id: ours.task!.id })).rejects.toMatchObject({ code: grpc.status.NOT_FOUND })
})

test('A2A over gRPC: parts of every kind are sent and received', async () => {
  const server = await serveGrpc()
  const peer = new Peer(await addressOf(server))
  const data = { structValue: { fields: { a: { listValue: { values: [{ numberValue: 1 }, { boolValue: true }] } } } } }
  const raw = Buffer.from('bytes').toString('base64')
  const parts = [{ text: 'text 1' }, { raw, mediaType: 'text/plain' }, { url: 'https://example.com/f' }, { data }]
  const sent = { tenant: 'echo', message: message('', { parts }) }
  const { task } = await peer.call('SendMessage', sent)
  expect((task!['history'] as { parts: unknown }[])[0]!.parts).toMatchObject(parts)
})

/** More than any buffer between the two holds. */
const flood = agent<unknown>({
  id: 'flood',
  async *run() {
    for (let piece = 0; piece < 400; piece++) yield String(piece % 10).repeat(65_536)
  },
})

test('[SUB-1] A2A over gRPC: a client that does not read delays no other, and then gets everything', async () => {
  const server = await serveGrpc({ components: [flood], limits: { subscriberStallTimeoutMs: 600_000 } })
  const peer = new Peer(await addressOf(server))
  const slow = peer.stream('SendStreamingMessage', { message: message('go'), tenant: 'flood' })
  slow.pause()
  const other = await all(peer.stream('SendStreamingMessage', { message: message('text 3') }))
  expect(statesOf(other).at(-1)).toBe('TASK_STATE_COMPLETED')
  await until('the slow one is done too', async () => {
    const { tasks = [] } = (await peer.call('ListTasks', { tenant: 'flood' })) as { tasks?: Shown[] }
    return tasks[0]?.status.state === 'TASK_STATE_COMPLETED'
  })
  const replies = await all(slow)
  expect(statesOf(replies).at(-1)).toBe('TASK_STATE_COMPLETED')
  expect(textsOf(replies).length).toBe(400 * 65_536)
})

test('[SUB-1] A2A over gRPC: a client that reads nothing for too long is disconnected', async () => {
  const output: string[] = []
  const logger = { ...silentLogger, info: (_fields: object, text: string) => void output.push(text) }
  const server = await serveGrpc({ components: [flood], limits: { subscriberStallTimeoutMs: 200 }, logger })
  const peer = new Peer(await addressOf(server))
  // Not a gRPC client: that keeps reading.
  const session = connect(`http://${await addressOf(server)}`)
  onTestFinished(() => session.destroy())
  const { path, bytes } = peer.request('SendStreamingMessage', { message: message('go'), tenant: 'flood' })
  const headers = { ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers' }
  const stalled = session.request(headers)
  stalled.on('error', () => {})
  const head = Buffer.alloc(5)
  head.writeUInt32BE(bytes.length, 1)
  stalled.end(Buffer.concat([head, bytes]))
  const reported = await until('it is cut off', () =>
    output.find((text) => text.includes('disconnected a gRPC client')),
  )
  expect(reported).toContain('stopped reading')
})

test('[RUN-2] A2A over gRPC: a client that disconnects stops nothing, and one that subscribes gets the rest', async () => {
  const server = await serveGrpc()
  const peer = new Peer(await addressOf(server))
  const left = peer.stream('SendStreamingMessage', { message: message('text 3; ask Go?; text 2') })
  left.on('error', () => {})
  const id = await new Promise<string>((resolve) => left.once('data', ({ task }: Reply) => resolve(task!.id)))
  left.cancel()
  await until('it asks', async () => {
    const { status } = (await peer.call('GetTask', { id })) as Shown
    return status.state === 'TASK_STATE_INPUT_REQUIRED'
  })
  const followed = all(peer.stream('SubscribeToTask', { id }))
  await peer.call('SendMessage', { message: message('yes', { taskId: id }) })
  expect(statesOf(await followed)[0]).toMatch(/INPUT_REQUIRED|WORKING/)
})

test('A2A over gRPC: the server stops waiting for a client that disconnected', async () => {
  const server = await serveGrpc()
  const peer = new Peer(await addressOf(server))
  const left = peer.stream('SendStreamingMessage', { message: message('text 1; hang') })
  left.on('error', () => {})
  left.resume()
  await until('it is followed', () => server.service.health().subscribers === 1)
  left.cancel()
  await until('it is not', () => server.service.health().subscribers === 0)
  expect(server.service.health().running).toBe(1)
})

test('[SUB-3] A2A over gRPC: a server that shuts down tells its clients that the task continues', async () => {
  const server = await serveGrpc()
  const peer = new Peer(await addressOf(server))
  const stream = peer.stream('SendStreamingMessage', { message: message('text 1; hang') })
  const ended = new Promise((resolve) => stream.once('error', resolve))
  await new Promise((resolve) => stream.once('data', resolve))
  stream.resume()
  void server.close()
  expect(await ended).toMatchObject({ code: grpc.status.UNAVAILABLE })
})

describe('A2A over gRPC: version 0.3', () => {
  const content = (text: string): object => ({
    message: { messageId: `m-${text}`, role: 'ROLE_USER', content: [{ text }] },
  })

  test('sends, streams, returns and cancels tasks, with its names', async () => {
    const server = await serveGrpc()
    const peer = new Peer(await addressOf(server), '0.3')
    const replies = await all(peer.stream('SendStreamingMessage', content('text 2')))
    expect(replies.at(-1)?.statusUpdate).toMatchObject({ status: { state: 'TASK_STATE_COMPLETED' }, final: true })
    const { task } = await peer.call('SendMessage', { ...content('ask Go?'), configuration: { blocking: true } })
    expect(await peer.call('GetTask', { name: `tasks/${task!.id}` })).toMatchObject({ id: task!.id })
    expect(await peer.call('CancelTask', { name: `tasks/${task!.id}` })).toMatchObject({
      status: { state: 'TASK_STATE_CANCELLED' },
    })
    expect(await peer.call('GetAgentCard', {})).toMatchObject({ name: 'Lab', protocolVersion: '0.3.0' })
  })

  test('creates, finds, lists and deletes push configurations', async () => {
    const server = await serveGrpc()
    const peer = new Peer(await addressOf(server), '0.3')
    const { task } = await peer.call('SendMessage', content('ask Go?'))
    const parent = `tasks/${task!.id}`
    const name = `${parent}/pushNotificationConfigs/mine`
    const config = { pushNotificationConfig: { url: 'https://example.com', authentication: { schemes: ['Bearer'] } } }
    const made = await peer.call('CreateTaskPushNotificationConfig', { parent, configId: 'mine', config })
    expect(made).toMatchObject({ name, pushNotificationConfig: { id: 'mine', url: 'https://example.com' } })
    expect(await peer.call('GetTaskPushNotificationConfig', { name })).toEqual(made)
    expect(await peer.call('ListTaskPushNotificationConfig', { parent })).toMatchObject({ configs: [{ name }] })
    await peer.call('DeleteTaskPushNotificationConfig', { name })
    const gone = peer.call('GetTaskPushNotificationConfig', { name })
    await expect(gone).rejects.toMatchObject({ code: grpc.status.NOT_FOUND })
  })
})

test.each(['1.0', '0.3'] as const)('A2A over gRPC: our own client follows a task, %s', async (version) => {
  const server = await serveGrpc()
  const client = await A2aClient.connect(server.agent(), { bindings: ['GRPC'], versions: [version] })
  const sent = await client.send('text 2')
  expect(sent).toMatchObject({ task: { status: { state: 'TASK_STATE_COMPLETED' } } })
})
