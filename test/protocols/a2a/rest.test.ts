import { describe, expect, test } from 'vitest'
import type { Task, TaskList } from '../../../src/protocols/a2a/wire/wire.ts'
import { assembled, current, drained, getTask, message, send, serveA2a, states, texts } from './serve.ts'
import { EventStream } from '../../support/event-stream.ts'

async function post(url: string, body?: unknown, headers: Record<string, string> = {}): Promise<Response> {
  const payload = body === undefined ? {} : { body: JSON.stringify(body) }
  return fetch(url, { method: 'POST', headers: { ...current, ...headers }, ...payload })
}

function opened(url: string, method: 'GET' | 'POST', body?: unknown): EventStream {
  return new EventStream(url, { method, headers: { 'a2a-version': '1.0' }, ...(body !== undefined && { body }) })
}

describe('A2A over HTTP+JSON', () => {
  test('sends, gets, streams, lists and cancels by path', async () => {
    const server = await serveA2a()
    const base = server.agent()
    const { task } = (await (await post(`${base}/message:send`, { message: message('text 2') })).json()) as {
      task: Task
    }
    expect(task.status.state).toBe('TASK_STATE_COMPLETED')
    const got = await fetch(`${base}/tasks/${task.id}?historyLength=0`, { headers: current })
    const { history: _history, ...shown } = task
    expect(await got.json()).toEqual(shown)
    const updates = await drained(opened(`${base}/message:stream`, 'POST', { message: message('text 3') }))
    expect(states(updates)).toEqual(['SUBMITTED', 'WORKING', 'COMPLETED'])
    expect(assembled(updates)).toEqual(texts(await getTask(base, updates[0]!.task!.id)))
    const listed = (await (
      await fetch(`${base}/tasks?pageSize=1&status=TASK_STATE_COMPLETED`, { headers: current })
    ).json()) as TaskList
    expect(listed).toMatchObject({ tasks: [{ id: updates[0]!.task!.id }], pageSize: 1, totalSize: 2 })
    const waiting = await send(base, 'ask Go?')
    const cancelled = await post(`${base}/tasks/${waiting.id}:cancel`)
    expect(await cancelled.json()).toMatchObject({ id: waiting.id, status: { state: 'TASK_STATE_CANCELED' } })
  })

  test.each(['GET', 'POST'] as const)('subscribes with %s', async (method) => {
    const server = await serveA2a()
    const { id } = await send(server.agent(), 'ask Go?; text 1')
    const stream = opened(`${server.agent()}/tasks/${id}:subscribe`, method)
    await stream.answered
    await send(server.agent(), 'yes', { taskId: id })
    expect(states(await drained(stream))).toEqual(['INPUT_REQUIRED', 'WORKING', 'COMPLETED'])
  })

  test.each([
    { what: 'a text', body: 'x' },
    { what: 'a list', body: [{}] },
    { what: 'null', body: null },
  ])('A2A: $what instead of an object is 400', async ({ body }) => {
    const server = await serveA2a()
    const { id } = await send(server.agent(), 'ask Go?')
    for (const path of [`/tasks/${id}:cancel`, `/tasks/${id}/pushNotificationConfigs`, '/message:send']) {
      const answer = await post(`${server.agent()}${path}`, body)
      expect([path, answer.status]).toEqual([path, 400])
    }
    expect((await getTask(server.agent(), id)).status.state).toBe('TASK_STATE_INPUT_REQUIRED')
  })

  test('a tenant in the path or in the request has tasks of its own', async () => {
    const server = await serveA2a()
    const { task } = (await (
      await post(`${server.agent()}/acme/message:send`, { message: message('text 1') })
    ).json()) as { task: Task }
    const at = async (path: string) =>
      (await fetch(`${server.agent()}${path}/tasks/${task.id}`, { headers: current })).status
    expect([await at('/acme'), await at('/other'), await at('')]).toEqual([200, 404, 404])
    expect(await getTask(server.agent(), task.id, { tenant: 'acme' })).toMatchObject({ id: task.id })
    const listed = (await (await fetch(`${server.agent()}/acme/tasks`, { headers: current })).json()) as TaskList
    expect(listed.totalSize).toBe(1)
  })

  test('errors are google.rpc.Status, with the statuses of 1.0.1 or, on request, of 1.0.0', async () => {
    for (const [errorTable, notCancelable, contentType] of [
      ['1.0.1', 400, 400],
      ['1.0.0', 409, 415],
    ] as const) {
      const server = await serveA2a({ a2a: { errorTable } })
      const { id } = await send(server.agent(), 'text 1')
      const response = await post(`${server.agent()}/tasks/${id}:cancel`)
      expect(response.status).toBe(notCancelable)
      expect(await response.json()).toMatchObject({
        error: {
          code: notCancelable,
          status: 'FAILED_PRECONDITION',
          details: [{ reason: 'TASK_NOT_CANCELABLE', domain: 'a2a-protocol.org' }],
        },
      })
      const plain = await post(
        `${server.agent()}/message:send`,
        { message: message('text 1') },
        { 'content-type': 'text/plain' },
      )
      expect(plain.status).toBe(contentType)
    }
  })

  test('uses application/a2a+json for clients that do', async () => {
    const server = await serveA2a()
    const type = async (headers: Record<string, string>) =>
      (await post(`${server.agent()}/message:send`, { message: message('text 1') }, headers)).headers.get(
        'content-type',
      )
    expect(await type({})).toBe('application/json')
    expect(await type({ 'content-type': 'application/a2a+json' })).toBe('application/a2a+json')
    expect(await type({ accept: 'application/a2a+json' })).toBe('application/a2a+json')
  })

  test('an invalid request is rejected before the stream starts', async () => {
    const server = await serveA2a()
    const bare = await fetch(`${server.agent()}/tasks`, {})
    expect([bare.status, await bare.json()]).toMatchObject([
      400,
      { error: { details: [{ reason: 'VERSION_NOT_SUPPORTED' }] } },
    ])
    const empty = await post(`${server.agent()}/message:stream`, {})
    expect([empty.status, await empty.json()]).toMatchObject([400, { error: { status: 'INVALID_ARGUMENT' } }])
    const { id } = await send(server.agent(), 'text 1')
    expect((await post(`${server.agent()}/tasks/${id}:subscribe`)).status).toBe(400)
    expect((await post(`${server.agent()}/tasks/${id}:dance`)).status).toBe(400)
    expect((await fetch(`${server.agent()}/tasks?pageSize=zero`, { headers: current })).status).toBe(400)
    expect((await fetch(`${server.url}/a2a/nobody/tasks`, { headers: current })).status).toBe(404)
  })
})
