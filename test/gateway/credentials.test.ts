/** Credentials of upstreams: which one is sent, who owns the runs, and that a forwarded credential is stored nowhere else. */
import { readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { SignJWT } from 'jose'
import { describe, expect, onTestFinished, test } from 'vitest'
import { upstream } from '../../src/agents/upstream/upstream.ts'
import { gateway } from '../../src/cli/commands/gateway.ts'
import { CallerCredential } from '../../src/core/model/caller-credential.ts'
import { configOf } from '../../src/server/config/config.ts'
import type { Server } from '../../src/server/create-server.ts'
import { parseOptions } from '../../src/server/config/options.ts'
import { createMemoryStore } from '../../src/stores/memory.ts'
import { serveInProcess } from '../support/in-process.ts'
import { temporaryDatabase } from '../support/temporary.ts'
import { until } from '../support/until.ts'
import { chunk, sse } from './chat-server.ts'

interface KeyedServer {
  readonly url: string
  /** Of requests for completions. */
  readonly seen: (string | undefined)[]
  /** Releases the waiting responses. */
  readonly answer: () => void
}

/** Accepts only keys that begin with `sk-good`; repeats others in its error, as some servers do. */
async function startKeyedServer({ isGated = false } = {}): Promise<KeyedServer> {
  const seen: (string | undefined)[] = []
  const waiting: (() => void)[] = []
  const server = createServer((request, response) => {
    const { authorization } = request.headers
    if (request.url === '/v1/models') return void response.writeHead(401).end('{"error":{"message":"no key"}}')
    seen.push(authorization)
    request.resume().on('end', () => {
      if (authorization?.startsWith('Bearer sk-good') !== true && authorization?.startsWith('Bearer eyJ') !== true)
        return void response.writeHead(401).end(`{"error":{"message":"wrong key: ${authorization}"}}`)
      response
        .writeHead(200, { 'content-type': 'text/event-stream' })
        .write(sse(chunk({ content: `your ${authorization}` })))
      const finish = (): void => void response.end(sse(chunk({}, 'stop'), '[DONE]'))
      if (isGated) waiting.push(finish)
      else finish()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => server.close().closeAllConnections())
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    seen,
    answer: () => waiting.splice(0).forEach((finish) => finish()),
  }
}

const OPTIONS = { models: ['m'], forwardCredential: true } as const
const JWT_SECRET = 'a secret of at least thirty-two bytes'

function serve(url: string, more: Partial<Parameters<typeof serveInProcess>[0]> = {}): Promise<Server> {
  return serveInProcess({
    store: createMemoryStore(),
    components: [upstream.openai(url, OPTIONS)],
    auth: { passthrough: true },
    ...more,
  })
}

function start(server: Server, key?: string): Promise<Response> {
  return fetch(`${server.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(key !== undefined && { authorization: `Bearer ${key}` }) },
    body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'go' }], stream: true }),
  })
}

function read(server: Server, run: string, key: string, path = ''): Promise<Response> {
  return fetch(`${server.url}/runs/${run}${path}`, { headers: { authorization: `Bearer ${key}` } })
}

async function token(subject: string, secret = JWT_SECRET): Promise<string> {
  return new SignJWT({ jti: crypto.randomUUID() })
    .setProtectedHeader({ alg: 'HS256' })
    .setSubject(subject)
    .setExpirationTime('1h')
    .sign(new TextEncoder().encode(secret))
}

describe('gateway, --auth passthrough', () => {
  test('the upstream gets the key of the caller, and another key does not see the run', async () => {
    const { url, seen } = await startKeyedServer()
    const server = await serve(url)
    const response = await start(server, 'sk-good-ada')
    await response.text()
    expect(seen).toEqual(['Bearer sk-good-ada'])
    const run = response.headers.get('holdfast-run')!
    expect((await read(server, run, 'sk-good-ada')).status).toBe(200)
    expect((await read(server, run, 'sk-good-bob')).status).toBe(404)
    expect((await start(server)).status).toBe(401)
  })

  test('the owner is the claim of a token that was verified, so that a new token finds the run', async () => {
    const { url, seen } = await startKeyedServer()
    const server = await serve(url, { auth: { passthrough: true, jwt: { key: `secret:${JWT_SECRET}` } } })
    const [first, second, other] = [await token('ada'), await token('ada'), await token('bob')]
    const response = await start(server, first)
    await response.text()
    expect(seen).toEqual([`Bearer ${first}`])
    const run = response.headers.get('holdfast-run')!
    expect((await read(server, run, second)).status).toBe(200)
    expect((await read(server, run, other)).status).toBe(404)
    expect((await read(server, run, await token('ada', 'another secret that nobody here knows!'))).status).toBe(401)
  })

  test('[SEC-3] gateway: the credential is neither in the log nor in errors, also if the upstream repeats it', async () => {
    const { url } = await startKeyedServer()
    const path = temporaryDatabase()
    const lines: string[] = []
    const write = (fields: object, text?: string): void => void lines.push(JSON.stringify([fields, text]))
    const logger = { trace: write, debug: write, info: write, warn: write, error: write, fatal: write }
    const { openSqliteStore } = await import('../../src/stores/sqlite/index.ts')
    const server = await serve(url, { store: await openSqliteStore({ path }), logger })
    for (const key of ['sk-good-secret-1234', 'sk-bad-secret-5678']) {
      const response = await start(server, key)
      const text = await response.text()
      const log = await (await read(server, response.headers.get('holdfast-run')!, key, '/events')).text()
      expect(log).toContain('[credential]')
      for (const shown of [text, log]) expect(shown).not.toContain(key)
    }
    await server.close()
    const files = readdirSync(dirname(path)).map((name) => readFileSync(join(dirname(path), name)).toString('latin1'))
    expect(files.join('')).not.toMatch(/sk-(good|bad)-secret/)
    expect(lines.join('\n')).not.toMatch(/sk-(good|bad)-secret/)
  })

  test.for([
    ['is kept encrypted with a secret key, and used by the next process', ['5e'.repeat(32)], { status: 'completed' }],
    ['is lost without one, and the run fails as interrupted', [], { status: 'failed', error: { code: 'interrupted' } }],
  ] as const)('after a restart the credential %s', async ([, secretKeys, end]) => {
    const { url, seen, answer } = await startKeyedServer({ isGated: true })
    const path = temporaryDatabase()
    const { openSqliteStore } = await import('../../src/stores/sqlite/index.ts')
    const open = async () =>
      serve(url, {
        store: await openSqliteStore({ path }),
        components: [upstream.openai(url, { ...OPTIONS, recovery: 'retry' })],
        secretKeys,
      })
    const first = await open()
    const response = await start(first, 'sk-good-ada')
    const run = response.headers.get('holdfast-run')!
    await until('the upstream works', () => seen.length === 1)
    await first.close()
    const second = await open()
    const found = await until('the run ended', async () => {
      answer()
      const { status: now, ...rest } = (await (await read(second, run, 'sk-good-ada')).json()) as { status: string }
      return (now === 'completed' || now === 'failed') && { status: now, ...rest }
    })
    expect(found).toMatchObject(end)
    expect(seen).toEqual(
      end.status === 'completed' ? ['Bearer sk-good-ada', 'Bearer sk-good-ada'] : ['Bearer sk-good-ada'],
    )
    const kept = () => second.service.allDocuments({ collection: 'caller-credential', limit: 10 })
    await until('the credential is removed', async () => (await kept()).total === 0)
  })

  test('an upstream that wants the credential needs a server that has it', async () => {
    const options = { store: createMemoryStore(), components: [upstream.openai('http://x.example/v1', OPTIONS)] }
    await expect(serveInProcess(options)).rejects.toThrow('auth: { passthrough: true }')
    await expect(
      serveInProcess({ ...options, auth: { passthrough: true, securityKey: 'a-shared-key-of-some-length' } }),
    ).rejects.toThrow('cannot be combined')
  })
})

test('caller credential: it cannot be printed or serialized', () => {
  const credential = new CallerCredential('sk-"quoted"')
  expect(JSON.stringify({ credential }) + String(credential) + Object.keys(credential).join('')).not.toContain('sk-')
  expect(credential.removeFrom({ text: 'key sk-"quoted" is wrong' })).toEqual({ text: 'key [credential] is wrong' })
})

test('gateway: headers may be a function, which is called for each request', async () => {
  const { url, seen } = await startKeyedServer()
  let calls = 0
  const headers = () => Promise.resolve({ authorization: `Bearer sk-good-${++calls}` })
  const server = await serveInProcess({
    store: createMemoryStore(),
    components: [upstream.openai(url, { models: ['m'], headers })],
  })
  await (await start(server)).text()
  await (await start(server)).text()
  expect(new Set(seen).size).toBe(2)
})

test('gateway: --auth passthrough counts as authentication, and on-disconnect may differ per upstream', () => {
  const parse = (...flags: string[]) =>
    parseOptions(gateway.options, ['--upstream', 'openai=http://x.example/v1', ...flags], {})
  const { values, positionals } = parse('--auth', 'passthrough', '--host', '0.0.0.0', '--on-disconnect', 'openai=stop')
  expect(configOf({ values, positionals } as never).auth).toEqual({ passthrough: true })
  expect(values).toMatchObject({ 'on-disconnect': [{ name: 'openai', policy: 'stop' }] })
  expect(() => parse('--on-disconnect', 'openai=never')).toThrow('continue, stop')
})
