/** Rows 1 to 3 of the matrix: our server with the official clients of 1.0 and 0.3, and with ours, over each binding, every scenario. */
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import type { A2aOptions } from '../../../src/protocols/a2a/index.ts'
import { agent } from '../../../src/agents/agent.ts'
import type { Server } from '../../../src/server/create-server.ts'
import { createMemoryStore } from '../../../src/stores/memory.ts'
import { type InProcessOptions, openInProcess, serveInProcess } from '../../support/in-process.ts'
import { temporarySuiteFolder } from '../../support/temporary.ts'
import { until } from '../../support/until.ts'
import { receive } from '../../protocols/a2a/receiver.ts'
import { parrot } from '../../protocols/a2a/serve.ts'
import {
  all,
  type Caller,
  type CallerOptions,
  callers,
  forgetsAppend,
  put,
  type SeenEvent,
  type SeenTask,
  type Transport,
} from './callers.ts'

const LONG = 'é漢🙂 '.repeat(110_000)

/** Behaves as its message requests. `released` lets the waiting run continue. */
function subject(released: () => Promise<void>) {
  return agent<unknown>({
    id: 'subject',
    recovery: 'resume',
    async *run(input, context) {
      const text = String(input)
      if (text === 'fail') throw new Error('no luck')
      if (text === 'reject') return context.reject('not for me')
      if (text === 'value')
        yield {
          type: 'artifact.added',
          data: { artifact: 'facts', mediaType: 'application/json', value: { found: [1, null] } },
        }
      if (text === 'long') yield LONG
      if (text === 'ask') yield `You said ${String(await context.ask({ prompt: 'Which one?' }))}`
      if (text === 'auth')
        yield `signed by ${String(await context.ask({ prompt: 'Sign in', details: { a2a: { state: 'auth-required' } } }))}`
      if (text === 'endless') {
        yield 'begun'
        await new Promise((_resolve, reject) =>
          context.signal.addEventListener('abort', () => reject(new Error('stopped'))),
        )
      }
      if (!text.startsWith('count')) return
      yield 'one '
      if (text === 'count slowly') await released()
      yield 'two '
      yield 'three'
    },
  })
}

const cells = Object.keys(callers).flatMap((name) =>
  (['JSONRPC', 'HTTP+JSON', 'GRPC'] as const).map((transport) => [name, transport] as const),
)

function taskOf(event: SeenEvent): SeenTask {
  if ('task' in event) return event.task
  throw new Error(`no task: ${JSON.stringify(event)}`)
}

const stateOf = (event: SeenEvent | undefined): string | undefined =>
  event !== undefined && 'state' in event
    ? event.state
    : event !== undefined && 'task' in event
      ? event.task.state
      : undefined

describe.each(cells)('%s over %s', (name, transport: Transport) => {
  const isOlder = name.endsWith('0.3')
  const textOfUpdates = (events: readonly SeenEvent[]): string[] =>
    Object.values(put(events, forgetsAppend(name, transport)))

  interface Opened {
    readonly caller: Caller
    readonly again: (how?: Partial<CallerOptions>) => Promise<Caller>
    readonly release: () => void
    readonly stop: () => Promise<void>
  }

  /** Most tests of a cell share a server. Their runs do not meet, except in lists. */
  let shared: Promise<Server> | undefined
  const path = join(temporarySuiteFolder(), 'runs.db')
  afterAll(async () => (await shared)?.close())
  /** Holds the runs of the current test. */
  let gate = Promise.withResolvers<void>()

  const options = (component: string, a2a: A2aOptions): InProcessOptions => ({
    components: [subject(() => gate.promise), parrot],
    a2a: {
      // gRPC of 0.3 reaches no other agent.
      defaultComponent: component,
      push: { loopback: true, limits: { pollIntervalMs: 20 } },
      agents: { parrot: { answersDirectly: true } },
      ...(transport === 'GRPC' && { grpcPort: 0 }),
      ...a2a,
    },
  })

  async function callersOf(server: Server, component: string): Promise<Opened> {
    const { resolve } = (gate = Promise.withResolvers<void>())
    const again: Opened['again'] = (how = {}) =>
      callers[name]!({ url: `${server.url}/a2a/${component}`, transport, ...how })
    return { caller: await again(), again, release: resolve, stop: () => server.close() }
  }

  async function open(): Promise<Opened> {
    return callersOf(await (shared ??= openInProcess({ ...options('subject', {}), path })), 'subject')
  }

  /** A server for this test alone. */
  async function openOwn(component = 'subject', a2a: A2aOptions = {}, key?: string): Promise<Opened> {
    const guarded = key === undefined ? {} : { auth: { securityKey: key } }
    return callersOf(
      await serveInProcess({ ...options(component, a2a), ...guarded, store: createMemoryStore() }),
      component,
    )
  }

  test('sends, waits, and gets the whole task', async () => {
    const { caller } = await open()
    const task = taskOf(await caller.send('count'))
    expect([task.state, task.texts]).toEqual(['completed', ['one two three']])
  })

  test('sends without waiting, and polls the task', async () => {
    const { caller, release } = await open()
    const { id, state } = taskOf(await caller.send('count slowly', { wait: false }))
    expect(['submitted', 'working']).toContain(state)
    release()
    await until('it is done', async () => (await caller.get(id)).state === 'completed')
  })

  test('streams a task from start to end, and it adds up to the stored task', async () => {
    const { caller } = await open()
    const events = await all(caller.stream('count'))
    const { id } = taskOf(events[0]!)
    expect(stateOf(events.at(-1))).toBe('completed')
    expect(textOfUpdates(events)).toEqual((await caller.get(id)).texts)
    const isMarkedFinal = name === 'row 3: the official client of 0.3'
    expect(events.at(-1)).toMatchObject(isMarkedFinal ? { final: true } : {})
  })

  test('gets an answer that is only a message', async () => {
    const { caller } = await openOwn('parrot')
    expect(await caller.send('hello')).toEqual({ message: 'hello' })
    expect(await all(caller.stream('hello'))).toEqual([{ message: 'hello' }])
  })

  test('is asked for input, and the same task continues', async () => {
    const { caller } = await open()
    const events = await all(caller.stream('ask'))
    expect(events.at(-1)).toMatchObject({ state: 'input-required', note: 'Which one?' })
    const { id, context } = taskOf(events[0]!)
    const rest = await all(caller.stream('the blue one', { task: id, context }))
    expect(stateOf(rest.at(-1))).toBe('completed')
    const done = await caller.get(id)
    expect(done.texts).toEqual(['You said the blue one'])
    expect(done.history.join('\n')).toContain('the blue one')
  })

  test('waits on an open stream for a credential from elsewhere', async () => {
    const { caller } = await open()
    const seen: SeenEvent[] = []
    const waiting = all(caller.stream('auth'), seen)
    await until('it waits', () => seen.some((event) => stateOf(event) === 'auth-required'))
    await caller.send('ada', { task: taskOf(seen[0]!).id })
    await waiting
    expect(stateOf(seen.at(-1))).toBe('completed')
    expect(textOfUpdates(seen)).toEqual(['signed by ada'])
  })

  test('cancels a running task, twice, and not a finished one', async () => {
    const { caller } = await open()
    const { id } = taskOf(await caller.send('endless', { wait: false }))
    expect((await caller.cancel(id)).state).toBe('canceled')
    expect((await caller.cancel(id)).state).toBe('canceled')
    const done = taskOf(await caller.send('count'))
    await expect(caller.cancel(done.id)).rejects.toThrow(/./)
    expect((await caller.get(done.id)).state).toBe('completed')
  })

  test.each([
    ['fail', 'failed', 'no luck'],
    ['reject', 'rejected', 'not for me'],
  ])('gets the outcome of a task that does not complete: %s', async (text, state, note) => {
    const { caller } = await open()
    const events = await all(caller.stream(text))
    expect(events.at(-1)).toMatchObject({ state, note })
    expect(taskOf(await caller.send(text))).toMatchObject({ state, note })
  })

  test('subscribes twice midway, and both get the same in the same order to the end', async () => {
    const { caller, again, release } = await open()
    const { id } = taskOf(await caller.send('count slowly', { wait: false }))
    await until('it has begun', async () => (await caller.get(id)).texts[0] === 'one ')
    const seen: SeenEvent[][] = [[], []]
    const both = seen.map(async (into) => all((await again()).subscribe(id), into))
    await until('both have the task', () => seen.every(({ length }) => length > 0))
    release()
    await Promise.all(both)
    for (const events of seen) {
      const start = taskOf(events[0]!).texts.join('')
      expect(start + events.map((event) => ('artifact' in event ? event.text : '')).join('')).toBe('one two three')
    }
    expect(seen[0]!.slice(1)).toEqual(seen[1]!.slice(1))
  })

  test('leaves a stream, and finds the task finished', async () => {
    const { caller, release } = await open()
    let id = ''
    for await (const event of caller.stream('count slowly')) {
      if ('task' in event) id = event.task.id
      if ('artifact' in event) break
    }
    release()
    await until('it is done', async () => (await caller.get(id)).state === 'completed')
    expect((await caller.get(id)).texts).toEqual(['one two three'])
  })

  test('leaves a stream, and subscribes again', async () => {
    const { caller, again, release } = await open()
    let id = ''
    for await (const event of caller.stream('count slowly')) {
      if ('task' in event) id = event.task.id
      if ('artifact' in event) break
    }
    const seen: SeenEvent[] = []
    const rest = all((await again()).subscribe(id), seen)
    await until('it has the task', () => seen.length > 0)
    release()
    await rest
    const start = taskOf(seen[0]!).texts.join('')
    expect(start + seen.map((event) => ('artifact' in event ? event.text : '')).join('')).toBe('one two three')
    expect(stateOf(seen.at(-1))).toBe('completed')
  })

  test('[SUB-3] gets an error when the server ends a stream, not an end', async () => {
    const { caller, stop } = await openOwn()
    const seen: SeenEvent[] = []
    const ended = all(caller.stream('endless'), seen).then(
      () => 'as if it were done',
      () => 'with an error',
    )
    await until('it has begun', () => seen.some((event) => 'artifact' in event))
    await stop()
    expect(await ended).toBe('with an error')
    expect(stateOf(seen.findLast((event) => stateOf(event) !== undefined))).toBe('working')
  })

  test('gets an error when it subscribes to a finished task', async () => {
    const { caller } = await open()
    const { id } = taskOf(await caller.send('count'))
    const end = await all(caller.subscribe(id)).then(
      (events) => stateOf(events.at(-1)),
      (cause: unknown) => (cause as Error).message,
    )
    expect(end).toMatch(/ended|terminal|finished|completed|subscribe/i)
  })

  test('gets an error for an unknown task, and for a context that is not the task’s', async () => {
    const { caller } = await open()
    await expect(caller.get('nowhere')).rejects.toThrow(/nowhere|not found/i)
    await expect(all(caller.subscribe('nowhere'))).rejects.toThrow(/nowhere|not found/i)
    const { id } = taskOf(await caller.send('ask'))
    await expect(caller.send('x', { task: id, context: 'another' })).rejects.toThrow(/context/i)
    expect((await caller.get(id)).state).toBe('input-required')
  })

  test('gets the requested length of history', async () => {
    const { caller } = await open()
    const { id } = taskOf(await caller.send('count'))
    expect((await caller.get(id)).history).toEqual(['count'])
    expect((await caller.get(id, 1)).history).toEqual(['count'])
    // 0.3 as protocol buffers cannot distinguish "none" from "no limit".
    expect((await caller.get(id, isOlder ? 1 : 0)).history).toEqual(isOlder ? ['count'] : [])
  })

  test('receives data, and more than a megabyte of text, unchanged', async () => {
    const { caller } = await open()
    // The gRPC client of 0.3 takes a null for a number.
    const none = name.startsWith('row 3') && transport === 'GRPC' ? 0 : null
    expect(taskOf(await caller.send('value')).values).toEqual([{ found: [1, none] }])
    expect(textOfUpdates(await all(caller.stream('long')))).toEqual([LONG])
  })

  test('[RUN-4] gets the same task for a message that is sent again, on a server that deduplicates them', async () => {
    const { caller } = await openOwn('subject', { deduplicateMessages: 'always' })
    const [first, second] = [
      await caller.send('count', { message: 'm-1' }),
      await caller.send('count', { message: 'm-1' }),
    ]
    expect(taskOf(second).id).toBe(taskOf(first).id)
  })

  // 0.3 has no list of tasks: there is nothing to skip.
  test.each(isOlder ? [] : ['1.0'])('lists tasks page by page in %s', async () => {
    const { caller } = await openOwn()
    for (let count = 0; count < 3; count++) await caller.send('count')
    const first = await caller.list!(2, '')
    const rest = await caller.list!(2, first.next)
    expect([first.ids.length, rest.ids.length, rest.next, first.total]).toEqual([2, 1, '', 3])
    expect(new Set([...first.ids, ...rest.ids]).size).toBe(3)
  })

  test('gets pushes with the configured credential', async () => {
    const { caller } = await open()
    const receiver = await receive()
    const { id, context } = taskOf(await caller.send('ask'))
    await caller.push(id, receiver.url, 'secret')
    await caller.send('the blue one', { task: id, context })
    await until('the end is told', () => JSON.stringify(receiver.taken.at(-1)?.body ?? '').match(/completed/i) !== null)
    for (const { headers } of receiver.taken) expect(headers.authorization).toBe('Bearer secret')
  })

  test('gets the extended card when authenticated', async () => {
    const key = 'a-key-that-is-long-enough'
    const { caller, again } = await openOwn('subject', {}, key)
    await expect(caller.send('count')).rejects.toThrow(/./)
    const known = await again({ key })
    expect(await known.extendedTags()).toContain('recovery:resume')
    expect(taskOf(await known.send('count')).state).toBe('completed')
  })

  test('must activate an extension that the agent requires', async () => {
    const uri = 'https://example.com/extensions/needed'
    const { caller, again } = await openOwn('subject', {
      agents: { subject: { extensions: [{ uri, required: true }] } },
    })
    await expect(caller.send('count')).rejects.toThrow(/extension/i)
    expect(taskOf(await (await again({ extension: uri })).send('count')).state).toBe('completed')
  })
})
