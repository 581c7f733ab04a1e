/** Rows 4 to 6 of the matrix: our client with the official servers of 1.0, of 1.0 that offers 0.3, and of 0.3, over every binding. */
import { describe, expect, test } from 'vitest'
import { A2aClient, type A2aClientOptions, textOf, type TaskUpdate } from '../../../src/a2a/index.ts'
import {
  type PeerBinding,
  type PeerOptions,
  type PeerStep,
  type PeerVersion,
  startPeer,
} from '../../support/a2a-peers.ts'
import { until } from '../../support/until.ts'
import { receive } from '../../protocols/a2a/receiver.ts'
import { collected, taskOf, textsOf, textOfUpdates } from './seen.ts'

const rows = [
  [4, '1.0'],
  [5, '1.0 as 0.3'],
  [6, '0.3'],
] as const

const cells = rows.flatMap(([row, version]) =>
  (['JSONRPC', 'HTTP+JSON', 'GRPC'] as const).map((binding) => [row, version, binding] as const),
)

const HASTE: A2aClientOptions = {
  pollIntervalMs: 20,
  retryDelayMs: 10,
  requestTimeoutMs: 20_000,
  bindings: ['JSONRPC', 'HTTP+JSON', 'GRPC'],
}

const three: readonly PeerStep[] = [
  { status: 'working' },
  { artifact: 'one ' },
  { artifact: 'two ', append: true },
  { artifact: 'three', append: true, last: true },
  { status: 'completed' },
]

function stateOf(update: TaskUpdate | undefined): string {
  if (update !== undefined && 'statusUpdate' in update) return update.statusUpdate.status.state
  return update !== undefined && 'task' in update ? update.task.status.state : 'none'
}

describe.each(cells)('row %d: an official server of %s over %s', (_row, version: PeerVersion, binding: PeerBinding) => {
  const start = (steps: readonly PeerStep[], more: Partial<PeerOptions> = {}) =>
    startPeer({ version, binding, script: () => steps, ...more })
  const connect = (url: string, more: A2aClientOptions = {}) => A2aClient.connect(url, { ...HASTE, ...more })

  test('is discovered by its card, and a blocking send returns the whole task', async () => {
    const client = await connect((await start(three)).url)
    expect(client.interface).toMatchObject({ binding, version: version === '1.0' ? '1.0' : '0.3' })
    const task = taskOf(await client.send('count'))
    expect(task.status.state).toBe('TASK_STATE_COMPLETED')
    expect(textsOf(task)).toBe('one two three')
    client.close()
  })

  test('a non-blocking send returns the task, which is then polled', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const client = await connect((await start([{ status: 'working' }, { until: promise }, ...three.slice(1)])).url)
    const { id, status } = taskOf(await client.send('count', { wait: false }))
    expect(status.state).not.toBe('TASK_STATE_COMPLETED')
    resolve()
    const task = await until('the task is done', async () => {
      const found = await client.get(id)
      return found.status.state === 'TASK_STATE_COMPLETED' && found
    })
    expect(textsOf(task)).toBe('one two three')
    // The 0.3 server cannot distinguish "none" from "no limit".
    const { history = [] } = await client.get(id, { historyLength: version === '0.3' ? 1 : 0 })
    expect(history.length).toBe(version === '0.3' ? 1 : 0)
    client.close()
  })

  test('a task is streamed from start to end, and adds up to the stored task', async () => {
    const client = await connect((await start(three)).url)
    const stream = client.stream('count')
    const updates = await collected(stream)
    expect(updates[0]).toHaveProperty('task')
    expect(stateOf(updates.at(-1))).toBe('TASK_STATE_COMPLETED')
    expect(textOfUpdates(updates)).toBe('one two three')
    expect(textsOf(stream.task!)).toEqual(textsOf(await client.get(stream.task!.id)))
    client.close()
  })

  test('a response without a task is the whole answer', async () => {
    const client = await connect((await start([{ message: 'Good day' }])).url)
    const [sent, [streamed, ...more]] = [await client.send('hello'), await collected(client.stream('hello'))]
    for (const answer of [sent, streamed!]) expect('message' in answer && textOf(answer.message.parts)).toBe('Good day')
    expect(more).toEqual([])
    client.close()
  })

  test('data is received as sent', async () => {
    // The gRPC server of 0.3 cannot write a null.
    const none = version === '0.3' && binding === 'GRPC' ? false : null
    const value = { found: 3, names: ['ä', '漢字', '👩‍🚀'], nested: { none, yes: true, half: 0.5 } }
    const client = await connect((await start([{ value }, { status: 'completed' }])).url)
    const task = taskOf(await client.stream({ parts: [{ data: { ask: [1, 2] } }] }).result())
    expect(task.artifacts?.[0]?.parts[0]?.data).toEqual(value)
    client.close()
  })

  test('a megabyte of text is received whole', async () => {
    const text = 'word \u2028 é 漢 '.repeat(80_000)
    const client = await connect((await start([{ artifact: text, last: true }, { status: 'completed' }])).url)
    expect(textsOf(taskOf(await client.stream('much').result()))).toBe(text)
    client.close()
  })

  test('a task that needs input is answered, and continues', async () => {
    const script = (text: string, turn: number): readonly PeerStep[] =>
      turn === 1
        ? [{ artifact: 'Well. ' }, { status: 'input-required', text: 'Which one?' }]
        : [{ status: 'working' }, { artifact: `You said ${text}`, append: true }, { status: 'completed' }]
    const client = await connect((await startPeer({ version, binding, script })).url)
    const { id, contextId, status } = taskOf(await client.stream('begin').result())
    expect(status.state).toBe('TASK_STATE_INPUT_REQUIRED')
    expect(textOf(status.message!.parts)).toBe('Which one?')
    const answer = { taskId: id, contextId: contextId!, parts: [{ text: 'the blue one' }] }
    const done = taskOf(await client.stream(answer, { answered: status }).result())
    expect(done.id).toBe(id)
    expect(textsOf(done)).toBe('Well. You said the blue one')
    client.close()
  })

  test('a task that waits for a credential stays open, and continues without a message', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const steps: PeerStep[] = [{ status: 'auth-required', text: 'Sign in' }, { until: promise }, ...three]
    const client = await connect((await start(steps)).url)
    const seen: string[] = []
    for await (const update of client.stream('sign')) {
      seen.push(stateOf(update))
      if (stateOf(update) === 'TASK_STATE_AUTH_REQUIRED') resolve()
    }
    expect(seen.at(-1)).toBe('TASK_STATE_COMPLETED')
    client.close()
  })

  test('a task is cancelled while it runs; a finished one cannot be, and an unknown one is not found', async () => {
    const endless = await connect((await start([...three.slice(0, 2), { until: new Promise(() => {}) }])).url)
    const stream = endless.stream('count')
    for await (const update of stream) if (textOfUpdates([update]) === 'one ') break
    const { id } = stream.task!
    expect((await endless.cancel(id)).status.state).toBe('TASK_STATE_CANCELED')
    await expect(endless.get('nowhere')).rejects.toMatchObject({ name: 'A2aError', code: 'task_not_found' })
    const client = await connect((await start(three)).url)
    const done = taskOf(await client.send('count'))
    await expect(client.cancel(done.id)).rejects.toMatchObject({ code: 'task_not_cancelable' })
    endless.close()
    client.close()
  })

  test.each(['failed', 'rejected'] as const)('a task that was %s is reported as such', async (status) => {
    const client = await connect((await start([{ artifact: 'half ' }, { status, text: 'no luck' }])).url)
    const task = taskOf(await client.stream('try').result())
    expect(task.status.state).toBe(`TASK_STATE_${status.toUpperCase()}`)
    expect(textOf(task.status.message!.parts)).toBe('no luck')
    client.close()
  })

  test('two subscribers of a running task get it from its current state to its end', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const client = await connect((await start([...three.slice(0, 2), { until: promise }, ...three.slice(2)])).url)
    const { id } = taskOf(await client.send('count', { wait: false }))
    await until('it has begun', async () => textsOf(await client.get(id)) === 'one ')
    const streams = [client.subscribe(id), client.subscribe(id)]
    const both = streams.map((stream) => collected(stream))
    await until('both have the task', () => streams.every(({ task }) => task !== undefined))
    resolve()
    for (const updates of await Promise.all(both)) expect(textOfUpdates(updates)).toBe('one two three')
    client.close()
  })

  test('a finished task can be subscribed to: the stream has the task and the end', async () => {
    const client = await connect((await start(three)).url)
    const { id } = taskOf(await client.send('count'))
    const updates = await collected(client.subscribe(id))
    expect(stateOf(updates.at(-1))).toBe('TASK_STATE_COMPLETED')
    expect(textOfUpdates(updates)).toBe('one two three')
    client.close()
  })

  test('push configurations are created, found, listed and deleted', async () => {
    const client = await connect((await start(three)).url)
    const { id: taskId } = taskOf(await client.send('count'))
    const config = {
      id: 'hook',
      url: 'https://example.com/hook',
      token: 't',
      authentication: { scheme: 'Bearer', credentials: 'c' },
    }
    expect(await client.createPushConfig(taskId, config)).toMatchObject({ taskId, ...config })
    expect(await client.getPushConfig({ taskId, id: 'hook' })).toMatchObject({ taskId, ...config })
    expect(await client.listPushConfigs(taskId)).toMatchObject([{ taskId, id: 'hook' }])
    await client.deletePushConfig({ taskId, id: 'hook' })
    expect(await client.listPushConfigs(taskId)).toEqual([])
    client.close()
  })

  test('a message with another context than its task is rejected', async () => {
    const client = await connect((await start([{ status: 'input-required', text: 'Which one?' }])).url)
    const { id } = taskOf(await client.send('begin'))
    const wrong = await client.send({ taskId: id, contextId: 'another', parts: [{ text: 'x' }] }).then(
      () => 'taken',
      (cause: unknown) => (cause as { readonly code?: string }).code,
    )
    // The server of 0.3 does not look.
    expect(wrong).toBe(version === '0.3' ? 'taken' : 'invalid_request')
    client.close()
  })

  test('an agent that fails within its stream is reported', async () => {
    const client = await connect((await start([{ artifact: 'half ' }, { fails: 'boom' }])).url)
    const task = taskOf(await client.stream('try').result())
    expect(task.status.state).toBe('TASK_STATE_FAILED')
    client.close()
  })

  test('pushes carry the configured credential', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const receiver = await receive()
    const client = await connect((await start([{ status: 'working' }, { until: promise }, ...three.slice(1)])).url)
    const { id } = taskOf(await client.send('count', { wait: false }))
    const authentication = { scheme: 'Bearer', credentials: 'secret' }
    await client.createPushConfig(id, { id: 'hook', url: receiver.url, token: 't', authentication })
    resolve()
    const [first] = await until('it is told', () => receiver.received.length > 0 && receiver.received)
    const { authorization, 'x-a2a-notification-token': token } = first!.headers
    // The server of 0.3 knows only tokens.
    expect(version === '0.3' ? token : authorization).toBe(version === '0.3' ? 't' : 'Bearer secret')
    client.close()
  })

  test('the extended card is for authenticated callers', async () => {
    const client = await connect((await start(three, { extended: true })).url)
    expect(await client.extendedCard()).toMatchObject({ name: 'peer, extended' })
    client.close()
  })

  // What a version does not have is not a test that is skipped.
  const canList = version === '1.0'
  test.each(canList ? [version] : [])('tasks are listed page by page in %s', async () => {
    const client = await connect((await start(three)).url)
    for (const text of ['a', 'b', 'c']) await client.send(text)
    const first = await client.list({ pageSize: 2 })
    const rest = await client.list({ pageSize: 2, pageToken: first.nextPageToken })
    expect([first.tasks.length, rest.tasks.length, first.totalSize, rest.nextPageToken]).toEqual([2, 1, 3, ''])
    client.close()
  })

  test.each(canList ? [] : [version])('listing tasks is rejected in %s', async () => {
    const client = await connect((await start(three)).url)
    await expect(client.list()).rejects.toMatchObject({ code: 'unsupported_operation' })
    client.close()
  })
})
