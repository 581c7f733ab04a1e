/** A proxy that cuts connections on purpose, and records the requests. */
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

export interface RelayedRequest {
  readonly lastEventId: string | undefined
  readonly status: number
}

export interface CuttingRelay {
  readonly url: string
  /** In order, the page apart. */
  readonly requests: readonly RelayedRequest[]
}

/** Cuts the first responses after `cutsAfter` events each, in the middle of the next one; later ones pass. */
export async function startCuttingRelay(target: string, cutsAfter: readonly number[]): Promise<CuttingRelay> {
  const requests: RelayedRequest[] = []
  const server = createServer((incoming, outgoing) => {
    if (incoming.url === '/page')
      return void outgoing.setHeader('content-type', 'text/html').end('<!doctype html><title>page</title>')
    if (!incoming.url!.startsWith('/runs/')) return void outgoing.writeHead(404).end()
    const { headers } = incoming
    const relayed = httpRequest(
      target + incoming.url,
      { headers: { ...headers, host: 'localhost' }, agent: false },
      (answer) => {
        const cutAfter = cutsAfter[requests.length]
        requests.push({ lastEventId: headers['last-event-id'] as string | undefined, status: answer.statusCode! })
        pass(answer, outgoing, cutAfter)
      },
    )
    relayed.on('error', () => outgoing.destroy())
    outgoing.on('close', () => relayed.destroy())
    relayed.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    const closed = new Promise((resolve) => server.close(resolve))
    server.closeAllConnections()
    await closed
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests }
}

function pass(answer: IncomingMessage, outgoing: ServerResponse, cutAfter: number | undefined): void {
  outgoing.writeHead(answer.statusCode!, answer.headers)
  outgoing.flushHeaders()
  let text = ''
  let sent = 0
  answer.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
    const end = cutAfter === undefined ? text.length : endOfEvents(text, cutAfter)
    outgoing.write(text.slice(sent, end))
    sent = Math.max(sent, end)
    // Written bytes must be sent before the connection dies.
    if (cutAfter !== undefined && end < text.length) setTimeout(() => outgoing.destroy(), 20)
  })
  answer.on('end', () => outgoing.end())
  answer.on('error', () => outgoing.destroy())
}

/** Position after `count` events and a few characters of the next one. */
function endOfEvents(text: string, count: number): number {
  let at = -1
  for (let found = 0; found <= count; found++) {
    at = text.indexOf('id: ', at + 1)
    if (at < 0) return text.length
  }
  return at + 10
}
