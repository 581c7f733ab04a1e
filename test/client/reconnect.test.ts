import type { IncomingMessage } from 'node:http'
import { describe, expect, test } from 'vitest'
import { ApiError, ConnectionError, createClient, GapError } from '../../src/client/index.ts'
import { call, eventsIn, readEvents, readLog, startRun, stopRun, untilFinished } from '../support/http.ts'
import { serveNative } from '../protocols/native/serve.ts'
import { collect } from './collect.ts'
import { type Fault, startFaultProxy } from './fault-proxy.ts'

const isStream = ({ url }: IncomingMessage): boolean => url!.includes('format=sse')

/** Applies these faults in sequence to requests of this kind, and none to the rest. */
function inOrder(faults: readonly Fault[], concerned: (request: IncomingMessage) => boolean = () => true) {
  const left = [...faults]
  return (request: IncomingMessage): Fault => (concerned(request) ? (left.shift() ?? {}) : {})
}

describe('client: a start', () => {
  test('[RUN-4] a start whose response is lost is retried and starts one run', async () => {
    const server = await serveNative()
    const faults: Fault[] = [{ loses: true }, { instead: 'nothing' }, { instead: '502' }, { loses: true }]
    const proxy = await startFaultProxy(() => server.url, { draw: inOrder(faults) })
    const run = await createClient({ url: proxy.url, retryDelayMs: 1 }).runs.start({
      component: 'lab',
      input: 'text 1',
    })
    const { body } = await call<{ runs: { id: string }[] }>(server, 'GET', '/runs')
    expect(body.runs.map(({ id }) => id)).toEqual([run.id])
  })

  test('[RUN-4] a start with the caller’s idempotency key is the same run from another client', async () => {
    const { url } = await serveNative()
    const start = { component: 'lab', input: 'text 1' }
    const first = await createClient({ url }).runs.start(start, { idempotencyKey: 'order 7' })
    const again = await createClient({ url }).runs.start(start, { idempotencyKey: 'order 7' })
    expect(again.id).toBe(first.id)
    await expect(
      createClient({ url }).runs.start({ ...start, input: 'text 2' }, { idempotencyKey: 'order 7' }),
    ).rejects.toMatchObject({ code: 'idempotency_conflict', retryable: false })
  })

  test('a start that is rejected permanently is not retried', async () => {
    const server = await serveNative()
    const proxy = await startFaultProxy(() => server.url)
    let requests = 0
    const counting: typeof fetch = (input, init) => (requests++, fetch(input, init))
    const client = createClient({ url: proxy.url, fetch: counting })
    await expect(client.runs.start({ component: 'nobody', input: '' })).rejects.toMatchObject({ code: 'not_found' })
    expect(requests).toBe(1)
  })
})

describe('client: an answer to a paused run', () => {
  test('an answer that may have been accepted is not sent again', async () => {
    const server = await serveNative()
    const draw = inOrder([{ loses: true }], ({ url }) => url!.endsWith('/answers'))
    const proxy = await startFaultProxy(() => server.url, { draw })
    const client = createClient({ url: proxy.url, retryDelayMs: 1 })
    const run = await client.runs.start({ component: 'lab', input: 'ask ok?' })
    for await (const event of run.events()) if (event.type === 'run.paused') break
    await expect(run.answer({ answer: 1 })).rejects.toBeInstanceOf(ConnectionError)
    await run.result()
    const resumed = (await readEvents(server, run.id)).filter(({ type }) => type === 'run.resumed')
    expect(resumed).toHaveLength(1)
  })

  test('an answer that was rejected temporarily is sent again', async () => {
    const server = await serveNative()
    const draw = inOrder([{ instead: '503' }, { instead: '429' }], ({ url }) => url!.endsWith('/answers'))
    const proxy = await startFaultProxy(() => server.url, { draw })
    const client = createClient({ url: proxy.url, retryDelayMs: 1 })
    const run = await client.runs.start({ component: 'lab', input: 'ask ok?' })
    for await (const event of run.events()) if (event.type === 'run.paused') break
    expect((await run.answer({ answer: 1 })).status).not.toBe('paused')
    await run.result()
  })
})

describe('client: a stream', () => {
  test('[SUB-3] a stream that closes cleanly before its run has ended is reopened', async () => {
    const server = await serveNative()
    const draw = inOrder(
      Array.from({ length: 6 }, () => ({ after: { bytes: 300, by: 'close' as const } })),
      isStream,
    )
    const proxy = await startFaultProxy(() => server.url, { draw })
    const client = createClient({ url: proxy.url, retryDelayMs: 1 })
    const run = await client.runs.start({ component: 'lab', input: 'text 10' })
    expect(await collect(run.events())).toEqual(eventsIn(await readLog(server, run.id)))
    expect(proxy.streams.total).toBeGreaterThan(6)
  })

  test('a stream that makes no progress is given up after its retry budget', async () => {
    const server = await serveNative()
    const { id } = await startRun(server, 'text 3; hang')
    const proxy = await startFaultProxy(() => server.url, { draw: () => ({ instead: '502' }) })
    let requests = 0
    const counting: typeof fetch = (input, init) => (requests++, fetch(input, init))
    const client = createClient({ url: proxy.url, retries: 4, retryDelayMs: 1, fetch: counting })
    const error = await collect(client.runs.events(id)).catch((cause: unknown) => cause)
    expect(error).toBeInstanceOf(ApiError)
    expect(error).toMatchObject({ code: 'http_502', retryable: true, run: id })
    expect(requests).toBe(5)
    await stopRun(server, id)
  })

  test('has its full retry budget again after each event', async () => {
    const server = await serveNative()
    const { id } = await startRun(server, 'text 8')
    await untilFinished(server, id)
    const broken: Fault = { instead: '502' }
    // A frame of this log has some 150 bytes: each good connection brings one or two.
    const faults = Array.from({ length: 12 }, () => [broken, broken, { after: { bytes: 420, by: 'cut' as const } }])
    const proxy = await startFaultProxy(() => server.url, { draw: inOrder(faults.flat()) })
    const client = createClient({ url: proxy.url, retries: 3, retryDelayMs: 1 })
    expect(await collect(client.runs.events(id))).toHaveLength(11)
  })

  test('waits at least as long as Retry-After asks', async () => {
    const server = await serveNative()
    const { id } = await startRun(server, 'text 1')
    let refused = 0
    const patient: typeof fetch = async (input, init) => {
      if (refused > 0) return fetch(input, init)
      refused = performance.now()
      return new Response('', { status: 429, headers: { 'retry-after': '1' } })
    }
    await collect(createClient({ url: server.url, retryDelayMs: 1, fetch: patient }).runs.events(id))
    // A timer may be a millisecond early.
    expect(performance.now() - refused).toBeGreaterThan(990)
  })

  test('uses the delay that the server suggests', async () => {
    const server = await serveNative({ limits: { retryDelayMs: 5 } })
    const { id } = await startRun(server, 'text 10')
    await untilFinished(server, id)
    const cut: Fault = { after: { bytes: 500, by: 'cut' } }
    const proxy = await startFaultProxy(() => server.url, { draw: inOrder([cut, cut, cut]) })
    // With a delay of its own it would not come back within the test.
    const client = createClient({ url: proxy.url, retryDelayMs: 3_600_000 })
    expect(await collect(client.runs.events(id))).toHaveLength(13)
  })

  test('[SUB-3] a half-open stream is detected by its idle timeout', async () => {
    const server = await serveNative()
    const draw = inOrder([{ after: { bytes: 400, by: 'hang' } }, { after: { bytes: 0, by: 'hang' } }], isStream)
    const proxy = await startFaultProxy(() => server.url, { draw })
    const client = createClient({ url: proxy.url, idleTimeoutMs: 300 })
    const run = await client.runs.start({ component: 'lab', input: 'text 10' })
    expect(await collect(run.events())).toEqual(eventsIn(await readLog(server, run.id)))
  })

  test('[SUB-3] a stream with nothing but heartbeats stays open', async () => {
    const server = await serveNative({ limits: { heartbeatIntervalMs: 100 } })
    const proxy = await startFaultProxy(() => server.url)
    const client = createClient({ url: proxy.url, idleTimeoutMs: 2000 })
    const run = await client.runs.start({ component: 'lab', input: 'text 1; sleep 3000; text 1' })
    await collect(run.events())
    expect(proxy.streams.total).toBe(1)
  })

  test('a stream that a proxy buffers is replaced by pages', async () => {
    const server = await serveNative({ limits: { heartbeatIntervalMs: 100 } })
    const proxy = await startFaultProxy(() => server.url, { draw: () => ({ buffer: 4096, stripsComments: true }) })
    const client = createClient({ url: proxy.url, idleTimeoutMs: 500 })
    const run = await client.runs.start({ component: 'lab', input: 'text 3; ask "Go on?"; text 3; ask "Sure?"' })
    const seen = []
    for await (const event of run.events()) {
      seen.push(event)
      if (event.type === 'run.paused') await run.answer({ answer: 'yes' })
    }
    expect(seen).toEqual(eventsIn(await readLog(server, run.id)))
  })
})

describe('client: a log as the network delivers it', () => {
  const frames = (text: string): string[] => text.split(/(?<=\n\n)/)
  test.each<[string, (text: string) => string | Buffer<ArrayBuffer>]>([
    [
      'doubled',
      (text) =>
        frames(text)
          .flatMap((frame) => [frame, frame])
          .join(''),
    ],
    ['reordered', (text) => frames(text).toReversed().join('')],
    ['with a frame lost', (text) => frames(text).toSpliced(4, 1).join('')],
    ['with some bytes lost', (text) => text.slice(0, 700) + text.slice(730)],
    ['with an invalid byte', (text) => Buffer.from(text.replace('[5]', '[5]\xFF'), 'latin1')],
    ['with invalid JSON', (text) => frames(text).toSpliced(3, 0, 'data: oops\n\n').join('')],
    ['of another run', (text) => text.replaceAll('"run":"run_', '"run":"run_x')],
    ['with an unknown event', (text) => `event: stream.hello\ndata: {}\n\n${text}`],
  ])('[LOG-1] is corrected: %s', async (_how, spoil) => {
    const server = await serveNative()
    const { id } = await startRun(server, 'text 10')
    await untilFinished(server, id)
    let spoiled = 0
    const spoiling: typeof fetch = async (input, init) => {
      const response = await fetch(input, init)
      if (++spoiled > 2) return response
      return new Response(spoil(await response.text()), { headers: response.headers })
    }
    const client = createClient({ url: server.url, fetch: spoiling, retryDelayMs: 1 })
    expect(await collect(client.runs.events(id))).toEqual(eventsIn(await readLog(server, id)))
  })
})

describe('client: a gap in the log', () => {
  test('[SUB-2] is an error with the index of the first event', async () => {
    const server = await serveNative()
    const { id } = await startRun(server, 'text 5')
    await untilFinished(server, id)
    await server.store.trim(id, 4)
    const client = createClient(server)
    for (const after of [undefined, 1]) {
      const read = collect(client.runs.events(id, after === undefined ? {} : { after }))
      const error = await read.catch((cause: unknown) => cause)
      expect(error).toBeInstanceOf(GapError)
      expect(error).toMatchObject({ code: 'gap', earliest: 4, run: id })
    }
    expect((await collect(client.runs.events(id, { after: 3 })))[0]!.index).toBe(4)
  })

  test('[SUB-2] is reported to a listener, and the stream continues behind it', async () => {
    const server = await serveNative()
    const { id } = await startRun(server, 'text 5')
    await untilFinished(server, id)
    await server.store.trim(id, 4)
    const client = createClient(server)
    for (const options of [{}, { after: 1 }]) {
      const gaps: unknown[] = []
      const events = await collect(client.runs.events(id, { ...options, onGap: (gap) => gaps.push(gap) }))
      expect(gaps).toEqual([{ run: id, earliest: 4 }])
      expect(events[0]!.index).toBe(4)
    }
    expect(await client.runs.open(id).result()).toBeUndefined()
  })
})
