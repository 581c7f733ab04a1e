/** Attacks with one connection each. Each runs until the server closes it or the attack is stopped. */
import { connect as connectHttp2 } from 'node:http2'
import { connect, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import type { HostileJob } from './messages.ts'

export interface Assault {
  readonly job: HostileJob
  /** Address on this machine that the connection comes from. */
  readonly from: string
  /** Requests per second of one flood. */
  readonly floodPerSecond: number
  readonly signal: AbortSignal
  readonly sent: (bytes: number) => void
}

export type Attack = (assault: Assault) => Promise<void>

const DRIP_MS = 500

function open({ job, from, signal }: Assault): Socket {
  const socket = connect({ host: '127.0.0.1', port: Number(new URL(job.server.url).port), localAddress: from })
  socket.on('error', () => {})
  signal.addEventListener('abort', () => socket.destroy(), { once: true })
  return socket
}

function closed(socket: Pick<Socket, 'destroyed' | 'once'>): Promise<void> {
  return socket.destroyed ? Promise.resolve() : new Promise((resolve) => void socket.once('close', () => resolve()))
}

/** Writes a piece at a time until the connection ends; waits for the server to take it. */
async function drip(socket: Socket, pieces: () => string | Buffer, everyMs: number, assault: Assault): Promise<void> {
  const ended = closed(socket)
  while (!socket.destroyed && !assault.signal.aborted) {
    const piece = pieces()
    const taken = new Promise<void>((resolve) => socket.write(piece, () => resolve()))
    assault.sent(piece.length)
    await Promise.race([taken, ended])
    await Promise.race([wait(everyMs), ended])
  }
}

const authorization = ({ job }: Assault): string => `authorization: Bearer ${job.server.hostileKey}\r\n`

/** Asks for megabytes and reads none of them. */
const stalledReader: Attack = async (assault) => {
  const socket = open(assault).pause()
  socket.write(
    `GET /runs/${assault.job.largeRun}/events HTTP/1.1\r\nhost: localhost\r\n${authorization(assault)}accept: text/event-stream\r\n\r\n`,
  )
  await closed(socket)
}

/** One request after the other on one connection. */
function flood(request: (assault: Assault) => string): Attack {
  return async (assault) => {
    const socket = open(assault).resume()
    await drip(socket, () => request(assault), 1000 / assault.floodPerSecond, assault)
  }
}

const strangersFlood = flood(
  () => `GET /runs HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer hf_0000000000_${'0'.repeat(64)}\r\n\r\n`,
)

const principalsFlood = flood(
  (assault) => `GET /runs?limit=100 HTTP/1.1\r\nhost: localhost\r\n${authorization(assault)}\r\n`,
)

const slowHead: Attack = async (assault) => {
  const socket = open(assault).resume()
  socket.write('GET /runs HTTP/1.1\r\nhost: localhost\r\n')
  await drip(socket, () => 'x', DRIP_MS, assault)
}

const slowBody: Attack = async (assault) => {
  const socket = open(assault).resume()
  socket.write(
    `POST /runs HTTP/1.1\r\nhost: localhost\r\n${authorization(assault)}content-type: application/json\r\ncontent-length: 4000000\r\n\r\n`,
  )
  await drip(socket, () => ' '.repeat(1000), DRIP_MS, assault)
}

const junk: Attack = async (assault) => {
  const socket = open(assault).resume()
  socket.write(Buffer.from(Array.from({ length: 512 }, (_, at) => (at * 7919) % 256)))
  await closed(socket)
}

const UPGRADE =
  'GET /agents/ws HTTP/1.1\r\nhost: localhost\r\nupgrade: websocket\r\nconnection: upgrade\r\n' +
  'sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n'

/** A masked text frame with a mask of zeros. */
function frame(payload: string, claimed = payload.length): Buffer {
  const head =
    claimed < 126 ? Buffer.from([0x81, 0x80 | claimed]) : Buffer.from([0x81, 0xfe, claimed >> 8, claimed & 255])
  return Buffer.concat([head, Buffer.alloc(4), Buffer.from(payload)])
}

/** A frame that never ends. */
const partialFrame: Attack = async (assault) => {
  const socket = open(assault).resume()
  socket.write(UPGRADE)
  await new Promise<void>((resolve) => void socket.once('data', () => resolve()).once('close', () => resolve()))
  socket.write(frame('{', 60_000))
  await drip(socket, () => ' ', DRIP_MS, assault)
}

/** Endless messages whose responses are never read. */
const socketFlood: Attack = async (assault) => {
  const socket = open(assault)
  socket.write(UPGRADE)
  await new Promise<void>((resolve) => void socket.once('data', () => resolve()).once('close', () => resolve()))
  socket.pause()
  socket.write(frame(JSON.stringify({ action: 'authenticate', token: assault.job.server.hostileKey })))
  await drip(socket, () => frame('0'), 1000 / assault.floodPerSecond, assault)
}

/** A gRPC message that never arrives whole. */
const partialGrpc: Attack = async (assault) => {
  const { job, from, signal } = assault
  const session = connectHttp2(`http://${job.server.grpc}`, {
    createConnection: () => {
      const [host, port] = job.server.grpc.split(':')
      return connect({ host: host!, port: Number(port), localAddress: from })
    },
  })
  session.on('error', () => {})
  signal.addEventListener('abort', () => session.destroy(), { once: true })
  const ended = new Promise<void>((resolve) => session.once('close', resolve))
  while (!session.destroyed && !session.closed && !signal.aborted) {
    const stream = session.request({
      ':method': 'POST',
      ':path': '/lf.a2a.v1.A2AService/SendMessage',
      'content-type': 'application/grpc',
      te: 'trailers',
      authorization: `Bearer ${job.server.hostileKey}`,
    })
    stream.on('error', () => {}).resume()
    const done = new Promise<void>((resolve) => stream.once('close', resolve))
    stream.write(Buffer.from([0, 0, 0x30, 0, 0, 1, 2, 3]))
    assault.sent(8)
    await Promise.race([done, ended, wait(10_000)])
    stream.close()
  }
}

/** Each gets the same number of connections. */
export const attacks: Readonly<Record<string, Attack>> = {
  'stalled reader': stalledReader,
  'flood without a credential': strangersFlood,
  'flood with a credential': principalsFlood,
  'slow head': slowHead,
  'slow body': slowBody,
  junk,
  'partial frame': partialFrame,
  'WebSocket flood': socketFlood,
  'partial gRPC message': partialGrpc,
}
