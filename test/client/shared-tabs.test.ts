/** State shared by tabs of one browser, tested in Node, which has the same locks and channels. The rest is in test/browser. */
import { expect, onTestFinished, test, vi } from 'vitest'
import { type Client, type ClientError, type ClientOptions, createClient } from '../../src/client/index.ts'
import { serveNative } from '../protocols/native/serve.ts'
import { answerRun, eventsIn, readLog, startRun, untilFinished } from '../support/http.ts'
import { startLoopTime } from '../support/loop-time.ts'
import { until } from '../support/until.ts'
import { collect } from './collect.ts'

/** A client as a page has it: without a location, there are no tabs. */
function tab(options: ClientOptions & { readonly url: string }): Client {
  vi.stubGlobal('location', { origin: options.url })
  onTestFinished(() => void vi.unstubAllGlobals())
  return createClient(options)
}

/** As many as may have a stream of their own. */
const STREAMS = 4

interface Turns {
  readonly ids: readonly string[]
  readonly url: string
  /** The runs that find no place for a stream. */
  readonly inTurn: readonly string[]
  readonly release: () => Promise<void>
}

/** Six runs, of which four hold the streams until they are released. */
async function startTurns(): Promise<Turns> {
  const server = await serveNative()
  const held = await Promise.all(Array.from({ length: STREAMS }, () => startRun(server, 'ask "go?"')))
  const free = await Promise.all(Array.from({ length: 2 }, () => startRun(server, 'text 3')))
  for (const { id } of free) await untilFinished(server, id)
  const ids = held.map(({ id }) => id)
  return {
    url: server.url,
    ids,
    inTurn: free.map(({ id }) => id),
    release: async () => {
      for (const id of ids) await answerRun(server, id, true)
    },
  }
}

const isPage = (url: string): boolean => url.includes('format=json')

/** Follows the four that hold the streams, and returns when they do. */
async function holdStreams(client: Client, ids: readonly string[]): Promise<Promise<unknown>[]> {
  let paused = 0
  const loops = ids.map(async (id) => {
    for await (const event of client.runs.events(id)) if (event.type === 'run.paused') paused++
  })
  await until('four streams are held', () => paused === STREAMS)
  return loops
}

test('shared tabs: a run that waits for its retry does not delay other runs', async () => {
  const { url, ids, inTurn, release } = await startTurns()
  const [failing, well] = inTurn as [string, string]
  let refused = 0
  const problems: (ClientError | undefined)[] = []
  // Retry-After is five minutes: a reader that kept the slot would block all others for that long.
  const busy: typeof fetch = (input, init) => {
    if (!(input as string).includes(failing) || !isPage(input as string) || refused > 0) return fetch(input, init)
    // The first page is read out of turn, so it is let through.
    if ((input as string).includes('wait=0'))
      return Promise.resolve(Response.json({ events: [], cursor: -1, done: false }))
    refused++
    return Promise.resolve(new Response('', { status: 503, headers: { 'retry-after': '300' } }))
  }
  const client = tab({ url, fetch: busy, shareConnections: { name: 'turns' } })
  const loops = await holdStreams(client, ids)
  const waiting = new AbortController()
  const slow = collect(
    client.runs.events(failing, { signal: waiting.signal, onProblem: (problem) => problems.push(problem) }),
  ).catch((cause: unknown) => cause)
  await until('it was refused, and says so', () => refused === 1 && problems.length > 0)
  expect(problems[0]).toMatchObject({ retrying: true, run: failing })
  expect((await collect(client.runs.events(well))).at(-1)).toMatchObject({ type: 'run.completed' })
  waiting.abort(new Error('enough'))
  expect(await slow).toMatchObject({ message: 'enough' })
  await release()
  await Promise.all(loops)
})

test('shared tabs: a page that never arrives delays other runs for less than the idle timeout of a stream', async () => {
  const { url, ids, inTurn, release } = await startTurns()
  const [stalled, well] = inTurn as [string, string]
  const idleTimeoutMs = 12_000
  let stalls = 0
  const deaf: typeof fetch = (input, init) => {
    if (!(input as string).includes(stalled) || !isPage(input as string)) return fetch(input, init)
    if ((input as string).includes('wait=0'))
      return Promise.resolve(Response.json({ events: [], cursor: -1, done: false }))
    stalls++
    return new Promise(() => {}) // obeys no signal either
  }
  const client = tab({ url, fetch: deaf, shareConnections: { name: 'stall' }, idleTimeoutMs })
  const loops = await holdStreams(client, ids)
  const waiting = new AbortController()
  const slow = collect(client.runs.events(stalled, { signal: waiting.signal })).catch((cause: unknown) => cause)
  await until('it stalls', () => stalls > 0)
  const elapsed = startLoopTime()
  expect((await collect(client.runs.events(well))).at(-1)).toMatchObject({ type: 'run.completed' })
  expect(elapsed()).toBeLessThan(idleTimeoutMs)
  waiting.abort(new Error('enough'))
  await slow
  await release()
  await Promise.all(loops)
}, 60_000)

test('shared tabs: without locks, as in a sandboxed frame, each stream has its own connection', async () => {
  const server = await serveNative()
  const { id } = await startRun(server, 'text 3')
  await untilFinished(server, id)
  const refuse = (): Promise<never> => Promise.reject(new DOMException('access to locks is denied', 'SecurityError'))
  vi.stubGlobal('navigator', { locks: { request: refuse, query: refuse } })
  const client = tab({ url: server.url })
  expect(await collect(client.runs.events(id))).toEqual(eventsIn(await readLog(server, id)))
})

test('shared tabs: all readers of a tab restart when the log has changed', async () => {
  const server = await serveNative()
  const { id } = await startRun(server, 'text 3; ask "go?"; text 2')
  const client = tab({
    url: server.url,
    retryDelayMs: 1,
    shareConnections: { name: 'changed' },
    fetch: changingFetch(),
  })
  const changes: number[] = []
  const readers = [0, 1].map(async (number) => {
    let seen: string[] = []
    const onLogChanged = (): void => {
      seen = []
      changes.push(number)
    }
    for await (const event of client.runs.events(id, { onLogChanged })) {
      seen.push(event.type)
      if (event.type === 'run.paused') paused[number] = true
    }
    return seen
  })
  const paused: boolean[] = []
  await until('both have what there is', () => paused[0] === true && paused[1] === true)
  await answerRun(server, id, true)
  const log = eventsIn(await readLog(server, id)).map(({ type }) => type)
  expect(await Promise.all(readers)).toEqual([log, log])
  expect(changes.toSorted((a, b) => a - b)).toEqual([0, 1])
})

/** Cuts the first stream after `run.paused`, and rejects its cursor as one of another log. */
function changingFetch(): typeof fetch {
  let streams = 0
  return async (input, init) => {
    if (!(input as string).includes('format=sse')) return fetch(input, init)
    streams++
    if (streams === 2)
      return Response.json({ code: 'log_changed', detail: 'another log', retryable: false }, { status: 409 })
    const response = await fetch(input, init)
    if (streams > 2) return response
    let text = ''
    const decoder = new TextDecoder()
    const cut = new TransformStream<Uint8Array, Uint8Array>({
      transform(piece, controller) {
        text += decoder.decode(piece, { stream: true })
        controller.enqueue(piece)
        if (text.includes('event: run.paused') && text.endsWith('\n\n')) controller.terminate()
      },
    })
    return new Response(response.body!.pipeThrough(cut), response)
  }
}

test('shared tabs: a reader that waits for its retry takes events from the leading tab meanwhile', async () => {
  const server = await serveNative()
  const { id } = await startRun(server, 'text 3; ask "go?"; text 3')
  const leading = tab({ url: server.url, shareConnections: { name: 'reported' } })
  let reported = 0
  const led = (async () => {
    for await (const event of leading.runs.events(id)) if (event.type === 'run.paused') reported++
  })()
  await until('a tab leads', () => reported === 1)
  let pages = 0
  // The first page succeeds; later requests get a retry delay of five minutes.
  const once: typeof fetch = (input, init) =>
    pages++ === 0
      ? fetch(input, init)
      : Promise.resolve(new Response('', { status: 503, headers: { 'retry-after': '300' } }))
  const following = tab({ url: server.url, shareConnections: { name: 'reported' }, fetch: once })
  const events = collect(following.runs.events(id))
  await until('its second page was refused', () => pages === 2)
  await answerRun(server, id, true)
  expect((await events).at(-1)).toMatchObject({ type: 'run.completed' })
  await led
})

test('shared tabs: a tab does not take the lead from itself', async () => {
  const server = await serveNative()
  const held = await Promise.all(Array.from({ length: STREAMS }, () => startRun(server, 'ask "go?"')))
  const { id } = await startRun(server, 'text 3; ask "go?"; text 3')
  const requests = vi.spyOn(navigator.locks, 'request')
  onTestFinished(() => requests.mockRestore())
  let looks = 0
  // In its slot the run is refused for minutes; the page that its reader shows still arrives.
  const busy: typeof fetch = (input, init) => {
    if (!(input as string).includes(id) || !isPage(input as string)) return fetch(input, init)
    if (!(input as string).includes('wait=0'))
      return Promise.resolve(new Response('', { status: 503, headers: { 'retry-after': '300' } }))
    looks++
    return fetch(input, init)
  }
  const client = tab({ url: server.url, fetch: busy, shareConnections: { name: 'steal' }, idleTimeoutMs: 1000 })
  const waiting = new AbortController()
  const loops = held.map(({ id: run }) =>
    collect(client.runs.events(run, { signal: waiting.signal })).catch(() => undefined),
  )
  await until('four streams are held', async () => {
    const { held: locks = [] } = await navigator.locks.query()
    return locks.filter(({ name }) => name!.includes(':stream:')).length >= STREAMS
  })
  const following = collect(client.runs.events(id, { signal: waiting.signal })).catch(() => undefined)
  await until('it has looked twice', () => looks >= 2)
  const steals = requests.mock.calls.filter(([, options]) => options.steal === true)
  expect(steals).toEqual([])
  waiting.abort(new Error('enough'))
  await Promise.all([following, ...loops])
})

/** Locks are faster than broadcasts, by this many ticks of the event loop. */
const BROADCAST_TURNS = 20

function delayBroadcasts(): void {
  const { prototype } = BroadcastChannel
  // oxlint-disable-next-line typescript/unbound-method -- called with its channel
  const listen = prototype.addEventListener as (type: string, listener: (event: Event) => void) => void
  prototype.addEventListener = function (this: BroadcastChannel, type: string, listener: unknown) {
    listen.call(this, type, (event) => {
      const deliver = (turns: number): unknown =>
        turns === 0 ? (listener as (event: Event) => void).call(this, event) : setImmediate(deliver, turns - 1)
      deliver(BROADCAST_TURNS)
    })
  }
  onTestFinished(() => void Reflect.deleteProperty(prototype, 'addEventListener'))
}

test('shared tabs: a tab that hears of the end after its leader has left opens no stream', async () => {
  delayBroadcasts()
  const server = await serveNative()
  const { id } = await startRun(server, 'text 3; ask "go?"; text 3')
  let streams = 0
  const counted: typeof fetch = (input, init) => {
    if ((input as string).includes('format=sse')) streams++
    return fetch(input, init)
  }
  const paused: boolean[] = []
  const tabs = [0, 1, 2].map(async (number) => {
    const events = []
    for await (const event of tab({ url: server.url, shareConnections: { name: 'end' }, fetch: counted }).runs.events(
      id,
    )) {
      events.push(event)
      if (event.type === 'run.paused') paused[number] = true
    }
    return events
  })
  await until('all have what there is', () => paused[0] === true && paused[1] === true && paused[2] === true)
  await answerRun(server, id, true)
  const log = eventsIn(await readLog(server, id))
  expect(await Promise.all(tabs)).toEqual([log, log, log])
  expect(streams).toBe(1)
})
