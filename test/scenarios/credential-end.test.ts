/** Revocation and expiry end what a credential has opened, in every protocol, with a notice in its own form. */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { status } from '@grpc/grpc-js'
import { SignJWT } from 'jose'
import { expect, onTestFinished, test } from 'vitest'
import { WebSocket } from 'ws'
import { upstream } from '../../src/agents/upstream/upstream.ts'
import type { Authenticator } from '../../src/core/model/principal.ts'
import { openAuthenticator } from '../../src/server/auth/index.ts'
import { createKey, revokeKey } from '../../src/server/auth/api-keys.ts'
import { startEcho } from '../gateway/echo-server.ts'
import { all, Peer } from '../protocols/a2a/peer.ts'
import { type A2aServer, message, serveA2a } from '../protocols/a2a/serve.ts'
import { freePort } from '../support/free-port.ts'
import { getRun, startRun, type Target } from '../support/http.ts'
import { ManualClock } from '../support/manual-clock.ts'
import { temporaryFolder } from '../support/temporary.ts'
import { until } from '../support/until.ts'

const SECRET = 'a shared secret of more than 32 bytes'

interface Bearer extends Target {
  readonly token: string
  readonly run: string
}

/** An open exchange of a client: text that shows that it is open, and how it ended. */
interface Opened {
  readonly open: Promise<unknown>
  readonly ended: Promise<string>
}

type Opening = (bearer: Bearer, server: A2aServer) => Opened

const json = { 'content-type': 'application/json' }

/** An HTTP exchange; its text ends with `cut` if the connection was cut. */
function exchange({ url, token }: Bearer, path: string, init: RequestInit = {}): Opened {
  const got: string[] = []
  const begun = Promise.withResolvers<void>()
  const read = async (): Promise<string> => {
    const headers = { authorization: `Bearer ${token}`, ...(init.headers as Record<string, string>) }
    const response = await fetch(url + path, { ...init, headers })
    const decoder = new TextDecoder()
    if (response.status !== 200) got.push(`${response.status} `)
    try {
      for await (const piece of response.body!) {
        got.push(decoder.decode(piece, { stream: true }))
        begun.resolve()
      }
    } catch {
      got.push('cut')
    }
    return got.join('')
  }
  return { open: begun.promise, ended: read() }
}

/** Shows nothing before its response: it is open as soon as the server has accepted it. */
function waiting(bearer: Bearer, server: A2aServer, path: string, init?: RequestInit): Opened {
  const open = nextAdmitted(server)
  return { ...exchange(bearer, path, init), open }
}

/** Callers that wait for the next credential that is accepted. */
const admissions = new WeakMap<A2aServer, Set<() => void>>()

function nextAdmitted(server: A2aServer): Promise<void> {
  return new Promise((resolve) => admissions.get(server)!.add(resolve))
}

function post(body: object, headers: Record<string, string> = {}): RequestInit {
  return { method: 'POST', headers: { ...json, ...headers }, body: JSON.stringify(body) }
}

const rpc = (method: string, params: object): RequestInit =>
  post({ jsonrpc: '2.0', id: 1, method, params }, { 'a2a-version': '1.0' })

function socket({ url, token, run }: Bearer): Opened {
  const client = new WebSocket(`${url.replace('http', 'ws')}/agents/ws`)
  onTestFinished(() => client.terminate())
  const got: string[] = []
  const following = Promise.withResolvers<void>()
  client.on('error', () => {})
  client.on('open', () => client.send(JSON.stringify({ action: 'authenticate', token })))
  client.on('message', (data) => {
    const text = (data as Buffer).toString()
    got.push(text)
    if (text.includes('"authenticated"'))
      client.send(JSON.stringify({ action: 'reconnect', agent_id: 'lab', run_id: run }))
    if (text.includes('"subscribed"')) following.resolve()
  })
  const ended = new Promise<string>((resolve) => client.on('close', (code) => resolve(`${got.join('\n')}\n${code}`)))
  return { open: following.promise, ended }
}

/** A chat of the AI SDK, with its credential in the handshake. */
function chatSocket({ url, token }: Bearer): Opened {
  const client = new WebSocket(`${url.replace('http', 'ws')}/ai/lab/chat`, {
    headers: { authorization: `Bearer ${token}` },
  })
  onTestFinished(() => client.terminate())
  const streaming = Promise.withResolvers<void>()
  client.on('error', () => {})
  const chat = { type: 'send', requestId: 'r1', id: 'c1', trigger: 'submit-message', headers: {}, body: {} }
  const messages = [{ id: 'u1', role: 'user', parts: [{ type: 'text', text: 'text 2; hang' }] }]
  client.on('open', () => client.send(JSON.stringify({ ...chat, messages })))
  client.on('message', (data) => (data as Buffer).toString().includes('"chunk"') && streaming.resolve())
  const ended = new Promise<string>((resolve) =>
    client.on('close', (code, reason) => resolve(`${code} ${reason.toString()}`)),
  )
  return { open: streaming.promise, ended }
}

function grpcStream({ token, run }: Bearer, server: A2aServer): Opened {
  const stream = new Peer(grpcAddress(server)).stream(
    'SubscribeToTask',
    { id: run },
    { authorization: `Bearer ${token}` },
  )
  const open = new Promise((resolve) => stream.once('data', resolve))
  return { open, ended: all(stream).then(String, ({ code }: { code: number }) => status[code]!) }
}

const grpcPorts = new WeakMap<A2aServer, number>()

function grpcAddress(server: A2aServer): string {
  return `127.0.0.1:${grpcPorts.get(server)}`
}

/** The console's list without runs. It responds when the list has a new version. */
const EMPTY_VERSION = createHash('sha256').update('[[],false]').digest('base64url').slice(0, 16)

const openings: Readonly<Record<string, { readonly opening: Opening; readonly lastWords: RegExp }>> = {
  'native SSE': {
    opening: (bearer) => exchange(bearer, `/runs/${bearer.run}/events?format=sse`),
    lastWords: /event: stream\.failed\ndata: .*"code":"unauthenticated".*\n\n$/,
  },
  'native NDJSON': {
    opening: (bearer) => exchange(bearer, `/runs/${bearer.run}/events?format=ndjson`),
    lastWords: /\{"stream":"failed",.*"code":"unauthenticated".*\n$/,
  },
  'native long poll': {
    opening: (bearer, server) => waiting(bearer, server, `/runs/${bearer.run}/events?format=json&after=3&wait=60000`),
    lastWords: /^401 .*urn:holdfast:error:unauthenticated/,
  },
  'console long poll': {
    opening: (bearer, server) => waiting(bearer, server, `/console/api/runs?known=${EMPTY_VERSION}&session=empty`),
    lastWords: /^401 /,
  },
  'MCP stream': {
    opening: (bearer) =>
      exchange(bearer, '/mcp', rpc('tools/call', { name: 'lab', arguments: { input: 'text 2; hang' } })),
    lastWords: /"error":\{"code":-32000,.*"code":"unauthenticated"/,
  },
  'MCP without a stream': {
    opening: (bearer, server) =>
      waiting(
        bearer,
        server,
        '/mcp',
        post(
          {
            jsonrpc: '2.0',
            id: 1,
            method: 'tools/call',
            params: { name: 'lab', arguments: { input: 'hang' } },
          },
          { accept: 'application/json' },
        ),
      ),
    lastWords: /^401 .*"code":"unauthenticated"/,
  },
  'OpenAI chat stream': {
    opening: (bearer) =>
      exchange(
        bearer,
        '/v1/chat/completions',
        post({ model: 'lab', stream: true, messages: [{ role: 'user', content: 'text 2; hang' }] }),
      ),
    lastWords: /"error":\{.*credential/,
  },
  'OpenAI chat answer': {
    opening: (bearer, server) =>
      waiting(
        bearer,
        server,
        '/v1/chat/completions',
        post({ model: 'lab', messages: [{ role: 'user', content: 'text 2; hang' }] }),
      ),
    lastWords: /^401 \{"error":/,
  },
  'OpenAI response stream': {
    opening: (bearer) => exchange(bearer, '/v1/responses', post({ model: 'lab', stream: true, input: 'text 2; hang' })),
    lastWords: /cut$/,
  },
  'AI SDK UI stream': {
    opening: (bearer) =>
      exchange(
        bearer,
        '/ai/lab/chat',
        post({ messages: [{ role: 'user', parts: [{ type: 'text', text: 'text 2; hang' }] }] }),
      ),
    lastWords: /cut$/,
  },
  'AI SDK UI resumed stream': {
    opening: (bearer) => exchange(bearer, `/ai/lab/chat/${bearer.run}/stream`),
    lastWords: /cut$/,
  },
  'native snapshot stream': {
    opening: (bearer) => exchange(bearer, `/runs/${bearer.run}/events?format=sse&snapshot=1`),
    lastWords: /event: stream\.failed\ndata: .*"code":"unauthenticated".*\n\n$/,
  },
  'native session stream': {
    opening: (bearer) => exchange(bearer, '/native/sessions/none/events?format=sse'),
    lastWords: /event: stream\.failed\ndata: .*"code":"unauthenticated".*\n\n$/,
  },
  'native session long poll': {
    opening: (bearer, server) => waiting(bearer, server, '/native/sessions/none/events?wait=60000'),
    lastWords: /^401 .*urn:holdfast:error:unauthenticated/,
  },
  'AG-UI stream': {
    opening: (bearer) =>
      exchange(
        bearer,
        '/ag-ui/lab',
        post({ threadId: 't1', runId: 'r1', messages: [{ id: 'm1', role: 'user', content: 'text 2; hang' }] }),
      ),
    lastWords: /cut$/,
  },
  'Durable Streams SSE': {
    opening: (bearer) => exchange(bearer, `/v1/stream/${bearer.run}?offset=-1&live=sse`),
    lastWords: /cut$/,
  },
  'Durable Streams long poll': {
    opening: (bearer, server) => waiting(bearer, server, `/v1/stream/${bearer.run}?offset=now&live=long-poll`),
    lastWords: /^401 /,
  },
  'AG-UI resumed stream': {
    opening: (bearer) => exchange(bearer, `/ag-ui/lab/runs/${bearer.run}/events`),
    lastWords: /cut$/,
  },
  'AI SDK WebSocket': { opening: chatSocket, lastWords: /^1008 .*credential/ },
  'upstream stream': {
    opening: (bearer) => exchange(bearer, '/upstream/agentos/slow'),
    lastWords: /^data: one\n\ncut$/,
  },
  'upstream answer': {
    opening: (bearer, server) => waiting(bearer, server, '/upstream/agentos/never'),
    lastWords: /^401 .*urn:holdfast:error:unauthenticated/,
  },
  'A2A JSON-RPC stream': {
    opening: (bearer) => exchange(bearer, '/a2a/lab', rpc('SubscribeToTask', { id: bearer.run })),
    lastWords: /event: error\ndata: .*credential.*\n\n$/,
  },
  'A2A REST stream': {
    opening: (bearer) =>
      exchange(bearer, `/a2a/lab/tasks/${bearer.run}:subscribe`, { headers: { 'a2a-version': '1.0' } }),
    lastWords: /event: error\ndata: .*credential.*\n\n$/,
  },
  'A2A gRPC stream': { opening: grpcStream, lastWords: /^UNAUTHENTICATED$/ },
  'A2A gRPC call': {
    opening: ({ token }, server) => {
      const open = nextAdmitted(server)
      const answer = new Peer(grpcAddress(server)).call(
        'SendMessage',
        { message: message('text 2; hang') },
        { authorization: `Bearer ${token}` },
      )
      return {
        open,
        ended: answer.then(JSON.stringify, ({ code }: { code: number }) => status[code]!),
      }
    },
    lastWords: /^UNAUTHENTICATED$/,
  },
  'AgentOS SSE': {
    opening: (bearer) =>
      exchange(bearer, `/agents/lab/runs/${bearer.run}/resume`, { method: 'POST', body: new URLSearchParams() }),
    lastWords: /event: error\ndata: .*credential.*\n\n$/,
  },
  'OpenAI Responses WebSocket': {
    opening: ({ url, token }) => {
      const client = new WebSocket(`${url.replace('http', 'ws')}/v1/responses`, {
        headers: { authorization: `Bearer ${token}` },
      })
      onTestFinished(() => client.terminate())
      client.on('error', () => {})
      client.on('open', () =>
        client.send(JSON.stringify({ type: 'response.create', model: 'lab', input: 'text 2; hang' })),
      )
      const open = new Promise((resolve) => client.once('message', resolve))
      return { open, ended: new Promise((resolve) => client.on('close', (code) => resolve(String(code)))) }
    },
    lastWords: /^1008$/,
  },
  'AgentOS WebSocket': { opening: socket, lastWords: /"auth_error".*"unauthenticated".*\n1008$/s },
}

/** Streams of a revoked key end within this time of the server's clock. */
const REVOKED_MS_MAX = 2000
const STEP_MS = 100
/** Real time for the last frames to arrive on a busy machine, while the server's clock stands still. */
const ARRIVAL_MS = 60_000

interface Served {
  readonly server: A2aServer
  readonly keys: string
  readonly clock: ManualClock
  /** Advances the server's clock; credential checks, which read a file, finish before each next step. */
  readonly pass: (ms: number) => Promise<void>
}

async function serve(): Promise<Served> {
  const keys = join(temporaryFolder(), 'keys.json')
  await createKey(keys, { name: 'someone' })
  const clock = new ManualClock(new Date().toISOString())
  const checks = new Set<Promise<unknown>>()
  const admitted = new Set<() => void>()
  const opened = await openAuthenticator({ keys, jwt: { key: `secret:${SECRET}`, clockToleranceS: 0 } }, clock)
  const authenticator: Authenticator = {
    ...opened,
    async authenticate(credential) {
      const principal = await opened.authenticate(credential)
      for (const tell of admitted) tell()
      admitted.clear()
      return principal
    },
    async isRevoked(facts) {
      const check = Promise.resolve(opened.isRevoked!(facts))
      checks.add(check)
      return check.finally(() => checks.delete(check))
    },
  }
  const grpcPort = await freePort()
  const echo = await startEcho()
  const server = await serveA2a({
    auth: authenticator,
    components: [upstream.agentos(echo.url, { passthrough: 'prefix' })],
    clock,
    a2a: { grpcPort },
    limits: { longPollTimeoutMs: 120_000 },
  })
  grpcPorts.set(server, grpcPort)
  admissions.set(server, admitted)
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += STEP_MS) {
      await clock.pass(STEP_MS)
      while (checks.size > 0) await Promise.allSettled(checks)
    }
  }
  return { server, keys, clock, pass }
}

async function openAll(bearer: Bearer, server: A2aServer): Promise<Map<string, Promise<string>>> {
  const ended = new Map<string, Promise<string>>()
  for (const [name, { opening }] of Object.entries(openings)) {
    const opened = opening(bearer, server)
    ended.set(name, opened.ended)
    await opened.open
  }
  return ended
}

async function expectEnded(ended: Map<string, Promise<string>>): Promise<void> {
  const late = new AbortController()
  const stillOpen = wait(ARRIVAL_MS, 'still open', { signal: late.signal })
  for (const [name, { lastWords }] of Object.entries(openings))
    expect(await Promise.race([ended.get(name), stillOpen]), name).toMatch(lastWords)
  late.abort()
  await stillOpen.catch(() => {})
}

async function runOf(target: Target): Promise<string> {
  const { id } = await startRun(target, 'text 2; hang')
  await until('it speaks', async () => (await getRun(target, id)).events >= 4)
  return id
}

test('[SEC-2] a revoked key ends its streams, sockets, calls and waits within two seconds, and those of no other key', async () => {
  const { server, keys, pass } = await serve()
  const { key: token } = await createKey(keys, { name: 'mallory', principal: 'shared', scopes: ['admin'] })
  const { key: other } = await createKey(keys, { name: 'alice', principal: 'shared' })
  await pass(REVOKED_MS_MAX)
  const run = await runOf({ url: server.url, token })
  const mallory = { url: server.url, token, run }
  const kept = exchange({ ...mallory, token: other }, `/runs/${run}/events?format=sse`)
  await kept.open
  const ended = await openAll(mallory, server)
  await revokeKey(keys, 'mallory')
  await pass(REVOKED_MS_MAX)
  await expectEnded(ended)
  const alice = { url: server.url, token: other }
  // The run continues, and its other subscribers notice nothing.
  expect(await Promise.race([kept.ended, getRun(alice, run)])).toMatchObject({ status: 'running' })
})

test('[SEC-2] an expired token ends its open streams, and not before it expires', async () => {
  const { server, clock, pass } = await serve()
  const token = await new SignJWT({ sub: 'mallory', scopes: ['admin'], exp: Math.floor(clock.now() / 1000) + 10 })
    .setProtectedHeader({ alg: 'HS256' })
    .sign(new TextEncoder().encode(SECRET))
  const run = await runOf({ url: server.url, token })
  const ended = await openAll({ url: server.url, token, run }, server)
  let over = 0
  for (const end of ended.values()) void end.then(() => over++)
  await pass(8000)
  expect(await getRun({ url: server.url, token }, run)).toMatchObject({ status: 'running' })
  expect(over).toBe(0)
  await pass(REVOKED_MS_MAX + 1000)
  await expectEnded(ended)
})

test('[SEC-2] a WebSocket accepts no command from a revoked key', async () => {
  const { server, keys, pass } = await serve()
  const { key: token } = await createKey(keys, { name: 'mallory' })
  await pass(REVOKED_MS_MAX)
  const client = new WebSocket(`${server.url.replace('http', 'ws')}/agents/ws`)
  onTestFinished(() => client.terminate())
  const got: string[] = []
  client.on('open', () => client.send(JSON.stringify({ action: 'authenticate', token })))
  client.on('message', (data) => got.push((data as Buffer).toString()))
  const closed = new Promise<number>((resolve) => client.on('close', resolve))
  await until('it is let in', () => got.some((text) => text.includes('"authenticated"')))
  await revokeKey(keys, 'mallory')
  await pass(1000)
  const authorization = { headers: { authorization: `Bearer ${token}` } }
  expect((await fetch(`${server.url}/runs`, authorization)).status).toBe(401)
  if (client.readyState === client.OPEN)
    client.send(JSON.stringify({ action: 'start-agent', agent_id: 'lab', message: 'text 2' }))
  expect(await closed).toBe(1008)
  expect(got.join('\n')).not.toContain('RunStarted')
  expect(got.at(-1)).toContain('auth_error')
})
