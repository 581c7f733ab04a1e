import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { serve as serveHono } from '@hono/node-server'
import express from 'express'
import { Hono } from 'hono'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { WebSocket } from 'ws'
import { temporaryDatabase, temporaryFolder } from '../../test/support/temporary.ts'
import { until } from '../../test/support/until.ts'
import { agent } from '../agents/agent.ts'
import type { LoggedEvent } from '../client/index.ts'
import { silentLogger } from '../core/ports/logger.ts'
import { createMemoryStore } from '../stores/memory.ts'
import { type Holdfast, holdfast } from './holdfast.ts'
import type { HoldfastOptions } from './options.ts'

const echo = agent({
  id: 'echo',
  async *run(input) {
    yield `you said ${input}`
  },
})

const waiting = agent({
  id: 'waiting',
  async *run(_input, { signal }) {
    yield 'begun'
    await once(signal, 'abort')
  },
})

function mount(options: Partial<HoldfastOptions> = {}): Holdfast {
  const hf = holdfast({
    components: [echo, waiting],
    store: createMemoryStore(),
    limits: { drainTimeoutMs: 0 },
    ...options,
  })
  onTestFinished(() => hf.close())
  return hf
}

/** Address of a server with this listener. */
async function listen(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => (server.closeAllConnections(), void server.close()))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

function start(url: string, input = 'hi', init: RequestInit = {}): Request {
  return new Request(`${url}/runs`, {
    method: 'POST',
    body: JSON.stringify({ component: 'echo', input }),
    ...init,
    headers: { 'content-type': 'application/json', ...(init.headers as Record<string, string>) },
  })
}

async function collect(events: AsyncIterable<LoggedEvent>): Promise<LoggedEvent[]> {
  const found: LoggedEvent[] = []
  for await (const event of events) found.push(event)
  return found
}

describe('holdfast(): runs in process', () => {
  test('are started, followed and listed without a server', async () => {
    const hf = mount()
    const run = await hf.runs.start({ component: 'echo', input: 'hi' })
    const types = []
    for await (const event of run.events()) types.push(event.type)
    expect(types).toEqual(['run.created', 'run.started', 'text.delta', 'run.completed'])
    expect((await hf.runs.list()).runs.map(({ id }) => id)).toEqual([run.id])
  })

  test('hf.client lists sessions and components of the principal local', async () => {
    const hf = mount()
    await (await hf.client.runs.start({ component: 'echo', input: 'hi', session: 's' })).result()
    expect((await hf.client.sessions.list()).sessions.map(({ id }) => id)).toEqual(['s'])
    expect((await hf.client.components.list()).map(({ id }) => id)).toContain('echo')
  })

  test('[SUB-2] give a snapshot, the last events, only new ones, or those of some types and actors', async () => {
    const asking = agent({
      id: 'asking',
      async *run(_input, { ask }) {
        yield 'one '
        yield 'two '
        yield String(await ask('Go on?'))
      },
    })
    const hf = mount({ components: [asking] })
    const run = await hf.runs.start({ component: 'asking', input: 'hi' })
    await until('it asks', async () => (await run.get()).status === 'paused')
    const { events: count } = await run.get()
    const snapshot = await run.snapshot()
    const [tail, news] = [run.events({ tail: 2 }), run.events({ after: 'end' })]
    const loops = [tail, news, run.events({ types: ['text.*'] }), run.events({ actors: ['asking'], types: ['run.*'] })]
    const all = Promise.all(loops.map((loop) => collect(loop)))
    await until('both are placed', () => tail.cursor >= count - 3 && news.cursor === count - 1)
    await run.answer({ answer: 'three' })
    const found = await all
    const log = await collect(hf.runs.open(run.id).events())
    const of = (kind: RegExp): typeof log => log.filter(({ type }) => kind.test(type))
    expect(found).toEqual([log.slice(count - 2), log.slice(count), of(/^text\.|^run\.completed$/), of(/^run\./)])
    expect(snapshot.structure.lifecycle).toMatchObject({ status: 'paused' })
    expect(await collect(snapshot)).toEqual(log.slice(count))
  })

  test('[SEC-1] belong to the principal that they were started for', async () => {
    const hf = mount({ protocols: ['openai'], authenticate: () => null })
    const alice = hf.clientFor({ id: 'alice' })
    const { id } = await alice.runs.start({ component: 'echo', input: 'hi' })
    expect((await alice.runs.list()).runs).toHaveLength(1)
    expect((await hf.runs.list()).runs).toEqual([])
    await expect(hf.runs.get(id)).rejects.toMatchObject({ status: 404 })
  })
})

describe('holdfast(): below a base path', () => {
  const basePath = '/api/agents'

  async function links(url: string, serve: (request: Request) => Promise<Response>): Promise<unknown> {
    const started = await serve(start(url))
    const card = await serve(
      new Request(`${url}/a2a/echo/.well-known/agent-card.json`, { headers: { 'a2a-version': '1.0' } }),
    )
    const openapi = await serve(new Request(`${url}/openapi.json`))
    const root = await serve(new Request(`${url}/`, { headers: { accept: 'text/html' }, redirect: 'manual' }))
    const { id } = (await started.json()) as { id: string }
    return {
      location: started.headers.get('location')!.replace(id, 'ID'),
      card: ((await card.json()) as { supportedInterfaces: { url: string }[] }).supportedInterfaces[0]!.url,
      servers: ((await openapi.json()) as { servers: unknown }).servers,
      console: root.headers.get('location'),
    }
  }

  const expected = (origin: string) => ({
    location: '/api/agents/runs/ID',
    card: `${origin}/api/agents/a2a/echo`,
    servers: [{ url: '/api/agents' }],
    console: '/api/agents/console',
  })

  test('fetch: links name it, whether or not the router removed it', async () => {
    const { fetch } = mount({ basePath })
    for (const url of ['http://localhost/api/agents', 'http://localhost'])
      expect(await links(url, fetch)).toEqual(expected('http://localhost'))
  })

  test('node: links name it, for plain http and for Express', async () => {
    const hf = mount({ basePath })
    const plain = await listen(hf.node)
    expect(await links(`${plain}/api/agents`, (request) => fetch(request))).toEqual(expected(plain))
    const app = await listen(express().use('/api/agents', mount().node))
    expect(await links(`${app}/api/agents`, (request) => fetch(request))).toEqual(expected(app))
  })

  test('node: links name what a trusted proxy took off', async () => {
    const url = await listen(mount({ trustProxy: ['loopback'] }).node)
    const proxied = (request: Request): Promise<Response> =>
      fetch(
        new Request(request, {
          headers: { ...Object.fromEntries(request.headers), 'x-forwarded-prefix': '/api/agents' },
        }),
      )
    expect(await links(url, proxied)).toEqual(expected(url))
  })

  test('the console loads its files and talks to its server there', async () => {
    const hf = mount({ basePath })
    const page = await (await hf.fetch(new Request('http://localhost/api/agents/console'))).text()
    const [, script] = /src="([^"]+)"/.exec(page)!
    expect(page).toContain('<meta name="holdfast-base" content="/api/agents"')
    expect(page).not.toMatch(/(src|href)="\/console/)
    const asset = await hf.fetch(new Request(`http://localhost${script}`))
    expect([asset.status, asset.headers.get('content-type')]).toEqual([200, 'text/javascript; charset=utf-8'])
  })
})

describe('holdfast(): protocols at other paths', () => {
  const protocols = {
    native: '/api',
    openai: '/openai/v1',
    a2a: '/agents-a2a',
    agentos: '/os',
    console: '/ui',
  } as const

  test('are followed by Location, cards, the OpenAPI document, share links and the console', async () => {
    const hf = mount({ protocols, basePath: '/x' })
    const url = 'http://localhost/x'
    const ask = async (path: string, init?: RequestInit): Promise<Response> => hf.fetch(new Request(url + path, init))
    const html = { headers: { accept: 'text/html' } }
    const started = await hf.fetch(start(`${url}/api`))
    const { id } = (await started.json()) as { id: string }
    expect(started.headers.get('location')).toBe(`/x/api/runs/${id}`)
    expect((await ask(`/api/runs/${id}`)).status).toBe(200)
    const card = (await (await ask('/.well-known/agent-card.json', { headers: { 'a2a-version': '1.0' } })).json()) as {
      supportedInterfaces: { url: string }[]
    }
    expect(card.supportedInterfaces[0]!.url).toBe(`${url}/agents-a2a/echo`)
    expect((await ask('/agents-a2a/echo/.well-known/agent-card.json')).status).toBe(200)
    expect(await (await ask('/api/openapi.json')).json()).toMatchObject({ servers: [{ url: '/x/api' }] })
    expect((await ask('/', html)).headers.get('location')).toBe('/x/ui')
    expect((await ask('/os/agents')).status).toBe(200)
    expect((await ask('/openai/v1/models')).status).toBe(200)
    const share = (await (await ask(`/api/runs/${id}/shares`, { method: 'POST' })).json()) as { path: string }
    const shared = await ask(`/api${share.path}`, html)
    const page = new URL(shared.headers.get('location')!, `${url}/api/runs/${id}/events`)
    expect(page.pathname).toBe(`/x/ui/runs/${id}`)
    const text = await (await ask('/ui')).text()
    expect(text).toContain('<meta name="holdfast-base" content="/x/api"')
    expect(text).toContain('<meta name="holdfast-console" content="/x/ui"')
    expect(text).toContain('<meta name="holdfast-a2a" content="/x/agents-a2a"')
    const [, script] = /src="([^"]+)"/.exec(text)!
    expect((await hf.fetch(new Request(`http://localhost${script}`))).status).toBe(200)
    expect((await ask('/ui/api/runs')).status).toBe(200)
  })

  test('leave their own paths free, and keep their error form', async () => {
    const { fetch } = mount({ protocols })
    const body = async (path: string): Promise<unknown> => (await fetch(new Request(`http://localhost${path}`))).json()
    for (const path of ['/runs', '/v1/models', '/a2a/echo', '/agents', '/console'])
      expect([path, await body(path)]).toEqual([path, expect.objectContaining({ status: 404 })])
    expect(await body('/openai/v1/nothing')).toMatchObject({ error: { type: 'invalid_request_error' } })
    expect(await body('/os/agents/nothing')).toMatchObject({ detail: expect.any(String) })
    expect(await body('/api/runs/nothing')).toMatchObject({ code: 'not_found' })
    expect(await body('/health')).toMatchObject({ status: 'ok' })
    expect(await body('/api/health')).toMatchObject({ status: 'ok' })
  })

  test('serve WebSockets and runs in process', async () => {
    const hf = mount({ protocols, basePath: '/x' })
    const server = createServer(hf.node).listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => (server.closeAllConnections(), void server.close()))
    hf.attach(server)
    const socket = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}/x/os/agents/ws`)
    onTestFinished(() => socket.terminate())
    expect(String(((await once(socket, 'message')) as [Buffer])[0])).toContain('Connected to AgentOS')
    const run = await hf.runs.start({ component: 'echo', input: 'hi' })
    let text = ''
    for await (const piece of run.text()) text += piece
    expect(text).toBe('you said hi')
  })

  test('`true` is the default path', async () => {
    const { fetch } = mount({ protocols: { native: true, openai: '/openai' } })
    expect((await fetch(new Request('http://localhost/runs'))).status).toBe(200)
    expect((await fetch(new Request('http://localhost/openai/models'))).status).toBe(200)
  })
})

describe('holdfast(): beside the routes of an application', () => {
  test('node: other paths go to the next handler, unchanged', async () => {
    const app = express()
    app.use('/api/agents', mount({ protocols: ['native'], corsOrigins: ['https://app.example'] }).node)
    app.use((request, response) => void response.send(`app: ${request.originalUrl}`))
    const url = await listen(app)
    const other = await fetch(`${url}/api/agents/other?a=1`, { headers: { origin: 'https://app.example' } })
    expect([await other.text(), other.headers.get('access-control-allow-origin')]).toEqual([
      'app: /api/agents/other?a=1',
      null,
    ])
    expect(await (await fetch(`${url}/api/agents/v1/models`)).text()).toBe('app: /api/agents/v1/models')
    expect((await fetch(`${url}/api/agents/runs`)).status).toBe(200)
  })

  test('node: a path outside of the base path is the application’s, also if it looks like one of Holdfast’s', async () => {
    const app = express().use(mount({ basePath: '/api/agents' }).node)
    app.use((request, response) => void response.send(`app: ${request.originalUrl}`))
    const url = await listen(app)
    expect(await (await fetch(`${url}/runs`)).text()).toBe('app: /runs')
    expect((await fetch(`${url}/api/agents/runs`)).status).toBe(200)
  })

  test('node: a body that express.json() has read is not waited for', async () => {
    const app = express().use(express.json()).use('/api', mount().node)
    const response = await fetch(start(`${await listen(app)}/api`))
    expect(response.status).toBe(202)
  })

  test('node: middleware that replaces write sees the bytes of a stream', async () => {
    let seen = 0
    const app = express().use((_request, response, next) => {
      const write = response.write.bind(response) as (...given: unknown[]) => boolean
      response.write = ((chunk: string | Uint8Array, ...rest: unknown[]) => {
        seen += chunk.length
        return write(chunk, ...rest)
      }) as typeof response.write
      next()
    })
    app.use(mount().node)
    const response = await fetch(start(await listen(app), 'hi', { headers: { accept: 'text/event-stream' } }))
    const text = await response.text()
    expect(text).toContain('you said hi')
    expect(seen).toBeGreaterThan(text.length / 2)
  })

  test('attach: serves WebSockets of its own, and leaves those of others alone', async () => {
    const hf = mount({ basePath: '/api' })
    const server = createServer(hf.node).listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => (server.closeAllConnections(), void server.close()))
    const detach = hf.attach(server)
    const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}`
    const socket = new WebSocket(`${url}/api/agents/ws`)
    onTestFinished(() => socket.terminate())
    const [message] = (await once(socket, 'message')) as [Buffer]
    expect(String(message)).toContain('Connected to AgentOS')
    const refused = new WebSocket(`${url}/elsewhere`)
    expect(String(await once(refused, 'error'))).toContain('404')
    const others: string[] = []
    server.on('upgrade', ({ url: path = '' }, duplex) => {
      others.push(path)
      duplex.destroy()
    })
    const other = new WebSocket(`${url}/elsewhere`)
    await once(other, 'error')
    expect(others).toContain('/elsewhere')
    detach()
    expect(server.listenerCount('upgrade')).toBe(1)
  })
})

describe('holdfast(): in Hono', () => {
  test('a client that leaves ends its stream, and nothing is printed', async () => {
    const printed = vi.spyOn(console, 'error').mockImplementation(() => {})
    const info = vi.spyOn(console, 'info').mockImplementation(() => {})
    onTestFinished(() => (printed.mockRestore(), info.mockRestore()))
    const hf = mount()
    const app = new Hono().mount('/api', hf.fetch)
    const server = serveHono({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' })
    await once(server, 'listening')
    onTestFinished(() => void server.close())
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api`
    const client = new AbortController()
    const run = await hf.runs.start({ component: 'waiting', input: '' })
    const stream = await fetch(`${url}/runs/${run.id}/events`, {
      headers: { accept: 'text/event-stream' },
      signal: client.signal,
    })
    await stream.body!.getReader().read()
    const subscribers = async (): Promise<number> =>
      ((await (await fetch(`${url}/health`)).json()) as { subscribers: number }).subscribers
    expect(await subscribers()).toBe(1)
    client.abort()
    await until('the stream has ended', async () => (await subscribers()) === 0)
    expect(printed.mock.calls).toEqual([])
    await run.stop({ waitMs: 10_000 })
  })
})

describe('holdfast(): authenticate', () => {
  const bearer = ({ headers }: { headers: Headers }) => {
    const [, id] = /user=(\w+)/.exec(headers.get('cookie') ?? '') ?? []
    return id === undefined ? null : { id }
  }

  test('[SEC-1] the application says who calls, by its cookies', async () => {
    const { fetch } = mount({ authenticate: bearer })
    const url = 'https://app.example'
    const as = (user: string, init: RequestInit = {}) => ({ ...init, headers: { cookie: `user=${user}` } })
    expect((await fetch(start(url))).status).toBe(401)
    const { id } = (await (await fetch(start(url, 'hi', as('alice')))).json()) as { id: string }
    expect((await fetch(new Request(`${url}/runs/${id}`, as('alice')))).status).toBe(200)
    expect((await fetch(new Request(`${url}/runs/${id}`, as('bob')))).status).toBe(404)
    const foreign = start(url, 'hi', { headers: { cookie: 'user=alice', origin: 'https://evil.example' } })
    expect((await fetch(foreign)).status).toBe(403)
  })

  test('sees what middleware added to a request of Node', async () => {
    const app = express().use((request, _response, next) => {
      Object.assign(request, { user: { id: 'carol' } })
      next()
    })
    app.use('/api', mount({ authenticate: ({ raw }) => (raw as { user: { id: string } }).user }).node)
    const url = await listen(app)
    expect((await fetch(start(`${url}/api`))).status).toBe(202)
  })

  test('comes before keys, which decide about everybody else', async () => {
    const { fetch } = mount({ authenticate: bearer, auth: { securityKey: 'a'.repeat(16) } })
    const url = 'http://localhost'
    const status = async (headers: Record<string, string>): Promise<number> =>
      (await fetch(start(url, 'hi', { headers }))).status
    expect(await status({ cookie: 'user=alice' })).toBe(202)
    expect(await status({ authorization: `Bearer ${'a'.repeat(16)}` })).toBe(202)
    expect(await status({ authorization: `Bearer ${'b'.repeat(16)}` })).toBe(401)
  })

  test.each(['local', 'key:admin', 'share:x', ''])('the id %j is refused: it is not a user’s', async (id) => {
    const { fetch } = mount({ authenticate: () => ({ id }), logger: silentLogger })
    expect((await fetch(new Request('http://localhost/runs'))).status).toBe(500)
  })

  test('a WebSocket is authenticated by its upgrade request', async () => {
    const hf = mount({ authenticate: bearer })
    const server = createServer(hf.node).listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => (server.closeAllConnections(), void server.close()))
    hf.attach(server)
    const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}/agents/ws`
    for (const [cookie, needs] of [
      ['user=alice', false],
      ['', true],
    ] as const) {
      const socket = new WebSocket(url, { headers: { cookie } })
      onTestFinished(() => socket.terminate())
      const [message] = (await once(socket, 'message')) as [Buffer]
      expect(String(message)).toContain(`"requires_auth":${needs}`)
    }
  })
})

describe('holdfast(): a store that cannot be opened', () => {
  test('is reported on every path in the protocol’s form, and opened again', async () => {
    const folder = temporaryFolder()
    const path = join(folder, 'file', 'holdfast.db')
    const { writeFile, rm } = await import('node:fs/promises')
    await writeFile(join(folder, 'file'), '')
    const errors: unknown[] = []
    const logger = { ...silentLogger, error: (fields: object) => void errors.push(fields) }
    const hf = mount({ store: `sqlite:${path}`, logger })
    const ask = async (at: string): Promise<[number, string | null, unknown]> => {
      const response = await hf.fetch(new Request(`http://localhost${at}`))
      return [response.status, response.headers.get('retry-after'), await response.json()]
    }
    expect(await ask('/runs')).toMatchObject([
      503,
      '1',
      { code: 'unavailable', type: 'urn:holdfast:error:unavailable' },
    ])
    expect(await ask('/v1/models')).toMatchObject([
      503,
      '1',
      { error: { message: expect.stringContaining('cannot start') } },
    ])
    expect(await ask('/a2a/echo')).toMatchObject([503, '1', { error: { code: 503 } }])
    expect(await ask('/agents')).toMatchObject([503, '1', { detail: expect.stringContaining('cannot start') }])
    await expect(hf.ready()).rejects.toThrow(/ENOTDIR|not a directory|EEXIST/)
    expect(errors.length).toBeGreaterThan(0)
    await rm(join(folder, 'file'))
    await until('the store is opened', async () => (await ask('/runs'))[0] === 200)
  })
})

describe('holdfast(): one instance per store and process', () => {
  test('a second call continues the runs of the first, and serves its own components', async () => {
    const store = `sqlite:${temporaryDatabase()}`
    const limits = { drainTimeoutMs: 0 }
    const first = holdfast({ components: [echo, waiting], store, limits })
    const run = await first.runs.start({ component: 'waiting', input: '' })
    await until('the run has begun', async () => (await run.get()).events >= 3)
    const changed = agent({
      id: 'echo',
      run: async function* (input) {
        yield `${input}, changed`
      },
    })
    const second = holdfast({ components: [changed], store, limits })
    onTestFinished(() => second.close())
    let text = ''
    for await (const piece of (await second.runs.start({ component: 'echo', input: 'hi' })).text()) text += piece
    expect(text).toBe('hi, changed')
    await first.close() // it is no longer the first's
    expect((await run.get()).status).toBe('running')
    expect((await second.runs.list()).runs).toHaveLength(2)
    expect((await run.stop({ waitMs: 10_000 })).status).toBe('cancelled')
  })

  test('[SEC-2] a second call with other settings takes the store over: the first serves nothing by settings that are not its own', async () => {
    const store = `sqlite:${temporaryDatabase()}`
    const limits = { drainTimeoutMs: 0 }
    const logger = silentLogger
    const first = holdfast({ components: [echo, waiting], store, limits, logger })
    const url = 'http://localhost'
    const streamed = await first.fetch(
      new Request(`${url}/runs`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
        body: JSON.stringify({ component: 'echo', input: 'hi' }),
      }),
    )
    await streamed.text()
    const second = holdfast({ components: [echo, waiting], store, limits, logger, basePath: '/api' })
    onTestFinished(() => second.close())
    const listed = await second.fetch(new Request(`${url}/api/runs`))
    expect(((await listed.json()) as { runs: unknown[] }).runs).toHaveLength(1)
    const refused = await first.fetch(new Request(`${url}/runs`))
    expect([refused.status, await refused.text()]).toEqual([503, expect.stringContaining('has taken over the store')])
    await first.close()
    expect((await second.fetch(new Request(`${url}/api/runs`))).status).toBe(200)
  })

  test('a store that was given open survives other settings, and closes with the last', async () => {
    const store = createMemoryStore()
    const first = holdfast({ components: [echo], store, logger: silentLogger })
    await (await first.runs.start({ component: 'echo', input: 'hi' })).result()
    const second = holdfast({ components: [echo], store, basePath: '/api' })
    expect((await second.runs.list()).runs).toHaveLength(1)
    await second.close()
    expect((await second.fetch(new Request('http://localhost/runs'))).status).toBe(503)
  })

  test('`memory:` is a new store with every call', async () => {
    const [first, second] = [mount({ store: 'memory:' }), mount({ store: 'memory:' })]
    await (await first.runs.start({ component: 'echo', input: 'hi' })).result()
    expect((await second.runs.list()).runs).toEqual([])
  })

  test('the store of a closed instance can be opened again', async () => {
    const store = `sqlite:${temporaryDatabase()}`
    const first = holdfast({ components: [echo], store })
    await (await first.runs.start({ component: 'echo', input: 'hi' })).result()
    await Promise.all([first.close(), first.close()])
    const again = holdfast({ components: [echo], store })
    onTestFinished(() => again.close())
    expect((await again.runs.list()).runs).toHaveLength(1)
  })
})

describe('holdfast(): process model', () => {
  test('waitUntil gets a promise that settles when the response is sent and no run executes', async () => {
    const promises: Promise<unknown>[] = []
    const hf = mount({ waitUntil: (promise) => void promises.push(promise) })
    const waits = new Request('http://localhost/runs', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ component: 'waiting', input: '' }),
    })
    const { id } = (await (await hf.fetch(waits)).json()) as { id: string }
    expect(promises).toHaveLength(1)
    let isIdle = false
    void promises[0]!.then(() => (isIdle = true))
    await until('the run has begun', async () => (await hf.runs.get(id)).events >= 3)
    expect(isIdle).toBe(false)
    await hf.runs.stop(id, { waitMs: 10_000 })
    await promises[0]
    await (await hf.fetch(new Request('http://localhost/other'))).text()
    expect(promises).toHaveLength(1) // not for a path of somebody else
  })

  test('a reload does not pile up listeners for signals, and close removes them', async () => {
    const store = `sqlite:${temporaryDatabase()}`
    const before = process.listenerCount('SIGUSR2')
    const reloaded = [1, 2, 3].map(() => holdfast({ components: [echo], store, closeOn: ['SIGUSR2'] }))
    expect(process.listenerCount('SIGUSR2')).toBe(before + 1)
    await reloaded.at(-1)!.close()
    expect(process.listenerCount('SIGUSR2')).toBe(before)
  })
})

describe('holdfast(): options are checked when they are given', () => {
  const base = { components: [echo] }
  test.each([
    [{ ...base, authenticte: () => null }, 'unknown option authenticte'],
    [{}, 'components is missing'],
    [{ components: [echo, echo] }, 'two components have the id echo'],
    [{ ...base, store: 'mysql://user:hunter2@host' }, 'store: unsupported'],
    [{ ...base, store: 'file.db' }, 'sqlite:PATH'],
    [{ ...base, basePath: 'api' }, 'such as /api/agents'],
    [{ ...base, basePath: '/agents' }, 'use another one, such as /api/agents'],
    [{ ...base, protocols: ['grpc'] }, '"grpc" is unknown; use native'],
    [{ ...base, protocols: ['console'] }, 'console needs native'],
    [{ ...base, protocols: { native: 'api' } }, 'native: "api" is not a path such as /'],
    [{ ...base, protocols: { openai: '/../v1' } }, 'is not a path such as /v1'],
    [{ ...base, protocols: { openai: false } }, 'openai: false is not a path'],
    [{ ...base, protocols: { openai: '/' } }, 'cannot be /; use one such as /v1'],
    [{ ...base, protocols: { a2a: '/a/{id}' } }, 'has an unknown parameter'],
    [
      { ...base, protocols: { native: '/', openai: '/runs/v1' } },
      'openai at /runs/v1 collides with native, which serves /runs',
    ],
    [{ ...base, protocols: { console: '/health', native: '/' } }, 'collides with health'],
    [{ ...base, protocols: { native: '/api' }, basePath: '/api' }, 'basePath: /api is a path of the protocols'],
    [{ ...base, execute: false }, 'postgres://'],
    [{ ...base, waitUntil: true }, 'waitUntil must be a function'],
    [{ ...base, closeOn: ['SIGTREM'] }, '"SIGTREM" is not a signal such as SIGTERM'],
    [{ ...base, authenticate: 'yes' }, 'authenticate must be a function'],
    [{ ...base, trustProxy: ['proxy'] }, 'is not an address'],
    [{ ...base, a2a: { signer: {} } }, 'a2a.signer needs a2a.url'],
  ])('%j', (options, message) => {
    const open = (): Holdfast => holdfast(options as unknown as HoldfastOptions)
    expect(open).toThrow(message)
    expect(open).not.toThrow('hunter2')
  })
})
