/** Passes a WebSocket through to an upstream: the handshake, then the unchanged bytes of both sides. */
import { type IncomingMessage, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { HoldfastError } from '../../core/model/errors.ts'
import type { UpgradeCall } from '../../http/socket/upgrade.ts'
import { IdleTimer } from './idle-timer.ts'
import { openRequest } from './open-request.ts'
import { requestHeaders } from './passed-headers.ts'

export interface SocketTarget {
  /** Name of the upstream, for messages. */
  readonly name: string
  readonly url: URL
  /** Headers that replace the caller's credential. */
  readonly own: Readonly<Record<string, string>> | undefined
}

/** Resolves when the connection has ended. Rejects if the upstream does not respond. `signal`: ends both sides. */
export async function passSocket(
  { request, socket, head }: Pick<UpgradeCall, 'request' | 'socket' | 'head'>,
  { name, url, own }: SocketTarget,
  signal: AbortSignal,
  onResponse: (status: number) => void,
): Promise<void> {
  const idle = new IdleTimer()
  const ending = AbortSignal.any([signal, idle.signal])
  try {
    const { answer, far } = await openSocket(request, { name, url, own }, ending)
    onResponse(answer.statusCode!)
    if (far === undefined) return refuse(socket, answer)
    socket.write(`HTTP/1.1 101 Switching Protocols\r\n${linesOf(handshakeOf(answer))}\r\n`)
    far.write(head)
    await tunnel(socket, far, idle, ending)
  } finally {
    idle.stop()
  }
}

interface OpenedSocket {
  readonly answer: IncomingMessage
  /** Undefined if the upstream refused. */
  readonly far?: Duplex
}

function openSocket(
  request: IncomingMessage,
  { name, url, own }: SocketTarget,
  signal: AbortSignal,
): Promise<OpenedSocket> {
  return new Promise((resolve, reject) => {
    const headers = { ...requestHeaders(request.headers, own), ...handshakeOf(request) }
    const sending = openRequest(url, { headers, signal })
    sending.on('upgrade', (answer, far, first) => {
      far.on('error', () => {}) // `close` follows
      far.unshift(first)
      resolve({ answer, far })
    })
    sending.on('response', (answer) => resolve({ answer }))
    sending.on('error', (cause) =>
      reject(new HoldfastError('unavailable', `the upstream ${name} did not respond`, { cause })),
    )
    sending.end()
  })
}

function handshakeOf({ headers }: IncomingMessage): Record<string, string> {
  const own = Object.entries(headers).filter(([name]) => name.startsWith('sec-websocket-'))
  return { connection: 'Upgrade', upgrade: 'websocket', ...(Object.fromEntries(own) as Record<string, string>) }
}

function linesOf(headers: Readonly<Record<string, string>>): string {
  return Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')
}

function refuse(socket: Duplex, answer: IncomingMessage): void {
  const status = answer.statusCode!
  answer.destroy()
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Refused'}\r\nconnection: close\r\n\r\n`)
}

/** Connects both sides with backpressure. */
function tunnel(near: Duplex, far: Duplex, idle: IdleTimer, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      near.destroy()
      far.destroy()
      signal.removeEventListener('abort', end)
      resolve()
    }
    if (signal.aborted || near.destroyed || far.destroyed) return end()
    signal.addEventListener('abort', end)
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      from.on('close', end)
      from.on('data', () => idle.reset())
      from.pipe(to)
    }
  })
}
