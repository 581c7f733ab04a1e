/** Keys and tokens that allow one component only, in every protocol. The route walk shows the same of keys that only read. */
import { join } from 'node:path'
import { SignJWT } from 'jose'
import { describe, expect, onTestFinished, test } from 'vitest'
import { WebSocket } from 'ws'
import { createKey } from '../../src/server/auth/api-keys.ts'
import { message, serveA2a } from '../protocols/a2a/serve.ts'
import { call, startRun, type Target, untilStatus } from '../support/http.ts'
import { temporaryFolder } from '../support/temporary.ts'
import { until } from '../support/until.ts'

const SECRET = 'a shared secret of more than 32 bytes'

interface Callers {
  readonly alice: Target
  /** Alice's credential that only reads. */
  readonly reader: Target
  /** Alice's credentials for `lab`: by our scope, and by the one of AgentOS. */
  readonly key: Target
  readonly token: Target
}

async function serve(): Promise<Callers> {
  const keys = join(temporaryFolder(), 'keys.json')
  const alice = await createKey(keys, { name: 'alice', principal: 'alice' })
  const reader = await createKey(keys, { name: 'reader', principal: 'alice', scopes: ['runs:read'] })
  const limited = await createKey(keys, { name: 'limited', principal: 'alice', scopes: ['component:lab'] })
  const token = await new SignJWT({ sub: 'alice', scopes: ['agents:lab:run'] })
    .setExpirationTime('1h')
    .setProtectedHeader({ alg: 'HS256' })
    .sign(Buffer.from(SECRET))
  const { url } = await serveA2a({ auth: { keys, jwt: { key: `secret:${SECRET}` } } })
  const target = ({ key }: typeof alice): Target => ({ url, token: key })
  return { alice: target(alice), reader: target(reader), key: target(limited), token: { url, token } }
}

const starts: readonly (readonly [string, (component: string) => readonly [path: string, body: unknown]])[] = [
  ['native', (component) => ['/runs', { component, input: 'text 1' }]],
  ['OpenAI chat', (model) => ['/v1/chat/completions', { model, messages: [{ role: 'user', content: 'text 1' }] }]],
  ['OpenAI Responses', (model) => ['/v1/responses', { model, input: 'text 1' }]],
  ['A2A', (component) => [`/a2a/${component}/message:send`, { message: message('text 1') }]],
  [
    'AI SDK UI',
    (component) => [
      `/ai/${component}/chat`,
      { messages: [{ role: 'user', parts: [{ type: 'text', text: 'text 1' }] }] },
    ],
  ],
  [
    'MCP',
    (name) => [
      '/mcp',
      { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: { input: 'text 1' } } },
    ],
  ],
  [
    'AG-UI',
    (component) => [
      `/ag-ui/${component}`,
      { threadId: 't', runId: 'r', messages: [{ id: 'm', role: 'user', content: 'text 1' }] },
    ],
  ],
  ['AgentOS', (component) => [`/agents/${component}/runs`, { message: 'text 1', stream: false }]],
]

test.each(starts)('[SEC-2] %s: a credential for one component starts that one and no other', async (_name, request) => {
  const { key, token } = await serve()
  for (const caller of [key, token]) {
    const start = (component: string) => {
      const [path, body] = request(component)
      return call(caller, 'POST', path, { body, headers: { 'a2a-version': '1.0' } })
    }
    expect((await start('lab')).status).toBeLessThan(300)
    expect((await start('echo')).status).toBe(403)
  }
})

test.each(starts)('[SEC-2] %s: a credential that only reads starts nothing', async (_name, request) => {
  const { alice, reader } = await serve()
  const [path, body] = request('lab')
  expect((await call(reader, 'POST', path, { body, headers: { 'a2a-version': '1.0' } })).status).toBe(403)
  expect((await call<{ runs: unknown[] }>(alice, 'GET', '/runs')).body.runs).toEqual([])
})

/** The first message of the server, or how it refuses the handshake. */
function firstChatMessage({ url, token }: Target, component: string): Promise<string> {
  const headers = { authorization: `Bearer ${token ?? ''}` }
  const socket = new WebSocket(`${url.replace('http', 'ws')}/ai/${component}/chat`, { headers })
  onTestFinished(() => socket.terminate())
  const messages = [{ id: 'u1', role: 'user', parts: [{ type: 'text', text: 'text 1' }] }]
  const sent = { type: 'send', requestId: 'r1', id: 'c', trigger: 'submit-message', headers: {}, body: {}, messages }
  socket.on('open', () => socket.send(JSON.stringify(sent)))
  return new Promise((resolve) => {
    socket.on('error', () => {}) // the handshake is refused
    socket.on('unexpected-response', (_request, { statusCode = 0 }) => resolve(`handshake ${statusCode}`))
    socket.on('message', (data: Buffer) => resolve(data.toString()))
  })
}

test('[SEC-2] AI SDK WebSocket: a credential starts what its scopes allow, and nothing else', async () => {
  const { alice, reader, key, token } = await serve()
  for (const caller of [key, token]) {
    expect(await firstChatMessage(caller, 'lab')).toContain('"chunk"')
    expect(await firstChatMessage(caller, 'echo')).toMatch(/^handshake 403$|may not start/)
  }
  expect(await firstChatMessage(reader, 'lab')).toMatch(/^handshake 403$|may not start/)
  const { body } = await call<{ runs: { component: string }[] }>(alice, 'GET', '/runs')
  expect(body.runs.map(({ component }) => component)).toEqual(['lab', 'lab'])
})

test('[SEC-2] WebSocket: a credential for one component starts that one and no other', async () => {
  const { key, token } = await serve()
  for (const { url, token: shown } of [key, token]) {
    const socket = new WebSocket(`${url.replace('http', 'ws')}/agents/ws`)
    onTestFinished(() => socket.terminate())
    const seen: string[] = []
    socket.on('message', (data: Buffer) => seen.push(data.toString()))
    await until('it is open', () => seen.length > 0)
    socket.send(JSON.stringify({ action: 'authenticate', token: shown }))
    socket.send(JSON.stringify({ action: 'start-agent', agent_id: 'echo', message: 'text 1' }))
    await until('it is refused', () => seen.some((text) => text.includes('forbidden')))
    expect(seen.join('\n')).not.toContain('RunStarted')
    socket.send(JSON.stringify({ action: 'start-agent', agent_id: 'lab', message: 'text 1' }))
    await until('it starts', () => seen.some((text) => text.includes('RunStarted')))
  }
})

test('[SEC-2] a credential for one component neither lists, reads, answers, stops nor removes runs of another', async () => {
  const { alice, key, token } = await serve()
  const own = await startRun(alice, 'ask Go on?')
  const other = await startRun(alice, 'x', { component: 'surveyor' })
  await untilStatus(alice, own.id, ['paused'])
  await untilStatus(alice, other.id, ['paused'])
  for (const caller of [key, token]) {
    const { body } = await call<{ runs: { id: string }[] }>(caller, 'GET', '/runs')
    expect(body.runs.map(({ id }) => id)).toEqual([own.id])
    expect((await call(caller, 'GET', `/runs/${own.id}`)).status).toBe(200)
    for (const [method, path] of [
      ['GET', ''],
      ['GET', '/events'],
      ['POST', '/answers'],
      ['POST', '/stop'],
      ['DELETE', ''],
      ['GET', '/links'],
    ] as const) {
      const answered = method === 'POST' ? { body: { answer: 1 } } : {}
      expect((await call(caller, method, `/runs/${other.id}${path}`, answered)).status, method + path).toBe(403)
    }
  }
  await untilStatus(alice, other.id, ['paused'])
})

test('[SEC-2] session events: a credential for one component gets the events of that one alone', async () => {
  const { alice, reader, key, token } = await serve()
  const own = await startRun(alice, 'text 1', { session: 's' })
  const other = await startRun(alice, 'x', { component: 'surveyor', session: 's' })
  await untilStatus(alice, own.id, ['completed'])
  await untilStatus(alice, other.id, ['paused'])
  const runsOf = async (caller: Target): Promise<string[]> => {
    const seen = new Set<string>()
    for (let after = ''; ;) {
      const path = `/native/sessions/s/events${after === '' ? '' : `?after=${encodeURIComponent(after)}`}`
      const { body, status } = await call<{ events: { run: string }[]; cursor: string }>(caller, 'GET', path)
      expect(status).toBe(200)
      for (const { run } of body.events) seen.add(run)
      if (body.events.length === 0) return [...seen].toSorted()
      after = body.cursor
    }
  }
  for (const caller of [alice, reader]) expect(await runsOf(caller)).toEqual([own.id, other.id].toSorted())
  for (const caller of [key, token]) expect(await runsOf(caller)).toEqual([own.id])
  // A cursor that names a run of another component opens nothing.
  const all = await call<{ cursor: string }>(alice, 'GET', '/native/sessions/s/events?after=end')
  const query = `?after=${encodeURIComponent(all.body.cursor)}`
  await call(alice, 'POST', `/runs/${other.id}/stop`)
  await untilStatus(alice, other.id, ['cancelled'])
  const { body } = await call<{ events?: unknown[] }>(key, 'GET', `/native/sessions/s/events${query}`)
  expect(body.events ?? []).toEqual([])
})

const mcp = (method: string, params: object): object => ({ jsonrpc: '2.0', id: 1, method, params })
const reads: readonly (readonly [
  string,
  (component: string, run: { id: string; session: string }) => readonly [method: string, path: string, body?: object],
])[] = [
  ['AG-UI thread', (component, { session }) => ['GET', `/ag-ui/${component}/threads/${session}`]],
  ['AG-UI events', (component, { id }) => ['GET', `/ag-ui/${component}/runs/${id}/events`]],
  ['AI SDK messages', (component, { session }) => ['GET', `/ai/${component}/chat/${session}/messages`]],
  ['AI SDK stream', (component, { id }) => ['GET', `/ai/${component}/chat/${id}/stream`]],
  ['MCP task', (_component, { id }) => ['POST', '/mcp', mcp('tasks/get', { taskId: id })]],
  ['MCP result', (_component, { id }) => ['POST', '/mcp', mcp('tasks/result', { taskId: id })]],
]

describe.each(reads)('[SEC-2] %s', (_name, request) => {
  test('is read by credentials for its component, and by those that only read', async () => {
    const { alice, reader, key, token } = await serve()
    const run = await startRun(alice, 'say kelp', { session: 's' })
    await untilStatus(alice, run.id, ['completed'])
    const [method, path, body] = request('lab', run)
    for (const caller of [reader, key, token]) {
      const answer = await call(caller, method, path, body && { body })
      expect(answer.status).toBe(200)
      expect(JSON.stringify(answer.body)).not.toContain('may not')
    }
  })

  test('shows nothing of it to a credential for another component', async () => {
    const { alice, key, token } = await serve()
    const run = await startRun(alice, 'my-kelp', { component: 'surveyor', session: 's' })
    await untilStatus(alice, run.id, ['paused'])
    const [method, path, body] = request('surveyor', run)
    for (const caller of [key, token]) {
      const answer = await call(caller, method, path, body && { body })
      const text = JSON.stringify(answer.body)
      expect(text).not.toMatch(/my-kelp|How long/)
      const isEmpty = answer.status === 204 || text === '[]' || text.startsWith('{"messages":[]')
      expect(isEmpty || answer.status === 403 || text.includes('may not read'), `${answer.status} ${text}`).toBe(true)
    }
  })
})

test.each([
  ['AG-UI', (run: { session: string }) => [`/ag-ui/lab/threads/${run.session}/stop`, {}] as const],
  ['MCP', (run: { id: string }) => ['/mcp', mcp('tasks/cancel', { taskId: run.id })] as const],
])('[SEC-2] %s: a credential that only reads stops nothing', async (_name, request) => {
  const { alice, reader, key } = await serve()
  const run = await startRun(alice, 'hang', { session: 's' })
  const [path, body] = request(run)
  expect((await call(reader, 'POST', path, { body })).status).toBe(403)
  expect((await call(alice, 'GET', `/runs/${run.id}`)).body).not.toHaveProperty('stop')
  await call(key, 'POST', path, { body })
  await untilStatus(alice, run.id, ['cancelled'])
})
