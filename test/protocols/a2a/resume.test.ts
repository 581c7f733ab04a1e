import { copyFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { RESUME_EXTENSION } from '../../../src/a2a/resume.ts'
import {
  assembled,
  begin,
  drained,
  getTask,
  open,
  rpc,
  type SeenUpdate,
  seen,
  send,
  serveA2a,
  stream,
  subscribe,
  texts,
} from './serve.ts'
import type { Task } from '../../../src/protocols/a2a/wire/wire.ts'
import { A2aClient } from '../../../src/a2a/index.ts'
import { serveInProcess } from '../../support/in-process.ts'
import { temporaryDatabase } from '../../support/temporary.ts'
import { until } from '../../support/until.ts'

const active = { 'a2a-extensions': RESUME_EXTENSION }

function positions(updates: readonly SeenUpdate[]): unknown[] {
  return updates.map(({ task, statusUpdate, artifactUpdate }) => {
    const { metadata } = (task ?? statusUpdate ?? artifactUpdate)!
    return (metadata?.[RESUME_EXTENSION] as { sequence: number } | undefined)?.sequence
  })
}

/** Received updates without the initial task of a subscription. */
function news(updates: readonly SeenUpdate[]): string[] {
  return updates.slice(1).map((update) => JSON.stringify(update))
}

describe('A2A with the resume extension', () => {
  test('each event has its position, in its metadata and as the id of the SSE event', async () => {
    const server = await serveA2a()
    const opened = stream(server.agent(), 'text 3', {}, { headers: active })
    const updates = await drained(opened)
    expect((await opened.headers())['a2a-extensions']).toBe(RESUME_EXTENSION)
    expect(positions(updates)).toEqual(updates.map((_, index) => index))
    expect(updates.map(({ id }) => Number(id))).toEqual(positions(updates))
  })

  test('a subscription after any event gives the task as it was there and exactly the missed events, byte for byte [LOG-5] [SUB-2]', async () => {
    const server = await serveA2a()
    const whole = await drained(stream(server.agent(), 'text 3; artifact a 70; text 2', {}, { headers: active }))
    const { id } = whole[0]!.task!
    for (let after = 0; after < whole.length; after++) {
      const rest = await drained(
        subscribe(server.agent(), id, { headers: { ...active, 'last-event-id': String(after) } }),
      )
      expect(positions(rest.slice(0, 1))).toEqual([after])
      expect(news(rest)).toEqual(whole.slice(after + 1).map((update) => JSON.stringify(update)))
      expect(assembled(rest)).toEqual(texts(await getTask(server.agent(), id)))
    }
  })

  test('a client that has kept the task gets it without artifacts and history, then exactly the missed events', async () => {
    const server = await serveA2a()
    const whole = await drained(stream(server.agent(), 'text 3; artifact a 70; text 2', {}, { headers: active }))
    const { id } = whole[0]!.task!
    for (let after = 0; after < whole.length; after++) {
      const known = subscribe(server.agent(), id, { headers: { ...active, 'last-event-id': `${after};kept` } })
      const [first, ...rest] = await drained(known)
      const { artifacts, history, ...task } = (
        await drained(subscribe(server.agent(), id, { headers: { ...active, 'last-event-id': String(after) } }))
      )[0]!.task!
      expect(history).toHaveLength(1)
      expect(artifacts === undefined).toBe(after < 2)
      expect(first!.task).toEqual(task)
      expect(rest.map((update) => JSON.stringify(update))).toEqual(
        whole.slice(after + 1).map((update) => JSON.stringify(update)),
      )
    }
  })

  test('[SUB-2] a client that has kept the task gets all of it if the missed events were trimmed', async () => {
    const server = await serveA2a()
    const { id } = await send(server.agent(), 'text 3')
    await server.store.trim(id, (await server.store.get(id))!.next - 2)
    const [first] = await drained(subscribe(server.agent(), id, { headers: { ...active, 'last-event-id': '2;kept' } }))
    expect(first!.task?.metadata?.[RESUME_EXTENSION]).toMatchObject({ gap: true })
    expect(first!.task?.artifacts).toBeDefined()
  })

  test('a stream that is cut while the task works is resumed without a gap', async () => {
    const server = await serveA2a()
    const cut = stream(server.agent(), 'text 100 every 2', {}, { headers: active, cutAfter: 30 })
    expect(await cut.ended).toBe('cut')
    const before = seen(cut)
    const headers = { ...active, 'last-event-id': before.at(-1)!.id }
    const after = await drained(subscribe(server.agent(), before[0]!.task!.id, { headers }))
    expect([...positions(before), ...positions(after).slice(1)]).toEqual(
      Array.from({ length: 104 }, (_, index) => index),
    )
    expect(assembled([...before, ...after.slice(1)])).toEqual(texts(await getTask(server.agent(), before[0]!.task!.id)))
  })

  test('the position can also be in the metadata of the request', async () => {
    const server = await serveA2a()
    const { id } = await send(server.agent(), 'text 3')
    const params = { id, metadata: { [RESUME_EXTENSION]: { after: 4 } } }
    expect(positions(await drained(open(server.agent(), 'SubscribeToTask', params, { headers: active })))).toEqual([
      4, 5, 6,
    ])
  })

  test('a position beyond the end is rejected, and a trimmed one is answered with the gap [SUB-2]', async () => {
    const server = await serveA2a()
    const { id } = await send(server.agent(), 'text 3')
    for (const after of ['7', 'x', '-1'])
      expect(
        (await rpc(server.agent(), 'SubscribeToTask', { id }, { ...active, 'last-event-id': after })).error?.code,
      ).toBe(-32602)
    const { next } = (await server.store.get(id))!
    await server.store.trim(id, next - 1)
    const [only, ...more] = await drained(
      subscribe(server.agent(), id, { headers: { ...active, 'last-event-id': '2' } }),
    )
    expect(only!.task?.metadata?.[RESUME_EXTENSION]).toMatchObject({ gap: true })
    expect(more).toEqual([])
  })
})

function cursorOf({ task, statusUpdate, artifactUpdate }: SeenUpdate): string {
  const { metadata } = (task ?? statusUpdate ?? artifactUpdate)!
  const { sequence, checksum } = metadata![RESUME_EXTENSION] as { sequence: number; checksum: string }
  return `${sequence}~${checksum}`
}

describe('A2A with the resume extension: a position with the checksum of its event', () => {
  test('[SUB-2] equals the bare number if the task has that event', async () => {
    const server = await serveA2a()
    const whole = await drained(stream(server.agent(), 'text 3; artifact a 70', {}, { headers: active }))
    const { id } = whole[0]!.task!
    for (const update of whole) {
      const headers = { ...active, 'last-event-id': cursorOf(update) }
      const rest = await drained(subscribe(server.agent(), id, { headers }))
      expect(cursorOf(rest[0]!)).toBe(cursorOf(update))
      expect(news(rest)).toEqual(whole.slice(Number(update.id) + 1).map((each) => JSON.stringify(each)))
    }
  })

  test.each([
    ['another event', '3~00000000', 409],
    ['an event that the task never had', '300~00000000', 409],
    ['half a checksum', '3~0000', 400],
  ])(
    '[SUB-2] a position that names %s is rejected by every binding before the stream starts',
    async (_, after, status) => {
      const server = await serveA2a()
      const { id } = await send(server.agent(), 'text 5')
      const headers = { ...active, 'last-event-id': after }
      const byHeader = await rpc(server.agent(), 'SubscribeToTask', { id }, headers)
      const params = { id, metadata: { [RESUME_EXTENSION]: { after } } }
      const byMetadata = await rpc(server.agent(), 'SubscribeToTask', params, active)
      for (const { error } of [byHeader, byMetadata]) expect(error?.code).toBe(-32602)
      const url = `${server.agent()}/tasks/${id}:subscribe`
      const rest = await fetch(url, { headers: { 'a2a-version': '1.0', ...headers } })
      expect([rest.status, rest.headers.get('content-type')]).toEqual([status, expect.stringContaining('json')])
    },
  )

  test('[SUB-2] [LOG-5] a position in a log that was replaced by an older backup is rejected, and a client gets the task of the new history', async () => {
    const path = temporaryDatabase()
    const first = await serveInProcess({ path })
    const task = await send(`${first.url}/a2a/lab`, 'text 2; ask Go on?; text 20')
    await first.close()
    const backup = temporaryDatabase()
    copyFileSync(path, backup)
    const servers = [await serveInProcess({ path }), await serveInProcess({ path: backup })] as const
    const agents = servers.map(({ url }) => `${url}/a2a/lab`)
    const ended = await send(agents[0]!, 'answer 0', { taskId: task.id })
    expect(ended.status.state).toBe('TASK_STATE_COMPLETED')
    // A checksum covers the time of an event: the other history is written later.
    const endedAt = Date.now()
    await until('the clock has moved on', () => Date.now() > endedAt, { everyMs: 1 })
    await send(agents[1]!, 'answer 1', { taskId: task.id })
    const restAfter = (position: string): Promise<SeenUpdate[]> =>
      drained(subscribe(agents[0]!, task.id, { headers: { ...active, 'last-event-id': position } }))
    const asked = (await restAfter('0')).at(-1)!
    const before = await restAfter(cursorOf(asked))
    // The numbers are the same in both histories up to here; the events are not.
    const position = cursorOf(before.at(-3)!)
    const refused = await rpc(agents[1]!, 'SubscribeToTask', { id: task.id }, { ...active, 'last-event-id': position })
    expect(refused.error).toMatchObject({ code: -32602, message: expect.stringContaining('restored') as string })
    const client = await A2aClient.connect(agents[1]!)
    const { task: found } = (await client.subscribe(task.id, { after: position }).result()) as { task: Task }
    expect(texts(found)).toEqual(texts(await getTask(agents[1]!, task.id)))
  })
})

test('A2A: a task whose events were trimmed is marked as incomplete [SUB-2]', async () => {
  const server = await serveA2a()
  const { id } = await send(server.agent(), 'text 3')
  expect((await getTask(server.agent(), id)).metadata).toBeUndefined()
  const { next } = (await server.store.get(id))!
  await server.store.trim(id, next - 1)
  expect(await getTask(server.agent(), id)).toMatchObject({
    status: { state: 'TASK_STATE_COMPLETED' },
    metadata: { gap: true },
  })
})

test('A2A without the resume extension: a position is ignored, and the stream starts with the current task', async () => {
  const server = await serveA2a()
  const { id } = await begin(server.agent(), 'text 3; hang')
  await until('it has spoken', async () => texts(await getTask(server.agent(), id))['answer']?.includes('[2]'))
  const opened = subscribe(server.agent(), id, { headers: { 'last-event-id': '1' } })
  const first = await until('it began', () => seen(opened)[0])
  expect(first.task?.artifacts?.[0]?.parts[0]?.text).toContain('[2]')
  expect(first.task?.metadata).toBeUndefined()
  opened.cut()
})
