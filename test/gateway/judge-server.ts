/** A chat server that verifies keys, for callers whose credential only the upstream can verify. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import { chunk, sse } from './chat-server.ts'

/** Accepts keys that begin with `good`, rejects others, and does not respond to those that begin with `slow`. */
export async function startJudge(): Promise<string> {
  const server = createServer((request, response) => {
    const [, key = ''] = request.headers.authorization?.split(' ') ?? []
    request.resume().on('end', () => {
      if (key.startsWith('slow')) return
      if (request.url === '/v1/public') return void response.end('{}')
      if (!key.startsWith('good')) return void response.writeHead(401).end('{"error":{"message":"wrong key"}}')
      if (request.url === '/v1/models') return void response.end('{"data":[]}')
      response
        .writeHead(200, { 'content-type': 'text/event-stream' })
        .end(sse(chunk({ content: 'hi' }), chunk({}, 'stop'), '[DONE]'))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => server.close().closeAllConnections())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
}
