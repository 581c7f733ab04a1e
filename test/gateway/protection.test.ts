/** What protects an upstream: limits, a queue, retries, replicas and a circuit breaker. */
import { isDeepStrictEqual } from 'node:util'
import { describe, expect, test } from 'vitest'
import { agent } from '../../src/agents/agent.ts'
import { UpstreamPool } from '../../src/agents/shared/upstream-pool.ts'
import { upstream } from '../../src/agents/upstream/upstream.ts'
import type { OpenAiUpstreamOptions } from '../../src/agents/upstream/openai-source.ts'
import type { Server } from '../../src/server/create-server.ts'
import { createMemoryStore } from '../../src/stores/memory.ts'
import { framesIn, postForm } from '../protocols/agentos/serve.ts'
import { freePort } from '../support/free-port.ts'
import { serveInProcess } from '../support/in-process.ts'
import { until } from '../support/until.ts'
import { chunk, playing, type Play, sse, startChatServer } from './chat-server.ts'

const GOOD = playing(sse(chunk({ content: 'ok' }), chunk({}, 'stop'), '[DONE]'))

/** An address at which no server listens. */
async function deadUrl(): Promise<string> {
  return `http://127.0.0.1:${await freePort()}`
}

function serve(url: string, options: OpenAiUpstreamOptions): Promise<Server> {
  return serveInProcess({
    store: createMemoryStore(),
    components: [upstream.openai(url, { models: ['m'], ...options })],
  })
}

async function ask(server: Server): Promise<{ status: number; text: string; response: Response }> {
  const response = await fetch(`${server.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'go' }] }),
  })
  return { status: response.status, text: await response.text(), response }
}

function loadOf(server: Server) {
  return server.service.health().upstreams![0]!.load!
}

function pick({ running, queued }: ReturnType<typeof loadOf>) {
  return { running, queued }
}

/** Responds when released, and counts concurrent requests. */
function gated() {
  const waiting: (() => void)[] = []
  const seen = { most: 0 }
  const play: Play = async (response, body) => {
    seen.most = Math.max(
      seen.most,
      waiting.push(() => void GOOD(response, body)),
    )
  }
  return { play, waiting, seen, next: () => waiting.shift()!() }
}

describe('gateway, concurrency limit', () => {
  test('an upstream never works on more runs than allowed, the others wait, and health counts them', async () => {
    const { play, waiting, seen, next } = gated()
    const chat = await startChatServer({ m: play })
    const server = await serve(chat.url, { maxConcurrentRuns: 2 })
    const asked = Promise.all([1, 2, 3, 4, 5].map(() => ask(server)))
    for (let answered = 0; answered < 5; answered++) {
      const open = Math.min(2, 5 - answered)
      const load = { running: open, queued: 5 - answered - open }
      await until('the slots are used', () => waiting.length === open && isDeepStrictEqual(load, pick(loadOf(server))))
      next()
    }
    expect((await asked).map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
    expect(seen.most).toBe(2)
    await until('all slots are free', () => loadOf(server).running === 0)
  })

  test('a start beyond the queue gets 429 with Retry-After, in the form of the protocol', async () => {
    const { play, waiting, next } = gated()
    const chat = await startChatServer({ m: play })
    const server = await serve(chat.url, { maxConcurrentRuns: 1, maxQueuedRuns: 1 })
    const both = Promise.all([ask(server), ask(server)])
    await until('one runs and one waits', () => waiting.length === 1 && loadOf(server).queued === 1)
    const refused = await ask(server)
    expect(refused.status).toBe(429)
    expect(refused.response.headers.get('retry-after')).toBe('1')
    expect(JSON.parse(refused.text)).toMatchObject({ error: { message: expect.stringContaining('is busy') } })
    expect(loadOf(server).refused).toBe(1)
    next()
    await until('the second one runs', () => waiting.length === 1)
    next()
    expect((await both).map(({ status }) => status)).toEqual([200, 200])
  })

  test('a run that waits too long fails with upstream_overloaded, and is never sent', async () => {
    const { play, waiting, next } = gated()
    const chat = await startChatServer({ m: play })
    const server = await serve(chat.url, { maxConcurrentRuns: 1, queueTimeoutMs: 200 })
    const first = ask(server)
    await until('one runs', () => waiting.length === 1)
    expect((await ask(server)).text).toContain('upstream_overloaded')
    expect(loadOf(server)).toMatchObject({ queued: 0, refused: 1 })
    next()
    expect((await first).status).toBe(200)
    expect(chat.bodies).toHaveLength(1)
  })

  test('a run that waits for an answer of its user does not hold a slot', async () => {
    const asking = agent({
      id: 'asking',
      async *run(_input, context) {
        yield String(await context.ask('Which?'))
      },
    })
    const other = await serveInProcess({ store: createMemoryStore(), components: [asking] })
    const server = await serveInProcess({
      store: createMemoryStore(),
      components: [upstream.agentos(other.url, { maxConcurrentRuns: 1 })],
    })
    for (const session_id of ['one', 'two']) {
      const started = framesIn(
        await (await postForm(server, '/agents/asking/runs', { message: 'go', session_id })).text(),
      )
      expect(started.at(-1)?.event).toBe('RunPaused')
    }
    expect(loadOf(server)).toMatchObject({ running: 0, queued: 0 })
  })
})

describe('gateway, retries', () => {
  test('a refusal is repeated no sooner than its Retry-After says', async () => {
    const times: number[] = []
    const play: Play = (response, body) => {
      times.push(performance.now())
      if (times.length > 1) return GOOD(response, body)
      response.writeHead(503, { 'retry-after': '1' }).end('starting')
    }
    const chat = await startChatServer({ m: play })
    const server = await serve(chat.url, {})
    expect((await ask(server)).status).toBe(200)
    expect(times[1]! - times[0]!).toBeGreaterThanOrEqual(990)
    expect(loadOf(server)).toMatchObject({ retried: 1, circuit: 'closed' })
  })

  test('a run does not wait for an hour because the upstream says so', async () => {
    const chat = await startChatServer({
      m: (response) => void response.writeHead(429, { 'retry-after': '3600' }).end('slow down'),
    })
    const server = await serve(chat.url, {})
    expect((await ask(server)).text).toContain('upstream_http_error')
    expect(chat.bodies).toHaveLength(1)
  })

  test('a request that the upstream may have acted on is not repeated', async () => {
    const chat = await startChatServer({ m: (response) => void response.writeHead(500).end('boom') })
    const server = await serve(chat.url, { replicas: [(await startChatServer({ m: GOOD })).url] })
    const answers = await Promise.all(Array.from({ length: 8 }, () => ask(server)))
    expect(chat.bodies.length).toBeGreaterThan(0)
    expect(answers.filter(({ text }) => text.includes('upstream_http_error'))).toHaveLength(chat.bodies.length)
  })
})

describe('gateway, replicas', () => {
  test('sessions are spread, and each goes to the replica that it had before', async () => {
    const [one, two] = [await startChatServer({ m: GOOD }), await startChatServer({ m: GOOD })]
    const server = await serve(one.url, { replicas: [two.url], sessionHeader: 'x-session' })
    for (let round = 0; round < 2; round++)
      for (let number = 0; number < 12; number++) {
        const form = { message: 'go', session_id: `s${number}`, stream: 'false' }
        expect((await postForm(server, '/agents/m/runs', form)).status).toBe(200)
      }
    expect(one.bodies.length % 2).toBe(0)
    expect(one.bodies.length).toBeGreaterThan(0)
    expect(two.bodies.length).toBeGreaterThan(0)
    expect(one.bodies.length + two.bodies.length).toBe(24)
  })

  test('a replica that cannot be reached, or refuses, is passed over before the first byte', async () => {
    const refusing = await startChatServer({ m: (response) => void response.writeHead(503).end() })
    const good = await startChatServer({ m: GOOD })
    const server = await serve(`${await deadUrl()}/v1`, { replicas: [refusing.url, good.url] })
    const answers = await Promise.all(Array.from({ length: 12 }, () => ask(server)))
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
    expect(good.bodies).toHaveLength(12)
    expect(loadOf(server).failedOver).toBeGreaterThan(0)
    expect(server.service.health().upstreams).toMatchObject([{ status: 'ok' }])
  })

  test('[RUN-3] an answer that breaks off is not continued by another replica', async () => {
    const half = playing(sse(chunk({ content: 'half' })), 'break')
    const [one, two] = [await startChatServer({ m: half }), await startChatServer({ m: half })]
    const server = await serve(one.url, { replicas: [two.url] })
    expect((await ask(server)).text).toContain('upstream_cut')
    expect(one.bodies.length + two.bodies.length).toBe(1)
  })

  test('AgentOS: an answer goes to the replica that has the run', async () => {
    const asking = agent({
      id: 'asking',
      async *run(_input, context) {
        yield `got ${String(await context.ask('Which?'))}`
      },
    })
    const [one, two] = [
      await serveInProcess({ store: createMemoryStore(), components: [asking] }),
      await serveInProcess({ store: createMemoryStore(), components: [asking] }),
    ]
    const server = await serveInProcess({
      store: createMemoryStore(),
      components: [upstream.agentos(one.url, { replicas: [two.url] })],
    })
    // Sessions prefer replicas by a hash of their addresses, whose ports differ in every run.
    const pool = new UpstreamPool({ urls: [one.url, two.url] })
    const sessionsOf = (url: string): string[] =>
      Array.from({ length: 1000 }, (_, number) => `s${number}`)
        .filter((session) => pool.preferred(session)[0]!.url === url)
        .slice(0, 3)
    const runs = await Promise.all(
      [...sessionsOf(one.url), ...sessionsOf(two.url)].map((session) =>
        server.service.start({ id: 'local' }, { component: 'asking', input: 'go', session, protocol: 'test' }),
      ),
    )
    for (const { stored } of runs) {
      const { id } = stored.run
      const paused = await until('it asks', async () => {
        const { run } = await server.service.get({ id: 'local' }, id)
        return run.status === 'paused' && run
      })
      await server.service.answer({ id: 'local' }, id, { [paused.waiting![0]!.id]: { answer: 'blue' } })
      await until('it ends', async () => (await server.service.get({ id: 'local' }, id)).run.status === 'completed')
    }
    const counts = await Promise.all(
      [one, two].map(async ({ service }) => (await service.list({ id: 'local' })).runs.length),
    )
    expect(counts).toEqual([3, 3])
  })

  test('A2A: another replica does the work while the first one is down', async () => {
    const echo = agent({
      id: 'echo',
      async *run(input) {
        yield `heard ${input}`
      },
    })
    const other = await serveInProcess({ store: createMemoryStore(), components: [echo] })
    const server = await serveInProcess({
      store: createMemoryStore(),
      components: [upstream.a2a(`${await deadUrl()}/a2a/echo`, { replicas: [`${other.url}/a2a/echo`] })],
    })
    for (const session_id of ['a', 'b', 'c', 'd']) {
      const form = { message: 'go', session_id, stream: 'false' }
      expect(await (await postForm(server, '/agents/echo/runs', form)).json()).toMatchObject({ content: 'heard go' })
    }
  })
})

describe('gateway, circuit breaker', () => {
  const failing =
    (state: { isBroken: boolean }): Play =>
    (response, body) =>
      state.isBroken ? void response.writeHead(500).end('boom') : void GOOD(response, body)

  test('opens after failures in a row: starts get 503 at once, and health says so', async () => {
    const chat = await startChatServer({ m: failing({ isBroken: true }) })
    const server = await serve(chat.url, { circuitBreaker: { failureThreshold: 3, resetTimeoutMs: 3_600_000 } })
    for (let failure = 0; failure < 3; failure++) expect((await ask(server)).text).toContain('upstream_http_error')
    const { status, text, response } = await ask(server)
    expect(status).toBe(503)
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(3000)
    expect(JSON.parse(text)).toMatchObject({ error: { message: expect.stringContaining('circuit is open') } })
    expect(chat.bodies).toHaveLength(3)
    const health = (await (await fetch(`${server.url}/health`)).json()) as { upstreams: object[] }
    expect(health.upstreams).toMatchObject([
      { status: 'ok', load: { circuit: 'open', circuits: ['open'], refused: 1 } },
    ])
  })

  test('is closed by a request that succeeds after its time', async () => {
    const state = { isBroken: true }
    const chat = await startChatServer({ m: failing(state) })
    const server = await serve(chat.url, { circuitBreaker: { failureThreshold: 1, resetTimeoutMs: 100 } })
    await ask(server)
    state.isBroken = false
    await until('the circuit lets a probe through', async () => (await ask(server)).status === 200)
    expect(loadOf(server).circuit).toBe('closed')
  })

  test('refusals of a request do not open it', async () => {
    const chat = await startChatServer({ m: (response) => void response.writeHead(400).end('bad') })
    const server = await serve(chat.url, { circuitBreaker: { failureThreshold: 1 } })
    for (let refusal = 0; refusal < 3; refusal++) await ask(server)
    expect(chat.bodies).toHaveLength(3)
    expect(loadOf(server).circuit).toBe('closed')
  })
})

test('gateway: options of an upstream that do not exist or do not fit are named', () => {
  const misspelled = { maxConcurentRuns: 3 } as never
  expect(() => upstream.openai('http://x/v1', misspelled)).toThrow('did you mean maxConcurrentRuns?')
  expect(() => upstream.agentos('http://x', { maxConcurrentRuns: 0 })).toThrow(
    'maxConcurrentRuns must be a positive integer',
  )
  expect(() => upstream.a2a('http://x', { replicas: ['ftp://x'] })).toThrow('an http(s) address')
})
