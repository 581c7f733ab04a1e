/** A burst of requests shares the event loop with timers, commits and streams of runs. */
import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { connect, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import type { Authenticator } from '../../src/core/model/principal.ts'
import { longestTurnMs, threadCpuMs } from '../support/event-loop-stall.ts'
import { until } from '../support/until.ts'
import { grpcAddress, serveA2a } from './a2a/serve.ts'
import { serveNative } from './native/serve.ts'

const REQUESTS = 40
const WORK_MS = 6
const BOUND_MS = (REQUESTS * WORK_MS) / 2

/** A slow handler, like hashing or rendering. */
function busy(scheme: 'keys' | 'host'): Authenticator {
  return {
    scheme,
    authenticate: async () => {
      const end = threadCpuMs() + WORK_MS
      while (threadCpuMs() < end);
      return { id: 'anna' }
    },
  }
}

/** Opens a connection, sends a request and waits for the answer. */
async function ask(port: number, request: string): Promise<Socket> {
  const socket: Socket = connect(port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.write(request)
  await once(socket, 'data')
  return socket
}

/** CPU milliseconds of the longest turn while many connections send the request and get the answer. */
async function longestTurnOf(port: number, request: string, answer: string): Promise<number> {
  await ask(port, request) // the code is loaded
  const health = 'GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n'
  const sockets = await Promise.all(Array.from({ length: REQUESTS }, () => ask(port, health)))
  let answered = 0
  return longestTurnMs(async () => {
    for (const socket of sockets) {
      socket.write(request)
      socket.on('data', (data: Buffer) => (answered += data.toString().split(answer).length - 1))
    }
    await until('all are answered', () => answered === REQUESTS)
  })
}

test('[SEC-2] a burst of requests on many connections takes several ticks of the event loop', async () => {
  const { port } = await serveNative({ auth: busy('keys') })
  const request = 'GET /runs/none HTTP/1.1\r\nhost: localhost\r\n\r\n'
  expect(await longestTurnOf(port, request, 'HTTP/1.1 404')).toBeLessThan(BOUND_MS)
})

test('[SEC-2] a burst of WebSocket upgrades takes several ticks of the event loop', async () => {
  const { port } = await serveNative({ auth: busy('host') })
  const request = [
    'GET /agents/ws HTTP/1.1',
    'host: localhost',
    'upgrade: websocket',
    'connection: upgrade',
    'sec-websocket-version: 13',
    'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==',
    '\r\n',
  ].join('\r\n')
  expect(await longestTurnOf(port, request, 'HTTP/1.1 101')).toBeLessThan(BOUND_MS)
})

test('[SEC-2] a burst of gRPC calls on one connection takes several ticks of the event loop', async () => {
  const server = await serveA2a({ auth: busy('keys'), a2a: { defaultComponent: 'lab', grpcPort: 0 } })
  const session = connectHttp2(`http://${await grpcAddress(server)}`)
  onTestFinished(() => session.destroy())
  await once(session, 'remoteSettings')
  const call = (): Promise<unknown> => {
    const stream = session.request({
      ':method': 'POST',
      ':path': '/lf.a2a.v1.A2AService/GetTask',
      'content-type': 'application/grpc',
      te: 'trailers',
    })
    stream.resume().end(Buffer.alloc(5)) // an empty message
    return once(stream, 'close')
  }
  await call() // the code is loaded
  const longest = await longestTurnMs(() => Promise.all(Array.from({ length: REQUESTS }, call)))
  expect(longest).toBeLessThan(BOUND_MS)
})
