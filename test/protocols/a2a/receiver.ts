/** Receives pushes: a real HTTP server that records requests and responds as configured. */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import type { SeenUpdate } from './serve.ts'

export interface Received {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  /** The bytes of the body. */
  readonly text: string
  readonly body: SeenUpdate & Readonly<Record<string, unknown>>
}

export interface ReceiverOptions {
  readonly port?: number
  /** The response to each push. Default: 200. A promise delays the response. */
  readonly answer?: (count: number, received: Received) => number | Promise<number>
  readonly headers?: Readonly<Record<string, string>>
}

export interface Receiver {
  readonly url: string
  readonly port: number
  /** All received requests, in order. */
  readonly received: readonly Received[]
  /** Requests that got a 200. */
  readonly taken: readonly Received[]
  close(): Promise<void>
}

export async function receive({ port = 0, answer = () => 200, headers = {} }: ReceiverOptions = {}): Promise<Receiver> {
  const received: Received[] = []
  const taken: Received[] = []
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const text = Buffer.concat(chunks).toString()
    const one: Received = { path: request.url!, headers: request.headers, text, body: JSON.parse(text) as never }
    received.push(one)
    const status = await answer(received.length, one)
    if (status === 200) taken.push(one)
    response.writeHead(status, headers).end('answered')
  }
  const server = createServer((request, response) => void handle(request, response).catch(() => response.destroy()))
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  onTestFinished(close)
  const bound = (server.address() as AddressInfo).port
  return { url: `http://127.0.0.1:${bound}/hook`, port: bound, received, taken, close }
}

/** The event numbers in the keys of the pushes. */
export function sequences(pushes: readonly Received[]): number[] {
  return pushes.map(({ headers }) => Number(String(headers['idempotency-key']).split('/').at(-1)))
}
