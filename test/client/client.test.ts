import { join } from 'node:path'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { agent } from '../../src/agents/agent.ts'
import { eventTable } from '../../src/core/model/event.ts'
import { ApiError, ConnectionError, createClient, RunError, type RunInfo } from '../../src/client/index.ts'
import { isTerminalEvent } from '../../src/core/structure/run-status.ts'
import type { ComponentInfo, SessionInfo } from '../../src/client/types.ts'
import type { ComponentShape, RunShape, SessionShape } from '../../src/protocols/native/wire/shapes.ts'
import { eventsIn, readLog, untilStatus } from '../support/http.ts'
import { createKeys } from '../support/keys.ts'
import { temporaryFolder } from '../support/temporary.ts'
import { until } from '../support/until.ts'
import { serveNative } from '../protocols/native/serve.ts'
import { collect } from './collect.ts'

/** Emits a text, retracts it, and emits a better one. */
const flaky = agent<unknown>({
  id: 'flaky',
  async *run(_input, { stage }) {
    yield 'kept; '
    for (const answer of ['bad', 'good']) {
      const output = stage(answer, async function* () {
        yield answer
        if (answer === 'bad') throw new Error('no')
      })
      await output.catch(() => {})
    }
  },
})

describe('client', () => {
  test('client.components lists components', async () => {
    const { url } = await serveNative()
    const components = await createClient({ url }).components.list()
    expect(components.find(({ id }) => id === 'lab')).toMatchObject({
      kind: 'agent',
      recovery: 'fail',
      inputSchema: { type: 'string' },
    })
  })

  test('has types for everything in the native protocol', () => {
    expectTypeOf<keyof RunInfo>().toEqualTypeOf<keyof RunShape>()
    expectTypeOf<keyof ComponentInfo>().toEqualTypeOf<keyof ComponentShape>()
    expectTypeOf<keyof SessionInfo>().toEqualTypeOf<keyof SessionShape>()
  })

  test('delivers every event to each of several loops over one handle', async () => {
    const server = await serveNative()
    const run = await createClient({ url: server.url }).runs.start({ component: 'lab', input: 'text 200 every 1' })
    const early = [collect(run.events()), collect(run.text())] as const
    const [before, text] = [await early[0], await early[1]]
    expect(before).toEqual(eventsIn(await readLog(server, run.id)))
    expect(text).toHaveLength(200)
  })

  test('starts a later loop where the last finished loop ended, whatever other loops do', async () => {
    const server = await serveNative()
    const run = await createClient({ url: server.url }).runs.start({
      component: 'lab',
      input: 'text 20; ask ok?; text 3',
    })
    const whole = collect(run.events())
    for await (const event of run.events()) if (event.index === 5) break
    for await (const event of run.events()) {
      expect(event.index).toBe(6)
      break
    }
    await untilStatus(server, run.id, ['paused'])
    await run.answer({ answer: 'yes' })
    expect(await whole).toEqual(eventsIn(await readLog(server, run.id)))
  })

  test('starts a run, follows it, and returns its result', async () => {
    const server = await serveNative()
    const run = await createClient({ url: `${server.url}/` }).runs.start({
      component: 'echo',
      input: { a: 1 },
      session: 's',
    })
    const events = await collect(run.events())
    expect(events).toEqual(eventsIn(await readLog(server, run.id)))
    expect(run.cursor).toBe(events.length - 1)
    expect(await run.result()).toEqual({ input: { a: 1 }, session: 's', metadata: {} })
  })

  test('gets runs and lists them by session and status, in pages', async () => {
    const client = createClient(await serveNative())
    const ids: string[] = []
    for (const session of ['one', 'one', 'two']) {
      const run = await client.runs.start({ component: 'lab', input: 'text 1', session })
      await run.result()
      ids.unshift(run.id)
    }
    expect((await client.runs.get(ids[0]!)).session).toBe('two')
    const page = await client.runs.list({ status: ['completed', 'failed'], limit: 2 })
    expect(page.runs.map(({ id }) => id)).toEqual(ids.slice(0, 2))
    expect((await client.runs.list({ limit: 2, cursor: page.cursor! })).runs.map(({ id }) => id)).toEqual(ids.slice(2))
    expect((await client.sessions.runs('one')).runs.map(({ id }) => id)).toEqual(ids.slice(1))
    const { sessions, total } = await client.sessions.list({ name: 'one' })
    expect([sessions, total]).toEqual([[], 0]) // nobody has named one
    expect((await client.sessions.list({ component: 'lab' })).sessions.map(({ id }) => id)).toContain('one')
    await client.sessions.delete('one')
    expect((await client.sessions.runs('one')).runs).toEqual([])
    await expect(client.sessions.delete('one')).rejects.toBeInstanceOf(ApiError)
    expect((await client.runs.list({ status: 'paused' })).runs).toEqual([])
  })

  test('stops a run, whose result is a typed error', async () => {
    const client = createClient(await serveNative())
    const run = await client.runs.start({ component: 'lab', input: 'text 1; hang' })
    expect((await client.runs.stop(run.id, { reason: 'enough', waitMs: 10_000 })).status).toBe('cancelled')
    const error = await run.result().catch((cause: unknown) => cause)
    expect(error).toBeInstanceOf(RunError)
    expect(error).toMatchObject({
      code: 'cancelled',
      outcome: 'cancelled',
      run: run.id,
      retryable: false,
      message: 'enough',
    })
  })

  test.each([
    ['throw boom', { code: 'agent_failed', outcome: 'failed', retryable: false }],
    ['reject "not today"', { code: 'rejected', outcome: 'rejected', retryable: false, message: 'not today' }],
    ['circular', { code: 'unserializable', outcome: 'failed', details: { event: 'custom.emitted' } }],
  ])('[RUN-3] the result of a run that did %s is a typed error', async (input, expected) => {
    const client = createClient(await serveNative())
    const run = await client.runs.start({ component: 'lab', input })
    const error = await run.result().catch((cause: unknown) => cause)
    expect(error).toBeInstanceOf(RunError)
    expect(error).toMatchObject({ ...expected, run: run.id })
  })

  test('answers a paused run, which continues in the same loop', async () => {
    const client = createClient(await serveNative())
    const run = await client.runs.start({ component: 'lab', input: 'text 1; ask "How many?"; text 1' })
    const types: string[] = []
    const prompts: string[] = []
    for await (const event of run.events()) {
      types.push(event.type)
      if (event.type !== 'run.paused') continue
      prompts.push(...event.data.questions.map(({ prompt }) => prompt))
      await run.answer({ answer: 3 })
    }
    expect(prompts).toEqual(['How many?'])
    expect(types).toContain('run.resumed')
    expect(types.at(-1)).toBe('run.completed')
    await expect(run.answer({ answer: 4 })).rejects.toMatchObject({ name: 'ApiError', code: 'conflict' })
  })

  test('client.runs.delete deletes a run', async () => {
    const client = createClient(await serveNative())
    const run = await client.runs.start({ component: 'lab', input: 'text 1' })
    await run.result()
    await client.runs.delete(run.id)
    const error = await run.get().catch((cause: unknown) => cause)
    expect(error).toBeInstanceOf(ApiError)
    expect(error).toMatchObject({ code: 'not_found', status: 404, run: run.id, retryable: false })
    expect((error as ApiError).requestId).toBeTruthy()
  })

  test('knows which events end a run', () => {
    for (const [type, { effect }] of Object.entries(eventTable))
      expect(isTerminalEvent({ type } as never), type).toBe(effect === 'terminal')
  })

  test('gives up on an unreachable server after its retry budget', async () => {
    const { url } = await serveNative()
    const client = createClient({ url: url.replace(/:\d+$/, ':1'), retries: 3, retryDelayMs: 1 })
    const error = await client.runs.start({ component: 'lab', input: 'text 1' }).catch((cause: unknown) => cause)
    expect(error).toBeInstanceOf(ConnectionError)
    expect(error).toMatchObject({ code: 'connection', retryable: true })
  })

  test('requires the server’s URL', () => {
    expect(() => createClient()).toThrow('url is missing')
  })
})

describe('client: the text of a run', () => {
  test('streams in pieces', async () => {
    const client = createClient(await serveNative())
    const run = await client.runs.start({ component: 'lab', input: 'say "one "; reason 2; tool search; say two' })
    expect(await collect(run.text())).toEqual(['one ', 'two'])
  })

  test('is corrected when the run retracts text', async () => {
    const client = createClient(await serveNative({ components: [flaky] }))
    const run = await client.runs.start({ component: 'flaky', input: '' })
    let shown = ''
    for await (const piece of run.text({ onRetracted: (standing) => (shown = standing) })) shown += piece
    expect(shown).toBe('kept; good')
  })
})

describe('client: a cursor', () => {
  test('[SUB-2] can be saved and used by another client, which continues there', async () => {
    const server = await serveNative()
    const run = await createClient(server).runs.start({ component: 'lab', input: 'text 10; hang' })
    const first = []
    for await (const event of run.events()) {
      first.push(event)
      if (event.index === 4) break
    }
    const kept = JSON.stringify({ id: run.id, after: run.cursor })

    const { id, after } = JSON.parse(kept) as { id: string; after: number }
    const another = createClient(server).runs.open(id, { after })
    const rest = collect(another.events())
    await another.stop()
    expect([...first, ...(await rest)]).toEqual(eventsIn(await readLog(server, id)))
  })

  test('continues in the same handle after a loop was left', async () => {
    const client = createClient(await serveNative())
    const run = await client.runs.start({ component: 'lab', input: 'text 5' })
    const indices: number[] = []
    for await (const event of run.events()) {
      indices.push(event.index)
      if (event.index === 2) break
    }
    for await (const event of run.events()) indices.push(event.index)
    expect(indices).toEqual([...indices.keys()])
    expect(await collect(run.events())).toEqual([])
  })

  test('is exposed by a stream, which can be read once', async () => {
    const client = createClient(await serveNative())
    const { id } = await client.runs.start({ component: 'lab', input: 'text 5' })
    const stream = client.runs.events(id, { after: 1 })
    const events = await collect(stream)
    expect(events[0]!.index).toBe(2)
    expect(stream.cursor).toBe(events.at(-1)!.index)
    expect(() => stream[Symbol.asyncIterator]()).toThrow('read only once')
  })

  test('[SUB-2] a cursor outside the log is rejected', async () => {
    const client = createClient(await serveNative())
    const run = await client.runs.start({ component: 'lab', input: 'text 5' })
    await run.result()
    await expect(collect(client.runs.events(run.id, { after: 99 }))).rejects.toMatchObject({ code: 'cursor_invalid' })
    for (const after of [-7, 1.5, Number.NaN]) expect(() => client.runs.events(run.id, { after })).toThrow(RangeError)
  })
})

describe('client: an abort signal', () => {
  test('[RUN-2] ends the loop, not the run', async () => {
    const server = await serveNative()
    const client = createClient(server)
    const run = await client.runs.start({ component: 'lab', input: 'text 3; hang' })
    const leave = new AbortController()
    const read = (async () => {
      for await (const event of run.events({ signal: leave.signal })) if (event.type === 'text.delta') leave.abort()
    })()
    await expect(read).rejects.toMatchObject({ name: 'AbortError' })
    expect((await run.get()).status).toBe('running')
    await run.stop({ waitMs: 10_000 })
  })

  test('a signal that is already aborted prevents the request', async () => {
    const client = createClient({ url: 'http://127.0.0.1:1', retries: 1000 })
    await expect(
      client.runs.start({ component: 'lab', input: '' }, { signal: AbortSignal.abort(new Error('left')) }),
    ).rejects.toThrow('left')
  })

  test('ends the delay before a retry', async () => {
    const leave = new AbortController()
    const failing: typeof fetch = (...request) =>
      fetch(...request).finally(() => setImmediate(() => leave.abort(new Error('left'))))
    const client = createClient({ url: 'http://127.0.0.1:1', retryDelayMs: 600_000, fetch: failing })
    const start = client.runs.start({ component: 'lab', input: '' }, { signal: leave.signal })
    await expect(start).rejects.toThrow('left')
  })
})

describe('client: credentials', () => {
  test('[SEC-1] a key is sent as a bearer token, and a key function is called for each request', async () => {
    const path = join(temporaryFolder(), 'keys.json')
    const [key, other] = (await createKeys(path, ['one', 'other'])) as [string, string]
    const { url } = await serveNative({ auth: { keys: path } })
    const asked: string[] = []
    const client = createClient({ url, key: async () => (asked.push('key'), key) })
    const run = await client.runs.start({ component: 'lab', input: 'text 1' })
    await until('the run is over', async () => (await run.get()).status === 'completed')
    expect(asked.length).toBeGreaterThan(1)
    await expect(createClient({ url }).runs.get(run.id)).rejects.toMatchObject({ code: 'unauthenticated', status: 401 })
    await expect(createClient({ url, key: other }).runs.get(run.id)).rejects.toMatchObject({ code: 'not_found' })
    await expect(collect(createClient({ url, key: other }).runs.events(run.id))).rejects.toMatchObject({
      code: 'not_found',
    })
  })

  test('a custom fetch is used for every request', async () => {
    const server = await serveNative()
    const asked: string[] = []
    const client = createClient({
      url: server.url,
      fetch: (input, init) => {
        asked.push(`${init?.method} ${new URL(input as string).pathname}`)
        return fetch(input, init)
      },
    })
    const run = await client.runs.start({ component: 'lab', input: 'text 1' })
    await collect(run.events())
    expect(asked).toEqual(['POST /runs', `GET /runs/${run.id}/events`])
    await untilStatus(server, run.id, ['completed'])
  })
})
