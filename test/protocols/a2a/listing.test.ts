import { expect, test } from 'vitest'
import type { TaskList } from '../../../src/protocols/a2a/wire/wire.ts'
import { result, rpc, send, serveA2a } from './serve.ts'

test('A2A: tasks are listed by status, newest first, in stable pages', async () => {
  const server = await serveA2a()
  const url = server.agent()
  const waiting = await send(url, 'ask Go?; text 1')
  for (let count = 0; count < 4; count++) await send(url, 'text 1')
  const list = (params: object): Promise<TaskList> => result<TaskList>(url, 'ListTasks', params)
  const whole = await list({})
  expect(whole).toMatchObject({ nextPageToken: '', pageSize: 50, totalSize: 5 })
  const times = whole.tasks.map(({ status }) => Date.parse(status.timestamp!))
  expect(times).toEqual(times.toSorted((left, right) => right - left))
  expect(whole.tasks.every((task) => !('artifacts' in task))).toBe(true)

  const first = await list({ pageSize: 2 })
  // The oldest one moves to the top while somebody pages.
  await send(url, 'yes', { taskId: waiting.id })
  const second = await list({ pageSize: 2, pageToken: first.nextPageToken })
  const ids = [first, second].flatMap(({ tasks }) => tasks.map(({ id }) => id))
  expect(ids).toEqual(whole.tasks.map(({ id }) => id).filter((id) => id !== waiting.id))
  expect(second.nextPageToken).toBe('')
})

test('A2A: a list is filtered by context, state and time, and includes only the requested parts', async () => {
  const server = await serveA2a()
  const url = server.agent()
  const asked = await send(url, 'ask Go?', { contextId: 'here' })
  const done = await send(url, 'text 1', { contextId: 'here' })
  await send(url, 'text 1', { contextId: 'there' })
  const ids = async (params: object) =>
    (await result<TaskList>(url, 'ListTasks', params)).tasks.map(({ id }) => id).toSorted()
  expect(await ids({ contextId: 'here' })).toEqual([asked.id, done.id].toSorted())
  expect(await ids({ status: 'TASK_STATE_INPUT_REQUIRED' })).toEqual([asked.id])
  expect(await ids({ statusTimestampAfter: '2999-01-01T00:00:00Z' })).toEqual([])
  expect(await ids({ contextId: 'here', statusTimestampAfter: done.status.timestamp })).toEqual([done.id])
  const shown = await result<TaskList>(url, 'ListTasks', {
    contextId: 'here',
    includeArtifacts: true,
    historyLength: 1,
  })
  expect(shown.tasks.find(({ id }) => id === done.id)).toEqual(done)
})

test.each([
  { pageSize: 0 },
  { pageSize: 101 },
  { pageToken: 'nonsense' },
  { status: 'DANCING' },
  { historyLength: -1 },
])('A2A: a list with %j is rejected', async (params) => {
  const server = await serveA2a()
  expect((await rpc(server.agent(), 'ListTasks', params)).error?.code).toBe(-32602)
})
