/** Raw HTTP: sends bytes to a port, and reads the bytes that come back. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'

const PATIENCE_MS = 180_000

export interface Exchange {
  /** Stops here, and closes the connection; without it the server must close. */
  readonly until?: (text: string) => boolean
}

/** Sends bytes and resolves with all that came back. A connection that is reset counts as closed. */
export function exchange(
  port: number,
  bytes: string | Uint8Array,
  { until = () => false }: Exchange = {},
): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  let text = ''
  const socket = open(port)
  const timer = setTimeout(
    () => reject(new Error(`no answer within ${PATIENCE_MS} ms; so far: ${JSON.stringify(text)}`)),
    PATIENCE_MS,
  )
  socket.setEncoding('latin1')
  socket.on('data', (chunk) => {
    text += String(chunk)
    if (until(text)) socket.destroy()
  })
  socket.on('error', () => {}) // `close` follows
  socket.on('close', () => resolve(text))
  socket.write(bytes)
  return promise.finally(() => {
    clearTimeout(timer)
    socket.destroy()
  })
}

/** The server's end of the request that comes next. */
export function nextResponse(): Promise<ServerResponse> {
  return new Promise((resolve) => {
    const note = (message: unknown): void => {
      unsubscribe('http.server.request.start', note)
      resolve((message as { response: ServerResponse }).response)
    }
    subscribe('http.server.request.start', note)
  })
}

export function open(port: number): Socket {
  return connect(port, '127.0.0.1')
}

/** Text of a request; adds a Host header if there is none. */
export function requestText(line: string, headers: Readonly<Record<string, string>> = {}, body = ''): string {
  const all = { Host: 'localhost', ...headers }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${line} HTTP/1.1\r\n${lines.join('')}\r\n${body}`
}

/** The status of the first response, if any. */
export function statusOf(answer: string): number | undefined {
  const [, status] = /^HTTP\/1\.1 (\d{3}) /.exec(answer) ?? []
  return status === undefined ? undefined : Number(status)
}
