/** Snapshots, tails and filters of the client, also when each connection breaks. */
import { describe, expect, test } from 'vitest'
import { createClient, type LoggedEvent } from '../../src/client/index.ts'
import { RunStructure } from '../../src/core/structure/run-structure.ts'
import { answerRun, call, getRun, readEvents, startRun, untilFinished, untilStatus } from '../support/http.ts'
import { until } from '../support/until.ts'
import { type NativeServer, serveNative } from '../protocols/native/serve.ts'

const SCRIPT = 'text 5; tool search; say half; ask Go on?; text 3; tool again; usage 3 4'

async function paused(server: NativeServer): Promise<string> {
  const { id } = await startRun(server, SCRIPT)
  await untilStatus(server, id, ['paused'])
  return id
}

/** The connection breaks after each frame that the server sends. */
function breakingFetch(): { readonly fetch: typeof fetch; readonly connections: () => number } {
  let connections = 0
  return {
    connections: () => connections,
    async fetch(input, init) {
      const response = await fetch(input, init)
      if (response.headers.get('content-type')?.startsWith('text/event-stream') !== true) return response
      connections++
      let text = ''
      const broken = new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          text += new TextDecoder().decode(chunk)
          const end = text.indexOf('\n\n', text.indexOf('id: '))
          if (!text.includes('id: ') || end < 0) return
          controller.enqueue(new TextEncoder().encode(text.slice(0, end + 2)))
          controller.error(new Error('the connection broke'))
        },
      })
      return new Response(response.body!.pipeThrough(broken), { status: response.status, headers: response.headers })
    },
  }
}

async function collect(events: AsyncIterable<LoggedEvent>): Promise<LoggedEvent[]> {
  const found: LoggedEvent[] = []
  for await (const event of events) found.push(event)
  return found
}

function shown(structure: RunStructure): unknown {
  return JSON.parse(JSON.stringify(structure.save()))
}

async function wholeStructure(server: NativeServer, id: string): Promise<unknown> {
  const structure = new RunStructure()
  for (const event of await readEvents(server, id)) structure.apply(event as unknown as LoggedEvent)
  return shown(structure)
}

describe.each(['unbroken', 'breaking'] as const)('client: over %s connections', (connections) => {
  function clientOf(server: NativeServer): ReturnType<typeof createClient> {
    return createClient({
      url: server.url,
      retryDelayMs: 1,
      ...(connections === 'breaking' && { fetch: breakingFetch().fetch }),
    })
  }

  test('[SUB-2] a snapshot and the events after it are the whole run', async () => {
    const server = await serveNative()
    const id = await paused(server)
    const { events } = await getRun(server, id)
    const snapshot = await clientOf(server).runs.open(id).snapshot()
    expect(snapshot.cursor).toBe(events - 1)
    const structure = RunStructure.restore(snapshot.structure)
    expect(structure.lifecycle).toMatchObject({ status: 'paused', questions: [{ prompt: 'Go on?' }] })
    await answerRun(server, id, 'yes')
    for await (const event of snapshot) structure.apply(event)
    expect(shown(structure)).toEqual(await wholeStructure(server, id))
    expect(snapshot.cursor).toBe((await getRun(server, id)).events - 1)
  })

  test('[SUB-2] a filtered loop has every selected event once', async () => {
    const server = await serveNative()
    const id = await paused(server)
    const loop = collect(clientOf(server).runs.events(id, { types: ['tool.*', 'run.paused'] }))
    await answerRun(server, id, 'yes')
    const log = await readEvents(server, id)
    expect(await loop).toEqual(log.filter(({ type }) => /^tool\.|^run\.(paused|completed)$/.test(type)))
  })

  test('[SUB-2] tail starts with the last events, and after: end with the next one', async () => {
    const server = await serveNative()
    const id = await paused(server)
    const { events } = await getRun(server, id)
    const client = clientOf(server)
    const [tail, news] = [client.runs.open(id).events({ tail: 2 }), client.runs.open(id).events({ after: 'end' })]
    const both = Promise.all([collect(tail), collect(news)])
    await until('both are placed', () => tail.cursor >= events - 3 && news.cursor === events - 1)
    await answerRun(server, id, 'yes')
    const [fromTail, fromEnd] = await both
    const log = await readEvents(server, id)
    expect(fromTail).toEqual(log.slice(events - 2))
    expect(fromEnd).toEqual(log.slice(events))
  })
})

describe('client: a snapshot', () => {
  test('of a finished run has no events after it', async () => {
    const server = await serveNative()
    const { id } = await startRun(server, 'text 5')
    await untilFinished(server, id)
    const snapshot = await createClient({ url: server.url }).runs.open(id).snapshot()
    expect(RunStructure.restore(snapshot.structure).lifecycle.status).toBe('completed')
    expect(await collect(snapshot)).toEqual([])
  })

  test('that is closed ends its connection and leaves the run alone', async () => {
    const server = await serveNative()
    const id = await paused(server)
    let signal: AbortSignal | null | undefined
    const client = createClient({
      url: server.url,
      fetch: (input, init) => ((signal = init?.signal), fetch(input, init)),
    })
    const snapshot = await client.runs.open(id).snapshot()
    snapshot.close()
    await until('the request is aborted', () => signal?.aborted === true)
    expect((await getRun(server, id)).status).toBe('paused')
  })

  test('is replaced by a new one when the events after it were trimmed', async () => {
    const server = await serveNative()
    const id = await paused(server)
    const { fetch: broken, connections } = breakingFetch()
    const client = createClient({ url: server.url, retryDelayMs: 1, fetch: broken })
    const replaced: number[] = []
    const trimmed = Promise.withResolvers<void>()
    const snapshot = await createClient({
      url: server.url,
      retryDelayMs: 1,
      async fetch(input, init) {
        if (connections() > 0) await trimmed.promise
        return broken(input, init)
      },
    })
      .runs.open(id)
      .snapshot({ onReplaced: ({ cursor }) => replaced.push(cursor) })
    expect(snapshot.earliest).toBeUndefined()
    await answerRun(server, id, 'yes')
    const { events } = await untilFinished(server, id)
    await server.store.trim(id, events - 2)
    trimmed.resolve()
    expect(await collect(snapshot)).toEqual([])
    expect(replaced).toEqual([events - 1])
    expect((await client.runs.open(id).snapshot()).earliest).toBe(events - 2)
  })

  test('of an unknown run is refused', async () => {
    const server = await serveNative()
    const run = createClient({ url: server.url }).runs.open('run_0')
    await expect(run.snapshot()).rejects.toMatchObject({ code: 'not_found' })
  })

  test('of a server that knows no snapshots is refused', async () => {
    const server = await serveNative()
    const id = await paused(server)
    const client = createClient({
      url: server.url,
      fetch: (input, init) => fetch((input as string).replace('snapshot=1', 'after='), init),
    })
    await expect(client.runs.open(id).snapshot()).rejects.toThrow('the server sent no snapshot')
    await call(server, 'POST', `/runs/${id}/stop`)
  })

  test.each([
    [{ tail: -1 }, RangeError],
    [{ tail: 1.5 }, RangeError],
    [{ tail: 1, after: 2 }, TypeError],
  ])('events(%j) is refused before a request is sent', async (options, error) => {
    const run = createClient({ url: 'http://127.0.0.1:1' }).runs.open('run_0')
    expect(() => run.events(options)).toThrow(error)
  })
})
