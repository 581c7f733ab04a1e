/** Clients that deviate from 1.0 and 0.3: protobuf field names, parts without a kind, names of 0.2. */
import { describe, expect, test } from 'vitest'
import { RESUME_EXTENSION } from '../../../src/a2a/resume.ts'
import { agent } from '../../../src/agents/agent.ts'
import type { Task } from '../../../src/protocols/a2a/wire/wire.ts'
import { current, drained, getTask, message, open, result, rpc, send, serveA2a, states } from './serve.ts'

const legacy = { 'content-type': 'application/json' }

function post(url: string, body: unknown): Promise<Response> {
  return fetch(url, { method: 'POST', headers: legacy, body: JSON.stringify(body) })
}

describe('A2A 0.3 over HTTP+JSON with protobuf field names', () => {
  test('a message with files and a push configuration is accepted whole', async () => {
    const server = await serveA2a()
    const base = `${server.agent('echo')}/v1`
    const response = await post(`${base}/message:send`, {
      request: {
        message_id: 'snake-1',
        role: 'ROLE_USER',
        content: [
          { text: 'hello' },
          { file: { file_with_bytes: 'AAEC', mime_type: 'image/png', name: 'a.png' } },
          { data: { data: { user_name: 'kept as it is' } } },
        ],
      },
      configuration: {
        blocking: true,
        history_length: 1,
        push_notification: { id: 'c1', url: 'https://example.com/hook', authentication: { schemes: ['Bearer'] } },
      },
    })
    expect(response.status).toBe(200)
    const { task } = (await response.json()) as { task: { id: string; history: readonly { content: unknown }[] } }
    expect(task.history[0]?.content).toEqual([
      { text: 'hello' },
      { file: { fileWithBytes: 'AAEC', mimeType: 'image/png', name: 'a.png' } },
      { data: { data: { user_name: 'kept as it is' } } },
    ])
    const config = await fetch(`${base}/tasks/${task.id}/pushNotificationConfigs/c1`)
    expect(await config.json()).toMatchObject({ pushNotificationConfig: { url: 'https://example.com/hook' } })
  })

  test('a push configuration is created from a request in either spelling', async () => {
    const server = await serveA2a()
    const { id } = await send(server.agent(), 'ask Go?')
    const configs = `${server.agent()}/v1/tasks/${id}/pushNotificationConfigs`
    const made = await post(configs, {
      config_id: 'c2',
      config: { push_notification_config: { url: 'https://example.com/two' } },
    })
    expect(made.status).toBe(200)
    expect(await (await fetch(`${configs}/c2`)).json()).toMatchObject({
      pushNotificationConfig: { id: 'c2', url: 'https://example.com/two' },
    })
  })

  test('history_length limits the history, and an invalid one is rejected', async () => {
    const server = await serveA2a()
    const asked = await send(server.agent(), 'ask Go?; ask On?; text 1')
    const { id } = await send(server.agent(), 'yes', { taskId: asked.id })
    const task = `${server.agent()}/v1/tasks/${id}`
    const lengthOf = async (query: string): Promise<number> =>
      ((await (await fetch(`${task}${query}`)).json()) as { history: unknown[] }).history.length
    expect(await lengthOf('?history_length=1')).toBe(1)
    expect(await lengthOf('')).toBeGreaterThan(1)
    expect((await fetch(`${task}?history_length=-1`)).status).toBe(400)
  })

  test('an error names its class, from which the official Python client raises', async () => {
    const server = await serveA2a()
    const response = await fetch(`${server.agent()}/v1/tasks/nope`)
    expect(response.status).toBe(404)
    expect(await response.json()).toMatchObject({ code: -32001, type: 'TaskNotFoundError' })
  })
})

test('A2A 1.0 over HTTP+JSON: history_length in the query is the protobuf name of historyLength', async () => {
  const server = await serveA2a()
  const { id } = await send(server.agent(), 'text 1')
  const shown = await fetch(`${server.agent()}/tasks/${id}?history_length=0`, { headers: current })
  expect(await shown.json()).not.toHaveProperty('history')
})

describe('A2A for the client of FastA2A', () => {
  test('parts without a kind are accepted with the method names of 0.3', async () => {
    const server = await serveA2a()
    const sent = { role: 'user', messageId: 'kindless-1', parts: [{ text: 'text 2' }] }
    const { result: task } = await rpc(server.agent(), 'message/send', { message: sent }, { 'a2a-version': '' })
    expect(task).toMatchObject({ kind: 'task', status: { state: 'completed' } })
  })

  test('every skill on a card names its input and output modes', async () => {
    const server = await serveA2a({ a2a: { agents: { lab: { inputModes: ['text/plain'] } } } })
    const card = (await (await fetch(server.agent())).json()) as { skills: readonly object[] }
    expect(card.skills).toMatchObject([{ inputModes: ['text/plain'], outputModes: expect.any(Array) as unknown }])
  })
})

describe('A2A by the names of 0.2', () => {
  test('tasks/sendSubscribe streams as message/stream does, and takes the type of a part for its kind', async () => {
    const server = await serveA2a()
    const sent = { role: 'user', messageId: 'old-1', parts: [{ type: 'text', text: 'text 2' }] }
    const stream = open(server.agent(), 'tasks/sendSubscribe', { message: sent }, { headers: { 'a2a-version': '' } })
    const events = (await drained(stream)) as unknown as { kind: string; status?: { state: string }; final?: boolean }[]
    expect(events[0]).toMatchObject({ kind: 'task' })
    expect(events.at(-1)).toMatchObject({ kind: 'status-update', status: { state: 'completed' }, final: true })
  })

  test('the card is at /.well-known/agent.json too', async () => {
    const server = await serveA2a()
    for (const base of [server.url, server.agent('echo')]) {
      const [old, now] = await Promise.all(
        ['agent.json', 'agent-card.json'].map(async (name) => (await fetch(`${base}/.well-known/${name}`)).json()),
      )
      expect(old).toEqual(now)
    }
  })

  test('POST / is JSON-RPC of the default agent', async () => {
    const server = await serveA2a({ a2a: { defaultComponent: 'lab' } })
    const { task } = await result<{ task: Task }>(`${server.url}/`, 'SendMessage', { message: message('text 1') })
    expect((await getTask(server.agent('lab'), task.id)).status.state).toBe('TASK_STATE_COMPLETED')
    expect((await rpc(`${server.url}/`, 'nope', {})).error).toMatchObject({ code: -32601 })
  })
})

describe('A2A without streaming', () => {
  const quiet = { agents: { quiet: { streaming: false } } }
  const components = [
    agent({
      id: 'quiet',
      async *run() {
        yield 'done'
      },
    }),
  ]

  test('its card says so, and other cards do not change', async () => {
    const server = await serveA2a({ a2a: quiet, components })
    const streaming = async (id: string): Promise<unknown> =>
      ((await (await fetch(server.agent(id))).json()) as { capabilities: { streaming: unknown } }).capabilities
        .streaming
    expect(await streaming('quiet')).toBe(false)
    expect(await streaming('lab')).toBe(true)
  })

  test('streams and subscriptions are refused in every binding, and nothing is started', async () => {
    const server = await serveA2a({ a2a: quiet, components })
    const url = server.agent('quiet')
    const params = { message: message('hello') }
    expect((await rpc(url, 'SendStreamingMessage', params)).error).toMatchObject({ code: -32004 })
    expect((await rpc(url, 'SubscribeToTask', { id: 'any' })).error).toMatchObject({ code: -32004 })
    const rest = await fetch(`${url}/message:stream`, {
      method: 'POST',
      headers: current,
      body: JSON.stringify(params),
    })
    expect(rest.status).toBe(400)
    expect(await result(url, 'ListTasks', {})).toMatchObject({ totalSize: 0 })
    expect((await send(url, 'hello')).status.state).toBe('TASK_STATE_COMPLETED')
  })
})

describe('A2A: a message id that is used again', () => {
  const resume = { 'a2a-extensions': RESUME_EXTENSION }
  const idOf = ({ result: found }: { readonly result?: unknown }): string => (found as { task: Task }).task.id

  test('starts another task for a client that does not know the resume extension', async () => {
    const server = await serveA2a()
    const first = message('text 1')
    const sent = [first, first, { ...first, parts: [{ text: 'text 2' }] }]
    const ids: string[] = []
    for (const each of sent) ids.push(idOf(await rpc(server.agent(), 'SendMessage', { message: each })))
    expect(new Set(ids).size).toBe(3)
  })

  test('is the same task for a client that activates it, and with another body it is rejected by name [RUN-4]', async () => {
    const server = await serveA2a()
    const first = message('text 1')
    const again = await Promise.all(
      [1, 2, 3].map(async () => idOf(await rpc(server.agent(), 'SendMessage', { message: first }, resume))),
    )
    expect(new Set(again).size).toBe(1)
    const other = { ...first, parts: [{ text: 'text 2' }] }
    expect((await rpc(server.agent(), 'SendMessage', { message: other }, resume)).error).toMatchObject({
      code: -32602,
      message: expect.stringContaining(`messageId ${JSON.stringify(first.messageId)}`) as unknown,
    })
  })
})

test('A2A: a stream of 0.2 reaches every state that a stream of 1.0 does', async () => {
  const server = await serveA2a()
  const old = { role: 'user', messageId: 'old-2', parts: [{ type: 'text', text: 'ask Go?' }] }
  const events = await drained(
    open(server.agent(), 'tasks/sendSubscribe', { message: old }, { headers: { 'a2a-version': '' } }),
  )
  const now = await drained(open(server.agent(), 'SendStreamingMessage', { message: message('ask Go?') }))
  expect(states(now).at(-1)).toBe('INPUT_REQUIRED')
  expect((events.at(-1) as unknown as { status: { state: string } }).status.state).toBe('input-required')
})
