/** Receives webhooks: a real HTTP server that records them and responds as configured. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

export interface Webhook {
  readonly path: string
  readonly text: string
  readonly signature: string
  readonly body: {
    readonly subscription_id: string
    readonly wake_id: string
    readonly generation: number
    readonly streams: readonly { readonly path: string; readonly tail_offset: string }[]
    readonly callback_url: string
    readonly callback_token: string
  }
}

export interface Reply {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
}

export async function receiveWebhooks(reply: (webhook: Webhook) => Reply | Promise<Reply> = () => ({})) {
  const received: Webhook[] = []
  const server = createServer((request, response) => {
    void (async () => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk as Buffer)
      const text = Buffer.concat(chunks).toString()
      const webhook: Webhook = {
        path: request.url!,
        text,
        signature: String(request.headers['webhook-signature']),
        body: JSON.parse(text) as Webhook['body'],
      }
      received.push(webhook)
      const { status = 200, headers = {}, body = {} } = await reply(webhook)
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
    })().catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  )
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/hook`, received }
}
