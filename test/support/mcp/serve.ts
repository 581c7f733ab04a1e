/** A real MCP server over HTTP, in the test's process. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { onTestFinished } from 'vitest'
import { calculator } from './calculator.ts'

export interface Served {
  readonly url: string
  /** Called methods, in order. */
  readonly methods: string[]
  /** Headers of the last request. */
  readonly headers: () => NodeJS.Dict<string | string[]>
}

/** Stateless, over HTTP; closed after the test. */
export async function serveMcp(make: () => McpServer = calculator): Promise<Served> {
  const methods: string[] = []
  let headers: NodeJS.Dict<string | string[]> = {}
  const http = createServer((request, response) => {
    void (async () => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk as Buffer)
      headers = request.headers
      const body: unknown = chunks.length === 0 ? undefined : JSON.parse(Buffer.concat(chunks).toString())
      methods.push((body as { method?: string } | undefined)?.method ?? request.method!)
      const server = make()
      const transport = new StreamableHTTPServerTransport()
      response.on('close', () => void server.close())
      await server.connect(transport)
      await transport.handleRequest(request, response, body)
    })()
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    http.closeAllConnections()
    http.close()
  })
  const { port } = http.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/mcp`, methods, headers: () => headers }
}
