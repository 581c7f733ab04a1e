/** Passes one request through to an upstream and its response back, both as streams with limits. */
import type { IncomingMessage } from 'node:http'
import { PassThrough, type Readable } from 'node:stream'
import { HoldfastError, isHoldfastError } from '../../core/model/errors.ts'
import type { Passthrough } from '../../core/ports/component-source.ts'
import { readBody } from '../../http/request/body.ts'
import { ResponseBackpressure } from '../../http/response/response-backpressure.ts'
import type { HttpRequest } from '../../http/exchange.ts'
import type { OpenCall } from '../../http/response/open-call.ts'
import type { Call } from '../../http/routing/route.ts'
import { IdleTimer } from './idle-timer.ts'
import { openRequest } from './open-request.ts'
import { requestHeaders, responseHeaders } from './passed-headers.ts'
import { targetUrl } from './target-url.ts'

/** Bodies up to this size are sent with their length, which some servers need. */
const WHOLE_BYTES_MAX = 1024 * 1024
/** Maximum request body. */
const BODY_BYTES_MAX = 256 * 1024 * 1024

export interface PassOptions {
  /** A client that reads nothing for this long is disconnected. */
  readonly stallMs: number
  /** Called with the status of the response. */
  readonly onResponse: (status: number) => void
}

export async function passThrough(
  call: Call,
  open: OpenCall,
  { name, ...upstream }: Passthrough & { readonly name: string },
  { stallMs, onResponse }: PassOptions,
): Promise<void> {
  const { request, response } = call
  const url = targetUrl(upstream.url, call.params['path'] ?? '', call.query)
  const idle = new IdleTimer()
  const signal = AbortSignal.any([open.signal, idle.signal])
  try {
    const body = await bodyOf(request, () => idle.reset())
    const headers = { ...requestHeaders(request.headers, await upstream.headers?.()), ...framing(request, body) }
    const answer = await send({ url, method: request.method, headers, body }, signal, name)
    const status = answer.statusCode!
    onResponse(status)
    response.writeHead(status, responseHeaders(answer.headers))
    const taken = new ResponseBackpressure(response, stallMs, signal)
    for await (const chunk of answer) {
      idle.reset()
      if (request.method === 'HEAD' || response.destroyed) break
      await taken.write(chunk as Buffer)
    }
    open.assertCurrent()
    response.end()
  } catch (cause) {
    // The upstream's stream has no known format in which to report an error.
    if (response.headersSent) return void response.destroy()
    open.assertCurrent()
    throw cause
  } finally {
    idle.stop()
  }
}

interface PassedRequest {
  readonly url: URL
  readonly method: string | undefined
  readonly headers: Record<string, string>
  readonly body: Uint8Array | Readable | undefined
}

/** Does not use `fetch`, which keeps a copy of every body in case of a redirect. */
function send(
  { url, body, method, headers }: PassedRequest,
  signal: AbortSignal,
  name: string,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const sending = openRequest(url, { method, headers, signal })
    sending.on('response', resolve)
    sending.on('error', (cause) =>
      reject(
        isHoldfastError(cause)
          ? cause
          : new HoldfastError('unavailable', `the upstream ${name} did not respond`, { cause }),
      ),
    )
    if (body === undefined || body instanceof Uint8Array) return void sending.end(body)
    body.on('error', (cause) => sending.destroy(cause))
    body.pipe(sending)
  })
}

/** `onData`: a client that sends slowly is not idle. */
async function bodyOf(request: HttpRequest, onData: () => void): Promise<PassedRequest['body']> {
  if (request.method === 'GET' || request.method === 'HEAD') return undefined
  const length = Number(request.headers['content-length'] ?? Number.NaN)
  if (length > BODY_BYTES_MAX) throw tooLarge()
  if (length <= WHOLE_BYTES_MAX || request.readableEnded) return readBody(request, WHOLE_BYTES_MAX)
  let bytes = 0
  // Destroyed instead of the request, whose connection the response still needs.
  const counted = new PassThrough({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length
      onData()
      done(bytes > BODY_BYTES_MAX ? tooLarge() : null, chunk)
    },
  })
  request.once('error', (cause) => counted.destroy(cause))
  return request.pipe(counted)
}

/** Sends the length of a body if it is known. */
function framing({ headers }: HttpRequest, body: PassedRequest['body']): Record<string, string> {
  if (body === undefined || body instanceof Uint8Array) return {}
  const length = headers['content-length']
  return length === undefined ? { 'transfer-encoding': 'chunked' } : { 'content-length': length }
}

function tooLarge(): HoldfastError {
  return new HoldfastError('too_large', `the body is larger than ${BODY_BYTES_MAX} bytes`)
}
