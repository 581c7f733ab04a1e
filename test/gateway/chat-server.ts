/** A loopback server with chat completions that plays scripted streams, including odd ones. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

export interface ChatServer {
  readonly url: string
  readonly bodies: Record<string, unknown>[]
  /** Requests that the client aborted. */
  gone: number
  stop(): Promise<void>
}

/** What the server does with a request, after the headers of a stream. */
export type Play = (response: ServerResponse, body: Record<string, unknown>) => void | Promise<void>

/** By model: its name is the script. Stopped after the test. */
export async function startChatServer(scripts: Readonly<Record<string, Play>>, port = 0): Promise<ChatServer> {
  const bodies: Record<string, unknown>[] = []
  const server = createServer((request, response) => {
    if (request.method === 'GET') {
      const data = Object.keys(scripts).map((id) => ({ id, object: 'model', created: 0, owned_by: 'test' }))
      return void response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ object: 'list', data }))
    }
    void textOf(request).then(async (text) => {
      const body = JSON.parse(text) as Record<string, unknown>
      bodies.push(body)
      response.on('close', () => response.writableEnded || chat.gone++)
      await scripts[String(body['model'])]!(response, body)
    })
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const stop = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  onTestFinished(stop)
  const chat: ChatServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    bodies,
    gone: 0,
    stop,
  }
  return chat
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const piece of request) chunks.push(piece as Buffer)
  return Buffer.concat(chunks).toString()
}

/** A stream of exactly this text. */
export function playing(text: string | Buffer, cut: 'end' | 'break' = 'end', pieces = 1): Play {
  return async (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const bytes = Buffer.from(text)
    const size = Math.ceil(bytes.length / pieces)
    for (let at = 0; at < bytes.length; at += size) {
      response.write(bytes.subarray(at, at + size))
      if (pieces > 1) await new Promise((resolve) => setImmediate(resolve))
    }
    if (cut === 'end') response.end()
    else setTimeout(() => response.destroy(), 20)
  }
}

export function sse(...events: readonly (object | string)[]): string {
  return events.map((event) => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`).join('')
}

/** A chunk as most servers send it. */
export function chunk(delta: object, finish: string | null = null, more: object = {}): object {
  const choice = { index: 0, delta, logprobs: null, finish_reason: finish }
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1794856929,
    model: 'm',
    choices: [choice],
    ...more,
  }
}
