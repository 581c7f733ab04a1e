/** The audit log: every action and refusal in every protocol, without secrets. */
import { execFileSync } from 'node:child_process'
import { constants } from 'node:fs'
import { open, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { WebSocket } from 'ws'
import { upstream } from '../../src/agents/upstream/upstream.ts'
import type { AuditEntry } from '../../src/core/access/audit.ts'
import { silentLogger } from '../../src/core/ports/logger.ts'
import { AuditFile } from '../../src/server/audit-sinks.ts'
import { createKey } from '../../src/server/auth/api-keys.ts'
import { startEcho } from '../gateway/echo-server.ts'
import { all, Peer } from '../protocols/a2a/peer.ts'
import { message, serveA2a } from '../protocols/a2a/serve.ts'
import { serveNative } from '../protocols/native/serve.ts'
import { EventStream } from '../support/event-stream.ts'
import { answerRun, call, postRun, readLog, startRun, stopRun, untilFinished, untilStatus } from '../support/http.ts'
import { freePort } from '../support/free-port.ts'
import { temporaryFolder } from '../support/temporary.ts'
import { until } from '../support/until.ts'

test('audit: an entry has principal, action, run, address and result, and no secret', async () => {
  const folder = temporaryFolder()
  const keys = join(folder, 'keys.json')
  const owner = await createKey(keys, { name: 'alice', principal: 'alice', tenant: 'acme' })
  const reader = await createKey(keys, { name: 'reader', principal: 'alice', tenant: 'acme', scopes: ['runs:read'] })
  const entries: AuditEntry[] = []
  const lines: object[] = []
  const note = (fields: object): void => void lines.push(fields)
  const logger = { ...silentLogger, info: note, warn: note }
  const grpcPort = await freePort()
  const server = await serveA2a({
    auth: { keys },
    audit: (entry) => entries.push(entry),
    logger,
    a2a: { grpcPort },
  })
  const [alice, viewer] = [owner, reader].map(({ key: token }) => ({ url: server.url, token }))
  const { id } = await startRun(alice!, 'say my-private-prompt; ask Go on?', { session: 's' })
  await untilStatus(alice!, id, ['paused'])
  expect((await postRun(viewer!, 'say kelp')).status).toBe(403)
  expect((await call(viewer!, 'POST', `/runs/${id}/stop`)).status).toBe(403)
  await answerRun(alice!, id, 'my-private-answer')
  await untilFinished(alice!, id)
  await readLog(viewer!, id)
  await stopRun(alice!, id)
  expect((await call({ url: server.url, token: 'hf_wrong_my-wrong-key' }, 'GET', '/runs')).status).toBe(401)
  const peer = new Peer(`127.0.0.1:${grpcPort}`)
  await expect(peer.call('SendMessage', { message: message('say kelp') })).rejects.toThrow('UNAUTHENTICATED')
  expect((await call(alice!, 'DELETE', `/runs/${id}`)).status).toBe(204)
  const by = (key: typeof owner): object => ({
    principal: 'acme/alice',
    credential: `key:${key.entry.id}`,
    from: '127.0.0.1',
  })
  expect(entries.map(({ at: _at, ...entry }) => entry)).toEqual([
    { action: 'start', ...by(owner), component: 'lab', run: id, session: 's', result: 'ok' },
    { action: 'start', ...by(reader), component: 'lab', result: 'forbidden' },
    { action: 'stop', ...by(reader), run: id, result: 'forbidden' },
    { action: 'answer', ...by(owner), run: id, result: 'ok' },
    { action: 'read', ...by(reader), run: id, result: 'ok' },
    { action: 'stop', ...by(owner), run: id, result: 'ok' },
    { action: 'authenticate', from: '127.0.0.1', result: 'unauthenticated' },
    { action: 'authenticate', from: '127.0.0.1', result: 'unauthenticated' },
    { action: 'remove', ...by(owner), run: id, result: 'ok' },
  ])
  expect(lines.flatMap((line) => ('audit' in line ? [line.audit] : []))).toEqual(entries)
  expect(JSON.stringify(lines)).not.toMatch(/my-private|my-wrong-key/)
  for (const { key } of [owner, reader]) expect(JSON.stringify(lines)).not.toContain(key.split('_')[2])
})

test('audit: a request passed to an upstream is logged with its status when the upstream answers, and without its query', async () => {
  const keys = join(temporaryFolder(), 'keys.json')
  const admin = await createKey(keys, { name: 'alice', principal: 'alice', scopes: ['admin'] })
  const reader = await createKey(keys, { name: 'reader', principal: 'alice', scopes: ['runs:read'] })
  const echo = await startEcho()
  const theirs = { authorization: 'Bearer their-secret' }
  const entries: AuditEntry[] = []
  const server = await serveNative({
    auth: { keys },
    audit: (entry) => entries.push(entry),
    components: [upstream.agentos(echo.url, { passthrough: 'root', headers: theirs })],
  })
  const pass = (key: string, path: string, method = 'GET'): Promise<Response> =>
    fetch(server.url + path, { method, headers: { authorization: `Bearer ${key}` } })
  expect((await pass(admin.key, '/upstream/agentos/memories/7?token=my-secret', 'DELETE')).status).toBe(200)
  expect((await pass(admin.key, '/traces/teapot')).status).toBe(418)
  expect((await pass(reader.key, '/upstream/agentos/memories')).status).toBe(403)
  // Before the stream ends.
  expect((await pass(admin.key, '/upstream/agentos/slow')).status).toBe(200)
  const by = ({ entry: { id } }: typeof admin): object => ({
    action: 'pass',
    principal: 'alice',
    credential: `key:${id}`,
    from: '127.0.0.1',
    upstream: 'agentos',
  })
  expect(entries.map(({ at: _at, ...entry }) => entry)).toEqual([
    { ...by(admin), request: 'DELETE /memories/7', status: 200, result: 'ok' },
    { ...by(admin), request: 'GET /traces/teapot', status: 418, result: 'ok' },
    { ...by(reader), request: 'GET /memories', result: 'forbidden' },
    { ...by(admin), request: 'GET /slow', status: 200, result: 'ok' },
  ])
  expect(JSON.stringify(entries)).not.toContain('secret')
  echo.state.finish()
})

test('audit: a stream of a session is logged as a read', async () => {
  const entries: AuditEntry[] = []
  const keys = join(temporaryFolder(), 'keys.json')
  const { key: token } = await createKey(keys, { name: 'alice', principal: 'alice' })
  const { url } = await serveNative({ auth: { keys }, audit: (entry) => entries.push(entry) })
  const stream = new EventStream(`${url}/native/sessions/s/events`, { headers: { authorization: `Bearer ${token}` } })
  onTestFinished(() => stream.cut())
  expect(await stream.status()).toBe(200)
  expect(entries).toMatchObject([{ action: 'read', principal: 'alice', session: 's', result: 'ok' }])
})

test('audit: a request that does not reach its upstream is logged as a failure', async () => {
  const entries: AuditEntry[] = []
  const keys = join(temporaryFolder(), 'keys.json')
  const { key } = await createKey(keys, { name: 'alice', scopes: ['admin'] })
  const dead = `http://127.0.0.1:${await freePort()}`
  const server = await serveNative({
    auth: { keys },
    audit: (entry) => entries.push(entry),
    components: [upstream.agentos(dead, { passthrough: 'prefix' })],
  })
  const headers = { authorization: `Bearer ${key}` }
  expect((await fetch(`${server.url}/upstream/agentos/memories`, { headers })).status).toBe(503)
  expect(entries).toMatchObject([{ action: 'pass', request: 'GET /memories', result: 'unavailable' }])
})

test('audit: a gRPC stream and a WebSocket subscription are logged as reads', async () => {
  const keys = join(temporaryFolder(), 'keys.json')
  const { key: token } = await createKey(keys, { name: 'alice' })
  const entries: AuditEntry[] = []
  const grpcPort = await freePort()
  const server = await serveA2a({
    auth: { keys },
    audit: (entry) => entries.push(entry),
    a2a: { defaultComponent: 'lab', grpcPort },
  })
  const reads = (): string[] => entries.filter(({ action }) => action === 'read').map(({ run }) => run!)
  const { id } = await startRun({ url: server.url, token }, 'text 1')
  await untilFinished({ url: server.url, token }, id)
  const peer = new Peer(`127.0.0.1:${grpcPort}`)
  const replies = await all(
    peer.stream('SendStreamingMessage', { message: message('text 1') }, { authorization: `Bearer ${token}` }),
  )
  expect(reads()).toEqual([replies[0]!.task!.id])
  const socket = new WebSocket(`${server.url.replace('http', 'ws')}/agents/ws`)
  onTestFinished(() => socket.terminate())
  socket.on('open', () => {
    socket.send(JSON.stringify({ action: 'authenticate', token }))
    socket.send(JSON.stringify({ action: 'reconnect', run_id: id }))
  })
  await until('the subscription is on the audit log', () => reads().includes(id))
  expect(entries.at(-1)).toMatchObject({ action: 'read', principal: 'key:alice', from: '127.0.0.1', result: 'ok' })
})

test('audit: the file has one JSON object per line, is readable by its owner alone, and an unwritable path is rejected', async () => {
  const path = join(temporaryFolder(), 'audit.jsonl')
  const file = await AuditFile.open(path, silentLogger)
  const entry: AuditEntry = {
    at: '2026-01-01T00:00:00.000Z',
    action: 'stop',
    principal: 'alice',
    run: 'run_1',
    result: 'ok',
  }
  file.sink(entry)
  file.sink({ ...entry, result: 'forbidden' })
  await file.close()
  expect((await stat(path)).mode & 0o777).toBe(0o600)
  const written = (await readFile(path, 'utf8')).trimEnd().split('\n')
  expect(written.map((line) => JSON.parse(line) as AuditEntry)).toEqual([entry, { ...entry, result: 'forbidden' }])
  await expect(AuditFile.open('/no/such/folder/audit.jsonl', silentLogger)).rejects.toThrow('cannot be written')
})

test('audit: a file that is written too slowly loses entries beyond a bound, and the log says so once', async () => {
  const path = join(temporaryFolder(), 'pipe')
  execFileSync('mkfifo', [path])
  const reader = await open(path, constants.O_RDONLY | constants.O_NONBLOCK) // and reads nothing
  const errors: unknown[] = []
  const file = await AuditFile.open(path, { ...silentLogger, error: (fields) => void errors.push(fields) })
  const entry: AuditEntry = { at: '', action: 'read', run: 'r'.repeat(1000), result: 'ok' }
  for (let count = 0; count < 7000; count++) file.sink(entry)
  expect(errors).toEqual([])
  for (let count = 0; count < 7000; count++) file.sink(entry)
  expect(errors).toEqual([{ reason: 'the disk is too slow' }])
  await reader.close()
})

test('audit: a stream that a client writes has an entry for its creation, each append and its removal', async () => {
  const entries: AuditEntry[] = []
  const server = await serveNative({ audit: (entry) => entries.push(entry) })
  const ask = async (method: string, body?: string): Promise<number> => {
    const headers = { 'content-type': 'text/plain' }
    return (await fetch(`${server.url}/v1/stream/news`, { method, headers, ...(body && { body }) })).status
  }
  expect(await ask('PUT')).toBe(201)
  expect(await ask('POST', 'my-private-text')).toBe(204)
  expect(await ask('DELETE')).toBe(204)
  const [created, appended, removed, ...more] = entries
  expect(created).toMatchObject({ action: 'start', component: 'durable-stream', result: 'ok' })
  expect(appended).toMatchObject({ action: 'append', run: created!.run, result: 'ok' })
  expect(removed).toMatchObject({ action: 'remove', run: created!.run, result: 'ok' })
  expect(more).toEqual([])
  expect(JSON.stringify(entries)).not.toContain('my-private-text')
})
