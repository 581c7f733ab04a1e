/** An upstream with an API of its own, for requests that are passed through. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

interface Seen {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly bytes: number
}

/** Echoes the request below any path; streams at `/slow`, never responds at `/never`, and never stops at `/flood`. */
export async function startEcho() {
  const seen: Seen[] = []
  const state = { finish: () => {}, gone: 0 }
  const server = createServer((request, response) => {
    const { method = '', url = '', headers } = request
    if (/\/(models|agents|teams|workflows)$/.test(url))
      return void response.end(url.endsWith('models') ? '{"data":[]}' : '[]')
    let bytes = 0
    request.on('data', (chunk: Buffer) => (bytes += chunk.length))
    request.on('end', () => {
      seen.push({ method, url, headers, bytes })
      if (url.endsWith('/slow')) {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: one\n\n')
        response.on('close', () => state.gone++)
        state.finish = () => response.end('data: two\n\n')
        return
      }
      if (url.endsWith('/never')) return
      if (url.endsWith('/flood')) return flood(response)
      response
        .writeHead(url.includes('teapot') ? 418 : 200, {
          'content-type': 'application/json',
          'x-own': 'kept',
          'set-cookie': 'session=theirs',
          'access-control-allow-origin': '*',
          connection: 'x-hop',
          'x-hop': 'dropped',
        })
        .end(JSON.stringify({ method, url, bytes }))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => server.close().closeAllConnections())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen, state }
}

function flood(response: ServerResponse): void {
  const piece = Buffer.alloc(64 * 1024, 'x')
  const fill = (): void => {
    while (!response.destroyed && response.write(piece));
  }
  response.on('drain', fill)
  fill()
}
