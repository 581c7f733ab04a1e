/** Serves web requests with the handlers for Node: `(Request) => Promise<Response>`. */
import type { IncomingMessage } from 'node:http'
import { UNKNOWN_ADDRESS } from '../guards/address-limit.ts'
import type { App } from '../routing/app.ts'
import { FetchRequest } from './request.ts'
import { FetchResponse } from './response.ts'

export type FetchHandler = (request: Request, info?: unknown) => Promise<Response>

/** `info`: what hosts pass beside a request. */
export function serveFetch(app: App, request: Request, info?: unknown): Promise<Response> {
  const adapted = new FetchRequest(request, addressIn(info))
  const response = new FetchResponse(adapted, request.signal)
  app(adapted, response)
  return response.answer
}

/** The client's address, if it is passed by Hono on Node, by Deno or by the caller. */
function addressIn(info: unknown): string {
  if (typeof info !== 'object' || info === null) return UNKNOWN_ADDRESS
  const { incoming, remoteAddr, remoteAddress } = info as {
    readonly incoming?: Pick<IncomingMessage, 'socket'>
    readonly remoteAddr?: { readonly hostname?: unknown }
    readonly remoteAddress?: unknown
  }
  const address = remoteAddress ?? incoming?.socket?.remoteAddress ?? remoteAddr?.hostname
  return typeof address === 'string' ? address : UNKNOWN_ADDRESS
}
