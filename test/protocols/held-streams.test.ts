/** Streams without a subscription count towards the limits, have bounded buffers for slow clients, and are released. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { WebSocket } from 'ws'
import { agent } from '../../src/agents/agent.ts'
import { upstream } from '../../src/agents/upstream/upstream.ts'
import type { Limits } from '../../src/core/model/limits.ts'
import { createKey } from '../../src/server/auth/api-keys.ts'
import { createMemoryStore } from '../../src/stores/memory.ts'
import { startEcho } from '../gateway/echo-server.ts'
import { EventStream } from '../support/event-stream.ts'
import { call, followRun, startRun, type Target, untilFinished } from '../support/http.ts'
import { heldMegabytes } from '../support/memory.ts'
import { temporaryFolder } from '../support/temporary.ts'
import { until } from '../support/until.ts'
import { serveChats } from './ai-sdk/serve.ts'
import { serveNative } from './native/serve.ts'

/** More than the kernel buffers between the two. */
const WORDY_EVENTS = 256
const wordy = agent({
  id: 'wordy',
  async *run() {
    for (let count = 0; count < WORDY_EVENTS; count++) yield 'x'.repeat(256 * 1024)
  },
})

interface Caller extends Target {
  readonly token: string
}

async function serve(limits: Partial<Limits>): Promise<{ readonly anna: Caller }> {
  const keys = join(temporaryFolder(), 'keys.json')
  const { key: token } = await createKey(keys, { name: 'anna', scopes: ['admin'] })
  const echo = await startEcho()
  const components = [wordy, upstream.agentos(echo.url, { passthrough: 'prefix' as const })]
  const { url } = await serveNative({ auth: { keys }, components, limits })
  return { anna: { url, token } }
}

interface Held {
  /** 200 once it is open, or the status of the refusal with its retry delay. */
  readonly answer: Promise<{ readonly status: number; readonly retryAfter: number }>
  readonly close: () => void
}

function stream(path: string) {
  return ({ url, token }: Caller, { stalled = false } = {}): Held => {
    const opened = new EventStream(url + path, { headers: { authorization: `Bearer ${token}` }, stalled })
    onTestFinished(() => opened.cut())
    const answer = opened.answered.then((response) => ({
      status: response?.statusCode ?? 0,
      retryAfter: Number(response?.headers['retry-after']),
    }))
    return { answer, close: () => opened.cut() }
  }
}

function chatSocket(url: string, token?: string): WebSocket {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const socket = new WebSocket(url.replace('http', 'ws'), { headers })
  onTestFinished(() => socket.terminate())
  socket.on('error', () => {})
  return socket
}

const chatRequest = (text: string, id = 'c1'): string =>
  JSON.stringify({
    type: 'send',
    requestId: 'r1',
    id,
    trigger: 'submit-message',
    headers: {},
    body: {},
    messages: [{ id: 'u1', role: 'user', parts: [{ type: 'text', text }] }],
  })

function chat({ url, token }: Caller): Held {
  const socket = chatSocket(`${url}/ai/lab/chat`, token)
  const answer = new Promise<{ status: number; retryAfter: number }>((resolve) => {
    socket.on('open', () => resolve({ status: 200, retryAfter: Number.NaN }))
    socket.on('unexpected-response', (_request, { statusCode = 0, headers }) =>
      resolve({ status: statusCode, retryAfter: Number(headers['retry-after']) }),
    )
  })
  return { answer, close: () => socket.terminate() }
}

const ways: Readonly<Record<string, (caller: Caller) => Held>> = {
  'a session stream': stream('/native/sessions/none/events?format=sse'),
  'a stream of an upstream': stream('/upstream/agentos/slow'),
  'the WebSocket of a chat': chat,
}

/** Whether the caller may open `count` more streams. */
async function hasRoom(caller: Caller, run: string, count = 1): Promise<boolean> {
  const followers = Array.from({ length: count }, () => followRun(caller, run))
  const statuses = await Promise.all(followers.map((follower) => follower.status()))
  for (const follower of followers) follower.cut()
  return statuses.every((status) => status === 200)
}

describe.each(Object.entries(ways))('[SEC-2] %s', (_name, open) => {
  test('counts as a stream of its principal until it is closed', async () => {
    const { anna } = await serve({ maxStreamsPerPrincipal: 1 })
    const { id } = await startRun(anna, 'text 1; hang')
    const held = open(anna)
    expect((await held.answer).status).toBe(200)
    expect(await hasRoom(anna, id)).toBe(false)
    held.close()
    await until('there is room', () => hasRoom(anna, id))
  })

  test('beyond the limit of streams is rejected with 429 and Retry-After', async () => {
    const { anna } = await serve({ maxStreamsPerPrincipal: 1 })
    const { id } = await startRun(anna, 'text 1; hang')
    expect(await followRun(anna, id).status()).toBe(200)
    const { status, retryAfter } = await open(anna).answer
    expect(status).toBe(429)
    expect(retryAfter).toBeGreaterThan(0)
  })
})

test('[SEC-2] a session long poll counts as a stream while it waits, and beyond the limit gets 429', async () => {
  const { anna } = await serve({ maxStreamsPerPrincipal: 1 })
  const { id } = await startRun(anna, 'text 1; hang')
  const authorization = { authorization: `Bearer ${anna.token}` }
  const leaving = new AbortController()
  const page = (query: string, signal?: AbortSignal) =>
    fetch(`${anna.url}/native/sessions/none/events?${query}`, { headers: authorization, ...(signal && { signal }) })
  const waiting = page('wait=10000', leaving.signal).catch(() => {})
  await until('it is counted', async () => !(await hasRoom(anna, id)))
  expect((await page('wait=10000')).status).toBe(429)
  expect((await page('wait=0')).status).toBe(200)
  leaving.abort()
  await waiting
  await until('there is room', () => hasRoom(anna, id))
})

describe('[SUB-1] streams: a client that stops reading', () => {
  const STALL_MS = 1500
  const HELD_MB_MAX = 24

  beforeAll(async () => void (await heldMegabytes()))

  test.each([
    ['a session stream', stream('/native/sessions/wordy/events?format=sse')],
    ['an endless stream of an upstream', stream('/upstream/agentos/flood')],
  ])('of %s takes bounded memory and is disconnected', async (_name, open) => {
    const limits = { maxStreamsPerPrincipal: 1, subscriberStallTimeoutMs: STALL_MS, maxReadBytes: 1024 * 1024 }
    const { anna } = await serve(limits)
    await untilFinished(anna, (await startRun(anna, '', { component: 'wordy', session: 'wordy' })).id)
    const { id } = await startRun(anna, 'text 1; hang')
    const before = await heldMegabytes()
    expect((await open(anna, { stalled: true }).answer).status).toBe(200)
    let held = 0
    await until('it is disconnected', async () => {
      held = Math.max(held, (await heldMegabytes()) - before)
      return hasRoom(anna, id)
    })
    expect(held).toBeLessThan(HELD_MB_MAX)
  })

  /** A chat whose client reads one frame of a long response. */
  async function stalledChat(caller: Caller): Promise<void> {
    const socket = chatSocket(`${caller.url}/ai/wordy/chat`, caller.token)
    socket.on('open', () => socket.send(chatRequest('go')))
    await new Promise((resolve) => socket.once('message', resolve))
    socket.pause()
  }

  test('of a chat takes bounded memory', async () => {
    const { anna } = await serve({ subscriberStallTimeoutMs: 600_000, maxViewCacheBytes: 1_000_000 })
    const empty = await heldMegabytes()
    await untilFinished(anna, (await startRun(anna, '', { component: 'wordy' })).id)
    const ofRun = (await heldMegabytes()) - empty
    await stalledChat(anna)
    await until(
      'both runs are over',
      async () => (await call<RunList>(anna, 'GET', '/runs?status=completed')).body.runs.length === 2,
    )
    expect((await heldMegabytes()) - empty - 2 * ofRun).toBeLessThan(HELD_MB_MAX)
  })

  test('of a chat is disconnected', async () => {
    // Connection and stream count as one each.
    const { anna } = await serve({ maxStreamsPerPrincipal: 2, subscriberStallTimeoutMs: STALL_MS })
    const { id } = await startRun(anna, 'text 1; hang')
    await stalledChat(anna)
    expect(await hasRoom(anna, id, 2)).toBe(false)
    await until('there is room for two', () => hasRoom(anna, id, 2))
  })
})

interface RunList {
  readonly runs: readonly { readonly events: number }[]
}

/** Resolves when the server has noticed the disconnect of the next client. */
function nextDisconnected(): Promise<void> {
  return new Promise((resolve) => {
    const note = (message: unknown): void => {
      unsubscribe('net.server.socket', note)
      ;(message as { socket: Socket }).socket.once('close', () => resolve())
    }
    subscribe('net.server.socket', note)
  })
}

test('[SEC-2] AI SDK socket: a client that leaves while its request is handled leaves no stream behind', async () => {
  const store = createMemoryStore()
  const create = Promise.withResolvers<void>()
  const requested = Promise.withResolvers<void>()
  const slow = new Proxy(store, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target)
      if (typeof value !== 'function') return value
      const method = value.bind(target) as (...args: unknown[]) => unknown
      if (name !== 'create') return method
      return async (...args: unknown[]) => (requested.resolve(), await create.promise, method(...args))
    },
  })
  const server = await serveChats({ store: slow })
  const noticed = nextDisconnected()
  const socket = chatSocket(server.api('lab'))
  socket.on('open', () => socket.send(chatRequest('text 1; hang')))
  await requested.promise
  socket.terminate()
  await noticed
  create.resolve()
  await until('the run executes', async () =>
    (await call<RunList>(server, 'GET', '/runs')).body.runs.some(({ events }) => events > 2),
  )
  expect(server.service.load().subscribers).toBe(0)
})
