/** Limits of the passthrough: large bodies, clients that do not read, silent upstreams. */
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { expect, onTestFinished, test, vi } from 'vitest'
import { upstream } from '../../src/agents/upstream/upstream.ts'
import type { Limits } from '../../src/core/model/limits.ts'
import { createMemoryStore } from '../../src/stores/memory.ts'
import { serveInProcess } from '../support/in-process.ts'
import { heldMegabytes } from '../support/memory.ts'
import { until } from '../support/until.ts'

const MIB = 1024 * 1024
const PIECE = Buffer.alloc(MIB, 'x')

type Handle = (request: IncomingMessage, response: ServerResponse) => void

/** A gateway in front of an upstream with this handler at `/work`. */
async function gatewayTo(handle: Handle, limits: Partial<Limits> = {}): Promise<URL> {
  const server = createServer((request, response) =>
    request.url?.endsWith('/models') === true ? void response.end('{"data":[]}') : handle(request, response),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => server.close().closeAllConnections())
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  const components = [upstream.openai(address, { passthrough: 'prefix' })]
  const { url } = await serveInProcess({ store: createMemoryStore(), components, limits })
  return new URL(`${url}/upstream/openai/work`)
}

test('gateway, passthrough: a large body waits for an upstream that does not read, and then arrives whole', async () => {
  const pieces = 96
  let read = (): void => {}
  let bytes = 0
  const url = await gatewayTo((request, response) => {
    read = () => void request.on('data', (piece: Buffer) => (bytes += piece.length))
    request.on('end', () => response.end('{}'))
  })
  let taken = 0
  const status = Promise.withResolvers<number>()
  const sending = httpRequest(url, { method: 'POST' }, (response) => status.resolve(response.resume().statusCode!))
  sending.on('error', status.reject)
  const body = Readable.from(
    (function* () {
      for (; taken < pieces; taken++) yield PIECE
    })(),
    { highWaterMark: 1 },
  )
  body.pipe(sending)
  let seen = -1
  const isStill = (): boolean => {
    const before = seen
    seen = taken
    return taken > 0 && taken === before
  }
  await until('the client is slowed down', isStill, { everyMs: 1000 })
  expect(taken).toBeLessThan(pieces / 2)
  read()
  expect(await status.promise).toBe(200)
  expect(bytes).toBe(pieces * MIB)
})

test('gateway, passthrough: the part of a body that the upstream has read is not kept in memory', async () => {
  const pieces = 96
  let bytes = 0
  let hasAll = false
  let answer = (): void => {}
  const url = await gatewayTo((request, response) => {
    request.on('data', (piece: Buffer) => (bytes += piece.length))
    request.on('end', () => (hasAll = true))
    answer = () => void response.end('{}')
  })
  const before = await heldMegabytes()
  const headers = { 'content-length': pieces * MIB }
  const status = Promise.withResolvers<number>()
  const sending = httpRequest(url, { method: 'POST', headers }, (response) =>
    status.resolve(response.resume().statusCode!),
  )
  sending.on('error', status.reject)
  Readable.from(Array.from({ length: pieces }, () => PIECE)).pipe(sending)
  await until('the upstream has the whole body', () => hasAll)
  expect(bytes).toBe(pieces * MIB)
  expect((await heldMegabytes()) - before).toBeLessThan(pieces / 3)
  answer()
  expect(await status.promise).toBe(200)
})

test('gateway, passthrough: a body of more than 256 MiB is refused before it is sent', async () => {
  const url = await gatewayTo((_request, response) => response.end('{}'))
  const sending = httpRequest(url, { method: 'POST', headers: { 'content-length': 256 * MIB + 1 } })
  const status = new Promise<number>((resolve) => sending.on('response', (response) => resolve(response.statusCode!)))
  sending.on('error', () => {})
  sending.flushHeaders()
  expect(await status).toBe(413)
  sending.destroy()
})

test('gateway, passthrough: a client that does not read slows the upstream down, and is disconnected', async () => {
  let written = 0
  let isGone = false
  const url = await gatewayTo(
    (_request, response) => {
      response.on('close', () => (isGone = true))
      const write = (): void => {
        while (!isGone && written < 1024 * MIB) {
          written += MIB
          if (!response.write(PIECE)) return void response.once('drain', write)
        }
      }
      write()
    },
    { subscriberStallTimeoutMs: 1000 },
  )
  const before = await heldMegabytes()
  const socket = connect(Number(url.port), url.hostname)
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => {})
  socket.pause()
  socket.write(`GET ${url.pathname} HTTP/1.1\r\nhost: ${url.host}\r\n\r\n`)
  await until('the stalled client is disconnected', () => isGone)
  expect(written).toBeLessThan(128 * MIB)
  expect((await heldMegabytes()) - before).toBeLessThan(64)
})

test('gateway, passthrough: a compressed response is passed on unchanged', async () => {
  const packed = gzipSync('kelp')
  const url = await gatewayTo((_request, response) => {
    response.writeHead(200, { 'content-encoding': 'gzip', 'content-length': packed.length }).end(packed)
  })
  const response = await fetch(url)
  expect(response.headers.get('content-encoding')).toBe('gzip')
  expect(response.headers.get('content-length')).toBe(String(packed.length))
  expect(await response.text()).toBe('kelp')
})

test('gateway, passthrough: an upstream that is silent for 120 seconds is disconnected, and not before', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  let say = (_text: string): void => {}
  const url = await gatewayTo((_request, response) => {
    say = (text) => void response.write(text)
    say('one')
  })
  const response = await fetch(url)
  const reader = response.body!.getReader()
  const next = async (): Promise<string> => Buffer.from((await reader.read()).value!).toString()
  expect(await next()).toBe('one')
  await vi.advanceTimersByTimeAsync(119_000)
  say('two')
  expect(await next()).toBe('two')
  await vi.advanceTimersByTimeAsync(119_000)
  say('three')
  expect(await next()).toBe('three')
  const end = reader.read().then(
    () => 'data',
    () => 'cut',
  )
  await vi.advanceTimersByTimeAsync(121_000)
  expect(await end).toBe('cut')
})

test('gateway, passthrough: a body that is sent slowly does not count as silence', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  let bytes = 0
  const url = await gatewayTo((request, response) => {
    request.on('data', (piece: Buffer) => (bytes += piece.length))
    request.on('end', () => response.end('{}'))
  })
  const status = Promise.withResolvers<number>()
  const sending = httpRequest(url, { method: 'POST' }, (response) => status.resolve(response.statusCode!))
  sending.on('error', status.reject)
  for (let piece = 1; piece <= 3; piece++) {
    sending.write(PIECE)
    await until('the upstream has the piece', () => bytes === piece * MIB)
    await vi.advanceTimersByTimeAsync(100_000)
  }
  sending.end()
  expect(await status.promise).toBe(200)
})
