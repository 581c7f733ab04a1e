/** A loopback agent that speaks A2A over JSON-RPC and sends scripted updates with unknown fields. */
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

export interface A2aServer {
  readonly url: string
  /** Bodies of its requests. */
  readonly requests: { readonly method: string; readonly params: Record<string, unknown> }[]
}

/** `updates`: the results of a stream, for each message that is sent. Stopped after the test. */
export async function startA2aServer(
  version: '1.0' | '0.3',
  updates: readonly (readonly object[])[],
): Promise<A2aServer> {
  const requests: { method: string; params: Record<string, unknown> }[] = []
  let sent = 0
  const server = createServer((request, response) => {
    const json = { 'content-type': 'application/json' }
    if (request.method === 'GET') return void response.writeHead(200, json).end(JSON.stringify(cardOf(version)))
    void bodyOf(request).then((body) => {
      requests.push(body)
      if (!/SendStreamingMessage|message\/stream/.test(body.method)) {
        const error = { code: -32_001, message: 'Task not found' }
        return response.writeHead(200, json).end(JSON.stringify({ jsonrpc: '2.0', id: body.id, error }))
      }
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      for (const result of updates[sent++] ?? [])
        response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', id: body.id, result })}\n\n`)
      return response.end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests }
}

function cardOf(version: '1.0' | '0.3'): object {
  const about = { name: 'Odd', description: 'plays', version: '1', capabilities: { streaming: true } }
  const modes = { defaultInputModes: ['text/plain'], defaultOutputModes: ['text/plain'], skills: [] }
  if (version === '0.3') return { ...about, ...modes, url: '/', protocolVersion: '0.3.0' }
  return { ...about, ...modes, supportedInterfaces: [{ url: '/', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }] }
}

async function bodyOf(
  request: IncomingMessage,
): Promise<{ id: unknown; method: string; params: Record<string, unknown> }> {
  const chunks: Buffer[] = []
  for await (const piece of request) chunks.push(piece as Buffer)
  return JSON.parse(Buffer.concat(chunks).toString()) as never
}
