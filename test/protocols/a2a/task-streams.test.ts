/** Regression tests for defects of FastA2A's streaming, and for the review findings of its pull request 43. Titles state what holds here. */
import { describe, expect, test } from 'vitest'
import { agent } from '../../../src/agents/agent.ts'
import { createMemoryStore } from '../../../src/stores/memory.ts'
import { overriding } from '../../../src/testing/broken-stores.ts'
import {
  assembled,
  begin,
  drained,
  getTask,
  message,
  open,
  result,
  rpc,
  seen,
  send,
  serveA2a,
  states,
  stream,
  subscribe,
  texts,
} from './serve.ts'
import { until } from '../../support/until.ts'

/** Longer than any test. */
const NEVER_MS = 24 * 3600 * 1000

describe('A2A, where FastA2A was defective:', () => {
  test('a subscriber of a fast task gets every event (FastA2A 1: late registration)', async () => {
    const server = await serveA2a()
    expect(assembled(await drained(stream(server.agent(), 'say all')))).toEqual({ answer: 'all' })
  })

  test('a late subscriber gets earlier events too, and one of an ended task is refused (FastA2A 2)', async () => {
    const server = await serveA2a()
    const { id } = await begin(server.agent(), 'say before; sleep 300; say " after"')
    await until('it spoke', async () => texts(await getTask(server.agent(), id))['answer'] !== undefined)
    const late = subscribe(server.agent(), id)
    expect(assembled(await drained(late))).toEqual({ answer: 'before after' })
    expect((await rpc(server.agent(), 'SubscribeToTask', { id })).error?.code).toBe(-32004)
  })

  test('a client that does not read delays no other task (FastA2A 3)', async () => {
    const server = await serveA2a()
    const slow = stream(server.agent(), 'big 4096; big 4096; big 4096', {}, { stalled: true })
    await slow.answered
    expect((await send(server.agent(), 'text 3')).status.state).toBe('TASK_STATE_COMPLETED')
    slow.cut()
  })

  test('a reader that disconnects does not fail the task (FastA2A 4)', async () => {
    const server = await serveA2a()
    const opened = stream(server.agent(), 'text 50 every 2', {}, { cutAfter: 3 })
    await opened.ended
    const { id } = seen(opened)[0]!.task!
    const ended = await until('it ended', async () => {
      const { status } = await getTask(server.agent(), id)
      return status.state !== 'TASK_STATE_WORKING' && status
    })
    expect(ended.state).toBe('TASK_STATE_COMPLETED')
  })

  test.each([
    ['reject no', 'REJECTED'],
    ['ask Go?', 'INPUT_REQUIRED'],
  ])('the stream of the script "%s" ends with the state %s (FastA2A 5)', async (script, state) => {
    const server = await serveA2a()
    expect(states(await drained(stream(server.agent(), script))).at(-1)).toBe(state)
  })

  test('an agent that only returns its result still produces an artifact and an end (FastA2A 6)', async () => {
    const server = await serveA2a()
    const updates = await drained(stream(server.agent('echo'), 'hello'))
    expect(updates.some(({ artifactUpdate }) => artifactUpdate?.artifact.artifactId === 'output')).toBe(true)
    expect(states(updates).at(-1)).toBe('COMPLETED')
  })

  test('an event whose notification is lost is delivered from the log (FastA2A 7)', async () => {
    const store = createMemoryStore()
    // No hint arrives, as after a crash between commit and hint: the stream reads the log.
    const server = await serveA2a({
      store: overriding(store, { watch: () => () => {} }),
      limits: { pollIntervalMs: 20 },
    })
    expect(assembled(await drained(stream(server.agent(), 'text 3')))).toHaveProperty('answer')
  })

  test('the stream of a task contains no message event (FastA2A 8)', async () => {
    const server = await serveA2a()
    const updates = await drained(stream(server.agent(), 'text 1; ask Go?'))
    expect(updates.filter((update) => update.message !== undefined)).toEqual([])
  })

  test('a long artifact is sent in chunks (FastA2A 9)', async () => {
    const server = await serveA2a()
    const chunks = (await drained(stream(server.agent(), 'artifact report 200'))).filter(
      (update) => update.artifactUpdate,
    )
    expect(chunks.length).toBeGreaterThan(2)
    expect(chunks.slice(1).every(({ artifactUpdate }) => artifactUpdate!.append)).toBe(true)
    expect(chunks.at(-1)!.artifactUpdate!.lastChunk).toBe(true)
  })

  test('subscribers that come and go do not affect the others (FastA2A 10)', async () => {
    const server = await serveA2a()
    const { id } = await begin(server.agent(), 'text 200 every 2')
    const steady = subscribe(server.agent(), id)
    for (let count = 0; count < 20; count++) await subscribe(server.agent(), id, { cutAfter: 1 }).ended
    expect(assembled(await drained(steady))).toEqual(texts(await getTask(server.agent(), id)))
  })

  test('a failed task sends its error to the stream (FastA2A 11)', async () => {
    const server = await serveA2a()
    const last = (await drained(stream(server.agent(), 'throw boom'))).at(-1)!
    expect(last.statusUpdate?.status).toMatchObject({
      state: 'TASK_STATE_FAILED',
      message: { parts: [{ text: 'boom' }] },
    })
  })

  test('a read with historyLength 0 returns no history, and the stored history stays complete (FastA2A 12)', async () => {
    const server = await serveA2a()
    const { id } = await send(server.agent(), 'text 1')
    expect((await getTask(server.agent(), id, { historyLength: 0 })).history).toBeUndefined()
    expect((await getTask(server.agent(), id)).history).toHaveLength(1)
  })

  test('timestamps are in UTC, with a zone (FastA2A 13)', async () => {
    const server = await serveA2a()
    const updates = await drained(stream(server.agent(), 'text 1'))
    const times = updates.flatMap(({ statusUpdate }) => statusUpdate?.status.timestamp ?? [])
    expect(times.filter((time) => /\.\d{3}Z$/.test(time))).toHaveLength(2)
  })

  test('a send does not wait for other tasks, and a cancel stops a hanging one (FastA2A 14)', async () => {
    const server = await serveA2a()
    const hanging = await Promise.all([1, 2, 3].map(() => begin(server.agent(), 'hang')))
    expect((await send(server.agent(), 'text 1')).status.state).toBe('TASK_STATE_COMPLETED')
    for (const { id } of hanging)
      expect(await result(server.agent(), 'CancelTask', { id })).toMatchObject({
        status: { state: 'TASK_STATE_CANCELED' },
      })
  })

  test('a message that names a task continues that task (FastA2A 15)', async () => {
    const server = await serveA2a()
    const { id } = await send(server.agent(), 'ask Go?; text 1')
    expect((await send(server.agent(), 'yes', { taskId: id })).id).toBe(id)
  })

  test('a server streams tasks that another server executes (FastA2A 16)', async () => {
    const store = createMemoryStore()
    const kept = overriding(store, { close: () => Promise.resolve() })
    const one = await serveA2a({ store: kept })
    const other = await serveA2a({ store: kept })
    const { id } = await begin(one.agent(), 'text 100 every 3')
    expect(assembled(await drained(subscribe(other.agent(), id)))).toEqual(texts(await getTask(one.agent(), id)))
  })

  test('an unserializable value fails the task, and the stream says so (FastA2A 17)', async () => {
    const server = await serveA2a()
    const opened = stream(server.agent(), 'text 1; circular')
    expect(states(await drained(opened)).at(-1)).toBe('FAILED')
    expect(await opened.ended).toBe('closed')
    expect((await getTask(server.agent(), seen(opened)[0]!.task!.id)).status.state).toBe('TASK_STATE_FAILED')
  })

  test('an idle stream sends heartbeats (FastA2A 18)', async () => {
    const server = await serveA2a({ limits: { heartbeatIntervalMs: 50 } })
    const opened = stream(server.agent(), 'hang')
    const beats = (): number => opened.frames.filter((frame) => frame.toString() === ':\n\n').length
    await until('it shows life', () => beats() >= 3)
    expect(states(seen(opened))).toEqual(['SUBMITTED', 'WORKING'])
    opened.cut()
  })
})

describe('FastA2A pull request 43', () => {
  test('A2A: a stream watches its task before it first reads it, so a fast worker is not missed and no poll is needed [O-9]', async () => {
    const store = createMemoryStore()
    const isRead = Promise.withResolvers<void>()
    let isFirst = true
    const racing = overriding(store, {
      async read(...parameters) {
        const slice = await store.read(...parameters)
        // The stream has read the whole log. Before it learns that, the worker does all of its work.
        if (slice === undefined && isFirst) {
          isFirst = false
          isRead.resolve()
          await until(
            'the task has ended',
            async () => (await store.list({ limit: 1 })).runs[0]!.run.status === 'completed',
          )
        }
        return slice
      },
    })
    const fast = agent<unknown>({
      id: 'fast',
      async *run() {
        await isRead.promise
        yield 'x'
      },
    })
    const server = await serveA2a({ store: racing, components: [fast], limits: { pollIntervalMs: NEVER_MS } })
    const updates = await drained(stream(server.agent('fast'), 'go'))
    expect(states(updates)).toEqual(['SUBMITTED', 'WORKING', 'COMPLETED'])
    expect(assembled(updates)).toEqual({ answer: 'x' })
  })

  test('A2A: no lock is held across sends: a stalled client does not keep another one from disconnecting [O-11]', async () => {
    const server = await serveA2a()
    const { id } = await begin(server.agent(), `${'big 1024; '.repeat(10)}hang`)
    const stalled = subscribe(server.agent(), id, { stalled: true })
    await stalled.answered
    const leaving = subscribe(server.agent(), id, { cutAfter: 1 })
    expect(await leaving.ended).toBe('cut')
    await until('it has left', () => server.service.health().subscribers === 1)
    stalled.cut()
  })

  test('A2A: a failed task notifies its subscribers [O-13]', async () => {
    const server = await serveA2a()
    const { id } = await begin(server.agent(), 'sleep 300; throw boom')
    expect(states(await drained(subscribe(server.agent(), id))).at(-1)).toBe('FAILED')
  })

  test('A2A: a rejected task ends the stream [O-12]', async () => {
    const server = await serveA2a()
    expect(states(await drained(stream(server.agent(), 'reject no')))).toEqual(['SUBMITTED', 'WORKING', 'REJECTED'])
  })

  test('A2A: a read with a history length does not truncate the stored history [O-14]', async () => {
    const server = await serveA2a()
    const { id } = await send(server.agent(), 'ask a; text 1')
    await send(server.agent(), 'b', { taskId: id })
    await Promise.all([0, 1, 2].map((historyLength) => getTask(server.agent(), id, { historyLength })))
    expect((await getTask(server.agent(), id)).history).toHaveLength(3)
  })

  test('A2A: send and stream treat metadata alike [O-15]', async () => {
    const server = await serveA2a()
    const sent = { message: message('text 1', { contextId: 'one' }), metadata: { key: 'value' } }
    const streamed = { ...sent, message: message('text 1', { contextId: 'one' }) }
    const { task } = await result<{ task: object }>(server.agent(), 'SendMessage', sent)
    const [first] = await drained(open(server.agent(), 'SendStreamingMessage', streamed))
    for (const each of [task, first!.task]) expect(each).toMatchObject({ contextId: 'one', metadata: { key: 'value' } })
  })

  test('A2A: exceptions of background work are never lost, and no caller hangs [O-10]', async () => {
    const careless = agent<unknown>({
      id: 'careless',
      async *run() {
        await Promise.resolve()
        throw new TypeError('undefined is not an agent')
      },
    })
    const server = await serveA2a({ components: [careless] })
    const [sent, streamed] = await Promise.all([
      send(server.agent('careless'), 'x'),
      drained(stream(server.agent('careless'), 'x')),
    ])
    expect(sent.status).toMatchObject({
      state: 'TASK_STATE_FAILED',
      message: { parts: [{ text: 'undefined is not an agent' }] },
    })
    expect(streamed.at(-1)!.statusUpdate?.status.state).toBe('TASK_STATE_FAILED')
  })
})
