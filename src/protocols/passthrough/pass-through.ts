/** Passes one request through to an upstream, and its answer back: both as streams, with limits. */
import { PassThrough, Readable } from 'node:stream'
import { HoldfastError } from '../../core/model/errors.ts'
import type { Passthrough } from '../../core/ports/component-source.ts'
import { readBody } from '../../http/request/body.ts'
import { ResponseBackpressure } from '../../http/response/response-backpressure.ts'
import type { HttpRequest } from '../../http/exchange.ts'
import type { HeldCall } from '../../http/response/held-call.ts'
import type { Call } from '../../http/routing/route.ts'
import { requestHeaders, responseHeaders } from './passed-headers.ts'
import { targetUrl } from './target-url.ts'

/** Bodies up to this size are sent with their length, which some servers need. */
const WHOLE_BYTES_MAX = 1024 * 1024
/** Largest body of a request. */
const BODY_BYTES_MAX = 256 * 1024 * 1024
/** Silence of an upstream, before and within its answer. */
const IDLE_MS = 120_000

export interface PassOptions {
  /** A client that reads nothing for this long is disconnected. */
  readonly stallMs: number
  /** Called with the status of the answer. */
  readonly onAnswer: (status: number) => void
}

export async function passThrough(
  call: Call,
  held: HeldCall,
  { name, ...upstream }: Passthrough & { readonly name: string },
  { stallMs, onAnswer }: PassOptions,
): Promise<void> {
  const { request, response } = call
  const url = targetUrl(upstream.url, call.params['path'] ?? '', call.query)
  const idle = new IdleTimer(IDLE_MS)
  const signal = AbortSignal.any([held.signal, idle.signal])
  try {
    const body = await bodyOf(request, () => idle.reset())
    const headers = requestHeaders(request.headers, await upstream.headers?.())
    const answer = await send({ url, method: request.method, headers, body }, signal, name)
    onAnswer(answer.status)
    response.writeHead(answer.status, responseHeaders(answer.headers))
    const taken = new ResponseBackpressure(response, stallMs, signal)
    for await (const chunk of answer.body ?? []) {
      idle.reset()
      if (request.method === 'HEAD' || response.destroyed) break
      await taken.write(chunk)
    }
    held.assertCurrent()
    response.end()
  } catch (cause) {
    // What an upstream streams has no form in which its end could be told.
    if (response.headersSent) return void response.destroy()
    held.assertCurrent()
    throw cause
  } finally {
    idle.stop()
  }
}

interface PassedRequest {
  readonly url: URL
  readonly method: string | undefined
  readonly headers: HeadersInit
  readonly body: Uint8Array | ReadableStream | undefined
}

async function send({ url, body, ...about }: PassedRequest, signal: AbortSignal, name: string): Promise<Response> {
  const { method = 'GET', headers } = about
  try {
    return await fetch(url, {
      method,
      headers,
      signal,
      redirect: 'manual',
      ...(body !== undefined && { body: body as BodyInit, duplex: 'half' }),
    })
  } catch (cause) {
    throw new HoldfastError('unavailable', `the upstream ${name} did not answer`, { cause })
  }
}

/** `onData`: a client that sends slowly is not silent. */
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
  return Readable.toWeb(request.pipe(counted)) as ReadableStream
}

function tooLarge(): HoldfastError {
  return new HoldfastError('too_large', `the body is larger than ${BODY_BYTES_MAX} bytes`)
}

/** Aborts after silence. */
class IdleTimer {
  readonly #controller = new AbortController()
  readonly #timer: NodeJS.Timeout

  constructor(ms: number) {
    this.#timer = setTimeout(() => this.#controller.abort(new Error(`no data for ${ms} ms`)), ms)
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  reset(): void {
    this.#timer.refresh()
  }

  stop(): void {
    clearTimeout(this.#timer)
  }
}
