import { setTimeout as wait } from 'node:timers/promises'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { agent } from '../../../src/agents/agent.ts'
import { createMemoryStore } from '../../../src/stores/memory.ts'
import { overriding } from '../../../src/testing/broken-stores.ts'
import type { Component } from '../../../src/core/ports/component.ts'
import { createEvent } from '../../../src/core/ports/component.ts'
import type { Event } from '../../../src/core/model/event.ts'
import type { Run } from '../../../src/core/model/run.ts'
import { beginTask, taskProjection } from '../../../src/protocols/a2a/view/projection.ts'
import type { Task } from '../../../src/protocols/a2a/wire/wire.ts'
import { newRun } from '../../../src/testing/fixtures.ts'
import {
  assembled,
  begin,
  drained,
  getTask,
  message as messageOf,
  open as openStream,
  result,
  rpc,
  seen,
  send,
  serveA2a,
  type SeenUpdate,
  states,
  stream,
  subscribe,
  texts,
} from './serve.ts'
import { heldMegabytes } from '../../support/memory.ts'
import { startServer } from '../../support/process.ts'
import { temporaryDatabase } from '../../support/temporary.ts'
import { until } from '../../support/until.ts'

test('A2A: a stream begins with the task, sends each change in order, and adds up to the stored task', async () => {
  const server = await serveA2a()
  const updates = await drained(stream(server.agent(), 'text 5; artifact report 130; text 2'))
  expect(updates[0]!.task?.status.state).toBe('TASK_STATE_SUBMITTED')
  expect(states(updates)).toEqual(['SUBMITTED', 'WORKING', 'COMPLETED'])
  expect(updates.map(({ id }) => Number(id))).toEqual(updates.map((_, index) => index))
  const task = await getTask(server.agent(), updates[0]!.task!.id)
  expect(assembled(updates)).toEqual(texts(task))
})

test('A2A: text is sent in pieces and none is repeated: `append` on all but the first, `lastChunk` on the last', async () => {
  const server = await serveA2a()
  const updates = await drained(stream(server.agent(), 'text 4'))
  const chunks = updates.flatMap(({ artifactUpdate }) => (artifactUpdate === undefined ? [] : [artifactUpdate]))
  expect(chunks.map(({ append = false, lastChunk = false }) => [append, lastChunk])).toEqual([
    [false, false],
    [true, false],
    [true, false],
    [true, false],
    [true, true],
  ])
  expect(chunks[1]!.artifact.parts[0]!.text).toMatch(/^\[1\]/)
})

test('[O-9] A2A: a task that ends before its stream reads the log is sent whole, though every hint was lost', async () => {
  const store = createMemoryStore()
  const isOver = Promise.withResolvers<void>()
  let reads = 0
  // The worker reads the input once; later readers wait until the task has ended.
  const slow = overriding(store, {
    watch: () => () => {},
    read: async (...parameters) => {
      if (reads++ > 0) await isOver.promise
      return store.read(...parameters)
    },
  })
  const server = await serveA2a({ store: slow })
  const opened = stream(server.agent(), 'text 3')
  await until('the task has ended', async () => (await store.list({ limit: 1 })).runs[0]?.run.status === 'completed')
  expect(opened.frames.map(String).join('')).not.toContain('data:')
  isOver.resolve()
  const updates = await drained(opened)
  expect(states(updates)).toEqual(['SUBMITTED', 'WORKING', 'COMPLETED'])
  expect(assembled(updates)).toEqual(texts(await getTask(server.agent(), updates[0]!.task!.id)))
})

describe('[O-10] [O-13] A2A: an agent that fails in the background ends the stream as failed, by the same path as any other state', () => {
  const failures: Readonly<Record<string, Component['run']>> = {
    'throws before it has begun': () => {
      throw new TypeError('boom')
    },
    'is not a stream': () => 'boom' as never,
    'throws what is not an error': async function* () {
      yield 'a'
      throw 'boom'
    },
    'throws while it is being closed': async function* () {
      try {
        yield 'a'
        throw new Error('boom')
      } finally {
        // oxlint-disable-next-line no-unsafe-finally -- what agents do in `finally` can fail too
        throw new Error('boom again')
      }
    },
    'yields what cannot be written down': async function* () {
      yield createEvent('custom.emitted', { name: 'boom', value: () => {} })
    },
    'leaves a call behind that fails': async function* (_, { step }) {
      const left = step('left', () => Promise.reject(new Error('boom')))
      yield 'a'
      await left
    },
  }
  test.each(Object.keys(failures))('an agent that %s ends the stream as failed', async (how) => {
    const failing = agent<unknown>({ id: 'failing', run: failures[how]! as never })
    const server = await serveA2a({ components: [failing] })
    const opened = stream(server.agent('failing'), 'go')
    const updates = await drained(opened)
    expect(states(updates).at(-1)).toBe('FAILED')
    expect(await opened.ended).toBe('closed')
    const { status } = await getTask(server.agent('failing'), updates[0]!.task!.id)
    expect(status).toEqual(updates.at(-1)!.statusUpdate!.status)
    expect(JSON.stringify(status.message)).toMatch(/boom|iterable|data\.value is a function/)
  })
})

test('[O-11] A2A: a subscriber that reads nothing delays neither other subscribers nor those that connect or disconnect [SUB-1]', async () => {
  const more = Promise.withResolvers<void>()
  const writer = agent<unknown>({
    id: 'writer',
    async *run() {
      for (let piece = 0; piece < 48; piece++) yield 'x'.repeat(256 * 1024)
      await more.promise
      yield 'end'
    },
  })
  // Without polls, a subscriber that a stalled one keeps from getting hints waits forever.
  const server = await serveA2a({ components: [writer], limits: { pollIntervalMs: 24 * 3600 * 1000 } })
  const { id } = await begin(server.agent('writer'), 'go')
  const stalled = subscribe(server.agent('writer'), id, { stalled: true })
  await stalled.answered
  const reader = subscribe(server.agent('writer'), id)
  await until('the reader has all pieces, more than the socket of the stalled subscriber takes', () => {
    return reader.frames.reduce((bytes, frame) => bytes + frame.length, 0) > 48 * 256 * 1024
  })
  const leaver = subscribe(server.agent('writer'), id, { cutAfter: 1 })
  expect(await leaver.ended).toBe('cut')
  const latecomer = subscribe(server.agent('writer'), id)
  await until('the latecomer has the task', () => seen(latecomer).length > 0)
  more.resolve()
  for (const opened of [reader, latecomer]) expect(states(await drained(opened)).at(-1)).toBe('COMPLETED')
  expect(assembled(seen(reader))['answer']).toMatch(/xend$/)
  stalled.cut()
})

describe('[O-12] A2A: every state has one rule for streams', () => {
  test.each([
    ['text 1', 'COMPLETED', true],
    ['throw x', 'FAILED', true],
    ['reject x', 'REJECTED', true],
    ['ask x', 'INPUT_REQUIRED', false],
  ])(
    '%s ends the stream as %s, in both versions, and the following request succeeds',
    async (script, state, isTerminal) => {
      const server = await serveA2a()
      const opened = stream(server.agent(), script)
      const updates = await drained(opened)
      expect(states(updates).at(-1)).toBe(state)
      expect(await opened.ended).toBe('closed')
      const parts = [{ kind: 'text', text: script }]
      const sent = { ...messageOf(script), kind: 'message', role: 'user', parts }
      const legacy = openStream(
        server.agent(),
        'message/stream',
        { message: sent },
        { headers: { 'a2a-version': '0.3' } },
      )
      const finals = (await drained(legacy)).map((update) => (update as { final?: boolean }).final ?? false)
      expect(finals).toEqual([...finals.slice(1).map(() => false), isTerminal])
      const { id } = updates[0]!.task!
      const again = subscribe(server.agent(), id)
      const type = (await again.answered)!.headers['content-type']
      expect(type).toMatch(isTerminal ? /^application\/json/ : /^text\/event-stream/)
      again.cut()
      const { error } = await rpc(server.agent(), 'SendMessage', { message: messageOf('more', { taskId: id }) })
      expect(error === undefined).toBe(!isTerminal)
    },
  )

  test.each<[Event, string]>([
    [{ type: 'run.completed', data: {} }, 'TASK_STATE_COMPLETED'],
    [{ type: 'run.failed', data: { error: { code: 'x', message: 'x' } } }, 'TASK_STATE_FAILED'],
    [{ type: 'run.cancelled', data: {} }, 'TASK_STATE_CANCELED'],
    [{ type: 'run.rejected', data: { reason: 'x' } }, 'TASK_STATE_REJECTED'],
  ])('the event of $type ends a stream by the table, not because the log ends', (event, state) => {
    const run: Run = { ...newRun('run_1', new Date(0).toISOString()).run, status: 'running' }
    const logged = { ...event, run: run.id, index: 2, time: run.createdAt }
    const { frames } = taskProjection.apply(beginTask(run), logged)
    const ends = frames.map(({ update, last }) => ['statusUpdate' in update && update.statusUpdate.status.state, last])
    expect(ends.at(-1)).toEqual([state, true])
  })

  test('a task that waits for credentials keeps its stream and continues on it', async () => {
    const server = await serveA2a()
    const opened = stream(server.agent('notary'), 'go')
    const { id } = await until(
      'it waits',
      () => states(seen(opened)).at(-1) === 'AUTH_REQUIRED' && seen(opened)[0]!.task,
    )
    await send(server.agent('notary'), 'ada', { taskId: id })
    expect(states(await drained(opened))).toEqual(['SUBMITTED', 'WORKING', 'AUTH_REQUIRED', 'WORKING', 'COMPLETED'])
  })

  test('a cancel ends the streams of all subscribers', async () => {
    const server = await serveA2a()
    const opened = stream(server.agent(), 'text 1; hang')
    const first = await until('it is there', () => seen(opened)[2] && seen(opened)[0]!.task)
    await result(server.agent(), 'CancelTask', { id: first.id })
    expect(states(await drained(opened)).at(-1)).toBe('CANCELED')
  })
})

test('[O-17] A2A: each event is sent once, encoded once, in camel case, with names for its enums', async () => {
  const server = await serveA2a()
  const { stringify } = JSON
  const encoded: string[] = []
  vi.spyOn(JSON, 'stringify').mockImplementation(((...parameters: Parameters<typeof stringify>) => {
    const text = stringify(...parameters)
    encoded.push(text)
    return text
  }) as typeof stringify)
  onTestFinished(() => void vi.restoreAllMocks())
  const opened = stream(server.agent(), 'text 20; artifact file 1')
  const updates = await drained(opened)
  vi.restoreAllMocks()
  // Once for the log, and at most once for the wire: most frames copy the JSON of the log.
  for (let piece = 0; piece < 20; piece++)
    expect([1, 2]).toContain(encoded.filter((text) => text?.includes(`[${piece}]`)).length)
  const wire = Buffer.concat(opened.frames).toString()
  expect(wire).not.toMatch(/"[a-z]+_[a-z_]+":/)
  for (const state of wire.match(/"state":"[^"]*"/g)!) expect(state).toMatch(/"TASK_STATE_[A-Z_]+"/)
  // Every event has its number, and every piece of text is in one of them.
  expect(updates.map(({ id }) => Number(id))).toEqual(updates.map((_, index) => index))
  for (let piece = 0; piece < 20; piece++) expect(wire.split(`[${piece}]`)).toHaveLength(2)
  // JSON within a string of JSON would have been encoded twice.
  expect(wire).not.toMatch(/\\"|\\\\/)
  const lines = wire.split('\n').filter((line) => line.startsWith('data: '))
  for (const line of lines) expect(line).toBe(`data: ${JSON.stringify(JSON.parse(line.slice('data: '.length)))}`)
  expect(lines).toHaveLength(updates.length)
})

describe('A2A: a subscription', () => {
  test('begins with the current task and continues with new events, with no loss or duplicates [LOG-5]', async () => {
    const server = await serveA2a()
    const { id } = await begin(server.agent(), 'text 300 every 1')
    const subscribers = []
    for (let at = 0; at < 8; at++) {
      const subscriber = subscribe(server.agent(), id)
      subscribers.push(subscriber)
      await until('the subscriber was told of more than the task', () => seen(subscriber).length > 3)
    }
    const whole = texts(await settled(server.agent(), id))
    for (const subscriber of subscribers) {
      const updates = await drained(subscriber)
      expect(updates[0]!.task?.id).toBe(id)
      expect(assembled(updates)).toEqual(whole)
    }
  })

  test('misses and repeats nothing on a slow store', async () => {
    const store = createMemoryStore()
    // The slowness is the fault, and of any length.
    const slow = overriding(store, {
      get: async (id) => (await wait(15), store.get(id)),
      read: async (id, after, maxBytes) => (await wait(15), store.read(id, after, maxBytes)),
    })
    const { gated, open } = gatedAgent()
    const server = await serveA2a({ store: slow, components: [gated] })
    const { id } = await begin(server.agent('gated'), 'go')
    const subscribers = Array.from({ length: 5 }, () => subscribe(server.agent('gated'), id))
    await Promise.all(subscribers.map(({ answered }) => answered))
    // A snapshot read terminates although the task emits faster than the store reads.
    expect((await getTask(server.agent('gated'), id)).status.state).toBe('TASK_STATE_WORKING')
    open()
    const whole = texts(await settled(server.agent('gated'), id))
    for (const subscriber of subscribers) expect(assembled(await drained(subscriber))).toEqual(whole)
  })

  test('a subscription to a waiting task stays open and gets the answer', async () => {
    const server = await serveA2a()
    const { id } = await send(server.agent(), 'ask Go?; text 1')
    const opened = subscribe(server.agent(), id)
    await until('it is open', () => seen(opened)[0])
    await send(server.agent(), 'yes', { taskId: id })
    expect(states(await drained(opened))).toEqual(['INPUT_REQUIRED', 'WORKING', 'COMPLETED'])
  })

  test('a subscription to a finished or unknown task is rejected before the stream starts', async () => {
    const server = await serveA2a()
    const { id } = await send(server.agent(), 'text 1')
    expect((await rpc(server.agent(), 'SubscribeToTask', { id })).error?.code).toBe(-32004)
    expect((await rpc(server.agent(), 'SubscribeToTask', { id: 'nope' })).error?.code).toBe(-32001)
  })

  test('a thousand subscribers at once all get the same updates', async () => {
    const { gated, open } = gatedAgent(200)
    const server = await serveA2a({ components: [gated] })
    const { id } = await begin(server.agent('gated'), 'go')
    const subscribers = Array.from({ length: 1000 }, () => subscribe(server.agent('gated'), id))
    await Promise.all(subscribers.map(({ answered }) => answered))
    open()
    const seenByEach = await Promise.all(subscribers.map(drained))
    const whole = texts(await getTask(server.agent('gated'), id))
    expect(seenByEach.filter((updates) => JSON.stringify(assembled(updates)) === JSON.stringify(whole))).toHaveLength(
      1000,
    )
  })
})

test('A2A: retracted text is replaced: the rest is sent again, without `append`', async () => {
  const store = createMemoryStore()
  let attempts = 0
  const fickle = agent<unknown>({
    id: 'fickle',
    async *run(_input, context) {
      yield 'kept '
      for (let tries = 0; tries < 2; tries++) {
        try {
          await context.stage('draft', async function* () {
            yield `draft ${++attempts}`
            if (attempts === 1) throw new Error('again')
          })
          break
        } catch {
          // Its draft is retracted.
        }
      }
    },
  })
  const server = await serveA2a({ store, components: [fickle] })
  const updates = await drained(stream(server.agent('fickle'), 'go'))
  expect(assembled(updates)).toEqual({ answer: 'kept draft 2' })
  expect(texts(await getTask(server.agent('fickle'), updates[0]!.task!.id))).toEqual({ answer: 'kept draft 2' })
})

test('A2A: the text of each team member is an artifact of its own', async () => {
  const server = await serveA2a()
  const updates = await drained(stream(server.agent('lab-team'), 'text 2'))
  const output = updates.find(({ artifactUpdate }) => artifactUpdate?.artifact.parts[0]?.text?.startsWith('[0]'))
  expect(output?.artifactUpdate?.artifact).toMatchObject({
    metadata: { actor: { component: expect.any(String) as string } },
  })
  expect(assembled(updates)).toEqual(texts(await getTask(server.agent('lab-team'), updates[0]!.task!.id)))
})

test('A2A: the bytes of a stream grow in proportion to its events', async () => {
  const server = await serveA2a()
  const short = stream(server.agent(), 'text 1000')
  const long = stream(server.agent(), 'text 10000')
  await Promise.all([short.ended, long.ended])
  const bytesOf = (opened: typeof short): number => Buffer.concat(opened.frames).length
  // Ten times the events, ten times the bytes: nothing is sent with each event that grows with those before it.
  expect(bytesOf(long) / bytesOf(short)).toBeLessThan(11)
  expect(seen(long)).toHaveLength(10_004)
  expect(assembled(seen(long))).toEqual(texts(await getTask(server.agent(), seen(long)[0]!.task!.id)))
})

test('A2A: a reader that disconnects at the last event affects no other, and the task has ended', async () => {
  const server = await serveA2a()
  const opened = stream(server.agent(), 'text 1', {}, { cutAfter: 5 })
  expect(await opened.ended).toBe('cut')
  expect(states(seen(opened)).at(-1)).toBe('COMPLETED')
  expect((await send(server.agent(), 'text 1')).status.state).toBe('TASK_STATE_COMPLETED')
})

test('A2A: a store that fails briefly while a task works: the task ends, and every delivered event is in it [LOG-2]', async () => {
  const store = createMemoryStore()
  let failures = 1
  const failing = overriding(store, {
    writer: (id, claim) => {
      const writer = store.writer(id, claim)
      const flush = async (): Promise<void> => {
        if (writer.next > 10 && failures-- > 0) throw new Error('the disk is full')
        await writer.flush()
      }
      return new Proxy(writer, {
        get(target, key) {
          const value: unknown = key === 'flush' ? flush : Reflect.get(target, key, target)
          return typeof value === 'function' ? value.bind(target) : value
        },
      })
    },
  })
  const server = await serveA2a({ store: failing, limits: { leaseMs: 500, pollIntervalMs: 50 } })
  const updates = await drained(stream(server.agent('lab-resume'), 'text 40 every 2'))
  expect(states(updates).at(-1)).toMatch(/COMPLETED|FAILED/)
  const task = await getTask(server.agent('lab-resume'), updates[0]!.task!.id)
  expect(assembled(updates)).toEqual(texts(task))
  expect(failures).toBeLessThan(1)
})

test('A2A: a server that is killed while a task works: another process resumes it, and a subscriber loses nothing [RUN-1]', async () => {
  const path = temporaryDatabase()
  const first = await startServer({ store: path })
  const { id } = await begin(`${first.url}/a2a/lab-resume`, 'text 400 every 5')
  const before = subscribe(`${first.url}/a2a/lab-resume`, id)
  await until('some of it was seen', () => seen(before).length > 20)
  await first.kill()
  expect(await before.ended).toBe('broken')
  const second = await startServer({ store: path })
  const updates = await drained(subscribe(`${second.url}/a2a/lab-resume`, id))
  expect(states(updates).at(-1)).toBe('COMPLETED')
  const whole = texts(await getTask(`${second.url}/a2a/lab-resume`, id))
  expect(assembled(updates)).toEqual(whole)
  expect(whole['answer']!.startsWith(assembled(seen(before))['answer']!)).toBe(true)
  await second.kill()
})

test('A2A: an unserializable value fails the task with a stored error, and the task can be read [EVT-1]', async () => {
  const server = await serveA2a()
  const opened = stream(server.agent(), 'text 2; circular; text 2')
  const updates = await drained(opened)
  expect(await opened.ended).toBe('closed')
  expect(states(updates)).toEqual(['SUBMITTED', 'WORKING', 'FAILED'])
  const task = await getTask(server.agent(), updates[0]!.task!.id)
  expect(task.status).toEqual(updates.at(-1)!.statusUpdate!.status)
  expect(texts(task)).toEqual(assembled(updates))
})

test('A2A: the task is sent once, first, whatever an agent emits about itself', async () => {
  const custom = (name: string, value: unknown) => ({ type: 'custom.emitted', data: { name, value } }) as const
  const insistent = agent<unknown>({
    id: 'insistent',
    async *run() {
      yield custom('a2a.status', 'looking')
      yield custom('a2a.task', { id: 'another', status: { state: 'TASK_STATE_SUBMITTED' } })
      yield 'half '
      yield custom('a2a.message', 'too late to be all')
      yield custom('a2a.status', 'still looking')
      yield 'whole'
    },
  })
  const server = await serveA2a({ components: [insistent] })
  const updates = await drained(stream(server.agent('insistent'), 'go'))
  expect(updates.map(({ task, message }) => task !== undefined || message !== undefined)).toEqual([
    true,
    ...updates.slice(1).map(() => false),
  ])
  expect(states(updates).at(-1)).toBe('COMPLETED')
  expect(assembled(updates)).toEqual(texts(await getTask(server.agent('insistent'), updates[0]!.task!.id)))
  expect(assembled(updates)).toEqual({ answer: 'half whole' })
})

test('A2A: a stalled reader uses no more memory than its socket buffers, and then gets the whole output [SUB-1]', async () => {
  // It stalls for as long as the task takes, which on a busy machine is more than the default timeout.
  const server = await serveA2a({ store: 'sqlite', limits: { subscriberStallTimeoutMs: 600_000 } })
  const url = server.agent()
  const large = `${'big 512; '.repeat(2 * MEGABYTES)}text 1`
  const ended = (count: number): Promise<unknown> =>
    until(
      `${count} tasks have completed`,
      async () => {
        const { tasks } = await result<{ tasks: Task[] }>(url, 'ListTasks', {})
        return tasks.length === count && tasks.every(({ status }) => status.state === 'TASK_STATE_COMPLETED')
      },
      { withinMs: 120_000 },
    )
  // Loads the code and fills the caches that every run fills.
  await begin(url, large)
  await ended(1)
  const before = await heldMegabytes()
  const stalled = stream(url, large, {}, { stalled: true })
  await stalled.answered
  await ended(2)
  expect((await heldMegabytes()) - before, 'MB held for the stalled reader').toBeLessThan(MEGABYTES / 2)
  await stalled.read()
  const [whole = ''] = Object.values(assembled(await drained(stalled)))
  expect(whole.length).toBeGreaterThan(MEGABYTES * 1024 * 1024)
}, 300_000)

test('A2A: a stream that the server closes ends with an error, since a plain end would mean the end of the task [SUB-3]', async () => {
  const server = await serveA2a({ limits: { drainTimeoutMs: 0 } })
  const opened = stream(server.agent('lab-resume'), 'text 1; hang')
  await until('it is open', () => seen(opened)[2])
  await server.close()
  const last: SeenUpdate = (await drained(opened)).at(-1)!
  expect(last.error).toMatchObject({ code: -32603, message: expect.stringContaining('subscribe again') as string })
})

/** Much more than the buffers between the two hold. */
const MEGABYTES = 64

/** Repeats a word until it is released, and ends. */
function gatedAgent(everyMs = 10) {
  const gate = Promise.withResolvers<void>()
  const gated = agent<unknown>({
    id: 'gated',
    async *run() {
      let isOpen = false
      void gate.promise.then(() => (isOpen = true))
      for (let count = 0; count < 20_000 && !isOpen; count++) {
        yield `${count} `
        await wait(everyMs) // its pace, so that it does not fill the log while it waits
      }
      for (let count = 0; count < 20; count++) yield 'after '
    },
  })
  return { gated, open: () => gate.resolve() }
}

/** The task when it has ended. */
function settled(url: string, id: string) {
  return until('the task has ended', async () => {
    const task = await getTask(url, id)
    return task.status.state === 'TASK_STATE_COMPLETED' && task
  })
}
