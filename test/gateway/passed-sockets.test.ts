/** WebSockets that are passed through to an upstream. */
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { upstream } from '../../src/agents/upstream/upstream.ts'
import { createKey, revokeKey } from '../../src/server/auth/api-keys.ts'
import type { Server } from '../../src/server/create-server.ts'
import { createMemoryStore } from '../../src/stores/memory.ts'
import { type InProcessOptions, serveInProcess } from '../support/in-process.ts'
import { temporaryFolder } from '../support/temporary.ts'
import { until } from '../support/until.ts'

/** Echoes messages at `/v1/echo`; refuses other paths with 403. */
async function startSocketUpstream() {
  const requested: IncomingMessage[] = []
  const state = { open: 0 }
  const http = createServer((_request, response) => response.end('{"data":[]}'))
  const sockets = new WebSocketServer({ noServer: true, handleProtocols: () => 'kelp' })
  http.on('upgrade', (request, socket, head) => {
    requested.push(request)
    if (!request.url!.startsWith('/v1/echo')) return void socket.end('HTTP/1.1 403 Forbidden\r\n\r\n')
    sockets.handleUpgrade(request, socket, head, (client) => {
      state.open++
      client.on('close', () => state.open--)
      client.on('message', (data, isBinary) => client.send(data, { binary: isBinary }))
      client.send('hello')
    })
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const client of sockets.clients) client.terminate()
    http.close().closeAllConnections()
  })
  return { url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/v1`, asked: requested, state }
}

function serve(url: string, options: InProcessOptions = {}): Promise<Server> {
  const components = [
    upstream.openai(url, { passthrough: 'prefix', headers: { authorization: 'Bearer theirs' }, models: [] }),
  ]
  return serveInProcess({ store: createMemoryStore(), components, ...options })
}

function connect(server: Server, path: string, bearer?: string): WebSocket {
  const headers = bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }
  const socket = new WebSocket(server.url.replace('http', 'ws') + path, ['kelp'], { headers })
  socket.on('error', () => {})
  onTestFinished(() => socket.terminate())
  return socket
}

/** The status with which a handshake was refused. */
async function refusal(socket: WebSocket): Promise<number> {
  const [, response] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage]
  return response.statusCode!
}

test('gateway, WebSockets: messages pass both ways, with the upstream’s key and the client’s subprotocol', async () => {
  const far = await startSocketUpstream()
  const server = await serve(far.url)
  const socket = connect(server, '/upstream/openai/echo?a=b')
  expect(String((await once(socket, 'message'))[0])).toBe('hello')
  expect(socket.protocol).toBe('kelp')
  for (const sent of ['kelp', Buffer.alloc(8 * 1024 * 1024, 7)]) {
    socket.send(sent)
    const [data] = (await once(socket, 'message')) as [Buffer]
    expect(data.equals(Buffer.from(sent))).toBe(true)
  }
  const [{ url, headers } = { url: undefined, headers: {} }] = far.asked
  expect(url).toBe('/v1/echo?a=b')
  expect(headers).toMatchObject({ authorization: 'Bearer theirs', 'sec-websocket-protocol': 'kelp' })
  socket.close()
  await until('the upstream’s side is closed', () => far.state.open === 0)
})

test('gateway, WebSockets: a refusal of the upstream is passed on, and an unreachable upstream is unavailable', async () => {
  const far = await startSocketUpstream()
  const server = await serve(far.url)
  expect(await refusal(connect(server, '/upstream/openai/other'))).toBe(403)
  expect(await refusal(connect(server, '/upstream/nobody/echo'))).toBe(404)
  expect(await refusal(connect(server, '/upstream/openai/%252e%252e/admin'))).toBe(400)
  expect(far.asked.length).toBe(1)
  const gone = await serve('http://127.0.0.1:9/v1')
  expect(await refusal(connect(gone, '/upstream/openai/echo'))).toBe(503)
})

test('[SEC-1] gateway, WebSockets: only administrators use the upstream’s key, and no longer than their credential', async () => {
  const far = await startSocketUpstream()
  const keys = `${temporaryFolder()}/keys.json`
  const { key: user } = await createKey(keys, { name: 'user' })
  const { key: admin } = await createKey(keys, { name: 'admin', scopes: ['admin'] })
  const server = await serve(far.url, { auth: { keys } })
  expect(await refusal(connect(server, '/upstream/openai/echo'))).toBe(401)
  expect(await refusal(connect(server, '/upstream/openai/echo', user))).toBe(403)
  expect(far.asked).toEqual([])
  const socket = connect(server, '/upstream/openai/echo', admin)
  await once(socket, 'message')
  const closed = once(socket, 'close')
  await revokeKey(keys, 'admin')
  await closed
  await until('the upstream’s side is closed', () => far.state.open === 0)
})

test('[SEC-2] gateway, WebSockets: they count as streams of their principal, and get 429 beyond the limit', async () => {
  const far = await startSocketUpstream()
  const keys = `${temporaryFolder()}/keys.json`
  const { key } = await createKey(keys, { name: 'admin', scopes: ['admin'] })
  const server = await serve(far.url, { auth: { keys }, limits: { maxStreamsPerPrincipal: 1 } })
  const socket = connect(server, '/upstream/openai/echo', key)
  await once(socket, 'message')
  expect(await refusal(connect(server, '/upstream/openai/echo', key))).toBe(429)
  expect(far.asked).toHaveLength(1)
  socket.terminate()
  await until('the place is free', () => far.state.open === 0)
  await once(connect(server, '/upstream/openai/echo', key), 'message')
})

test('gateway, WebSockets: connections are closed when the server shuts down', async () => {
  const far = await startSocketUpstream()
  const server = await serve(far.url)
  const socket = connect(server, '/upstream/openai/echo')
  await once(socket, 'message')
  const closed = once(socket, 'close')
  await server.close()
  await closed
  await until('the upstream’s side is closed', () => far.state.open === 0)
  expect(socket.readyState).toBe(WebSocket.CLOSED)
})
