/** Hostile WebSocket clients: memory per connection is bounded, and the close frame has the reason. */
import { connect, type Socket } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { WebSocket } from 'ws'
import type { Server } from '../../../src/server/create-server.ts'
import { createMemoryStore } from '../../../src/stores/memory.ts'
import { overriding } from '../../../src/testing/broken-stores/overriding.ts'
import { heldMegabytes } from '../../support/memory.ts'
import { until } from '../../support/until.ts'
import { type AgentOsServeOptions, serveAgentOs } from './serve.ts'

const MB = 1_000_000

async function serveGuarded(options: AgentOsServeOptions = {}): Promise<Server> {
  return serveAgentOs({ auth: { securityKey: 'open-sesame-0123456789' }, ...options })
}

/** A WebSocket connection whose client never reads. */
async function upgraded(server: Pick<Server, 'url'>): Promise<Socket> {
  const { hostname, port } = new URL(server.url)
  const socket = connect(Number(port), hostname)
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => {})
  socket.write(
    'GET /agents/ws HTTP/1.1\r\nhost: localhost\r\nupgrade: websocket\r\nconnection: upgrade\r\n' +
      'sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
  )
  await new Promise<void>((resolve, reject) => {
    socket.once('close', () => reject(new Error('the upgrade was refused')))
    socket.once('data', (answer) =>
      answer.includes(' 101 ') ? resolve() : reject(new Error(`the upgrade was refused: ${answer.toString()}`)),
    )
  })
  socket.pause()
  return socket
}

/** A masked frame; the mask of zeros leaves the payload as it is. */
function frame(payload: string | Buffer, { opcode = 1, final = true, claimed = payload.length } = {}): Buffer {
  const head = Buffer.alloc(8)
  head[0] = opcode | (final ? 0x80 : 0)
  const bytes = Buffer.from(payload)
  if (claimed < 126) {
    head[1] = 0x80 | claimed
    return Buffer.concat([head.subarray(0, 2), Buffer.alloc(4), bytes])
  }
  head[1] = 0xff
  const length = Buffer.alloc(8)
  length.writeBigUInt64BE(BigInt(claimed))
  return Buffer.concat([head.subarray(0, 2), length, Buffer.alloc(4), bytes])
}

interface Flooded {
  /** Bytes that were sent before the server stopped reading or ended the connection. */
  readonly sent: number
  /** Peak memory of this process above its initial value, in MB. */
  readonly held: number
}

/** Sends the same bytes until the server ends the connection, or has taken all of them. */
async function flood(socket: Socket, chunk: Buffer, bytes: number): Promise<Flooded> {
  const before = await heldMegabytes()
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  let isClosed = false
  void closed.then(() => (isClosed = true))
  let held = 0
  let sent = 0
  for (; sent < bytes && !isClosed; sent += chunk.length) {
    const drained = new Promise<void>((resolve) => socket.write(chunk, () => resolve()))
    await Promise.race([drained, closed])
    if (sent % (4 * MB) < chunk.length) held = Math.max(held, (await heldMegabytes()) - before)
  }
  return { sent, held }
}

function repeated(one: Buffer, bytes: number): Buffer {
  return Buffer.concat(Array.from({ length: Math.floor(bytes / one.length) }, () => one))
}

describe('[SEC-2] a WebSocket client that never reads', () => {
  // What the server reads at once stays below the count that is refused as a flood, so that only backpressure can hold it.
  test('a client that floods the server with requests is no longer read, then disconnected', async () => {
    const limits = { subscriberStallTimeoutMs: 1500, socketAuthTimeoutMs: 600_000, heartbeatIntervalMs: 600_000 }
    const server = await serveGuarded({ limits })
    const { sent, held } = await flood(await upgraded(server), repeated(frame('0'.padEnd(100)), 5000), 24 * MB)
    expect(held).toBeLessThan(20)
    expect(sent).toBeLessThan(24 * MB)
  })

  test('a flood of pings does not fill the server’s memory', async () => {
    const server = await serveAgentOs()
    const ping = frame('x'.repeat(100), { opcode: 9 })
    const { held } = await flood(await upgraded(server), repeated(ping, 60_000), 24 * MB)
    expect(held).toBeLessThan(20)
  })
})

test('[SEC-2] a WebSocket is not read while its requests wait', async () => {
  const kept = createMemoryStore()
  const gate = Promise.withResolvers<void>()
  const store = overriding(kept, {
    create: async (draft) => {
      await gate.promise
      return kept.create(draft)
    },
  })
  const server = await serveAgentOs({ store })
  const socket = await upgraded(server)
  socket.write(frame('{"action":"start-agent","agent_id":"lab","message":"text 1"}'))
  const large = frame(Buffer.alloc(MB, ' '))
  for (let count = 0; count < 64; count++) socket.write(large)
  // Each of these requests lets the server read everything that it wants to read.
  for (let unsent = Infinity; unsent > socket.writableLength;) {
    unsent = socket.writableLength
    for (let count = 0; count < 20; count++) await (await fetch(`${server.url}/health`)).text()
  }
  expect(socket.writableLength).toBeGreaterThan(48 * MB)
  gate.resolve()
  await until('everything is read', () => socket.writableLength === 0)
})

test('[SEC-2] WebSocket requests beyond the concurrency limit are closed with 1013', async () => {
  const server = await serveAgentOs()
  const client = new WebSocket(`${server.url.replace('http', 'ws')}/agents/ws`)
  onTestFinished(() => client.terminate())
  const code = new Promise<number>((resolve) => client.once('close', resolve))
  client.once('open', () => {
    const { _socket: raw } = client as unknown as { readonly _socket: Socket }
    raw.write(repeated(frame('0'), 60_000))
  })
  expect(await code).toBe(1013)
})

test('a WebSocket client that sends faster than it is answered, and reads, is answered in full', async () => {
  const server = await serveAgentOs()
  const client = new WebSocket(`${server.url.replace('http', 'ws')}/agents/ws`)
  onTestFinished(() => client.terminate())
  let pongs = 0
  let closed: number | undefined
  client.on('message', (data: Buffer) => (pongs += data.includes('pong') ? 1 : 0))
  client.once('close', (code: number) => (closed = code))
  const ping = JSON.stringify({ action: 'ping', note: 'x'.repeat(300) })
  client.once('open', () => {
    for (let count = 0; count < 5000; count++) client.send(ping)
  })
  await until('all are answered', () => pongs === 5000 || closed !== undefined)
  expect([pongs, closed]).toEqual([5000, undefined])
})

describe('[SEC-2] AgentOS WebSocket: before authentication', () => {
  test('a WebSocket has a limited time to authenticate', async () => {
    const server = await serveGuarded({ limits: { socketAuthTimeoutMs: 100 } })
    const client = new WebSocket(`${server.url.replace('http', 'ws')}/agents/ws`)
    const closed = await new Promise<[number, string]>((resolve) =>
      client.once('close', (code, reason) => resolve([code, reason.toString()])),
    )
    expect(closed).toEqual([1008, 'authenticate within 0.1 s'])
  })

  test('a WebSocket that authenticates in time stays open', async () => {
    const server = await serveGuarded({ limits: { socketAuthTimeoutMs: 1000 } })
    const client = new WebSocket(`${server.url.replace('http', 'ws')}/agents/ws`)
    onTestFinished(() => client.terminate())
    const messages: string[] = []
    client.on('message', (data) => messages.push((data as Buffer).toString()))
    client.once('open', () => client.send('{"action":"authenticate","token":"open-sesame-0123456789"}'))
    await until('it is authenticated', () => messages.some((message) => message.includes('"authenticated"')))
    const late = new WebSocket(`${server.url.replace('http', 'ws')}/agents/ws`)
    await new Promise((resolve) => late.once('close', resolve))
    client.send(JSON.stringify({ action: 'ping', padding: 'x'.repeat(100_000) }))
    expect(await until('it is answered', () => messages.some((message) => message.includes('"pong"')))).toBe(true)
  })

  test('the size of a WebSocket message is limited', async () => {
    const server = await serveGuarded()
    const client = new WebSocket(`${server.url.replace('http', 'ws')}/agents/ws`)
    onTestFinished(() => client.terminate())
    client.once('open', () => client.send(JSON.stringify({ action: 'ping', padding: 'x'.repeat(8192) })))
    expect(await new Promise<number>((resolve) => client.once('close', resolve))).toBe(1009)
  })

  test('WebSocket frames that are never completed use little memory', async () => {
    const server = await serveGuarded({ limits: { socketAuthTimeoutMs: 60_000 } })
    const sockets = await Promise.all(Array.from({ length: 20 }, () => upgraded(server)))
    const payload = Buffer.alloc(4 * 1024 * 1024 - 1)
    const partial = frame(payload, { claimed: payload.length + 1 })
    const before = await heldMegabytes()
    const taken = sockets.map((socket) => {
      socket.resume()
      return new Promise<void>((resolve) => {
        socket.once('close', () => resolve())
        socket.write(partial, () => resolve())
      })
    })
    await Promise.all(taken)
    expect((await heldMegabytes()) - before).toBeLessThan(8)
  })

  test('the number of connections per address is limited, and closed ones are freed', async () => {
    const server = await serveGuarded({ limits: { maxUnauthenticatedSocketsPerAddress: 2 } })
    const first = await upgraded(server)
    await upgraded(server)
    await expect(upgraded(server)).rejects.toThrow('refused')
    first.destroy()
    await until('the slot is free', () => upgraded(server).catch(() => undefined))
  })
})

test('[SEC-2] authenticated connections per address are limited', async () => {
  const server = await serveAgentOs({ limits: { maxConnectionsPerAddress: 2 } })
  const first = await upgraded(server)
  await upgraded(server)
  await expect(upgraded(server)).rejects.toThrow('refused')
  first.destroy()
  await until('the slot is free', () => upgraded(server).catch(() => undefined))
})
