/** HTTP for both HTTP bindings: credentials only for trusted origins, everything bounded. */
import { ApiError, ConnectionError } from '../client/errors.ts'
import { isNeverConnected } from '../client/not-received.ts'
import { Watchdog } from '../client/watchdog.ts'
import { FrameTooLargeError, type ParsedEvent } from '../sse/index.ts'
import { eventsIn, piecesOf } from '../sse/read.ts'
import { ProtocolError } from './errors.ts'
import { type HeaderRecord, type HeaderSource, headersFrom } from '../client/header-source.ts'
import { NotReceivedError } from './not-received.ts'
import type { A2aVersion } from './types.ts'

export interface ExchangeOptions {
  readonly headers: HeaderSource
  /** Origins that get the headers. */
  readonly trusted: ReadonlySet<string>
  readonly fetch: typeof fetch
}

export interface HttpExchange {
  readonly url: string
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly headers?: HeaderRecord
  readonly body?: object | undefined
}

/** Maximum size of a response, and of one stream event. */
const RESPONSE_CHARS_MAX = 16 * 1024 * 1024
/** Maximum excerpt of an error response. */
const REFUSAL_CHARS_MAX = 500

export class Exchange {
  readonly #options: ExchangeOptions

  constructor(options: ExchangeOptions) {
    this.#options = options
  }

  /** Extra headers for a URL: none unless its origin is trusted. */
  async headersFor(url: string): Promise<HeaderRecord> {
    const { headers, trusted } = this.#options
    if (!trusted.has(new URL(url).origin)) return {}
    return headersFrom(headers)
  }

  /** Returns the response, whatever its status. */
  async open({ url, method, headers = {}, body }: HttpExchange, watchdog: Watchdog): Promise<Response> {
    try {
      const own = await this.headersFor(url)
      // A redirect could send credentials anywhere.
      const init: RequestInit = { method, headers: { ...own, ...headers }, redirect: 'error', signal: watchdog.signal }
      const { fetch } = this.#options
      return await watchdog.wait(fetch(url, body === undefined ? init : { ...init, body: JSON.stringify(body) }))
    } catch (cause) {
      throw connectionFailure(cause, url, watchdog)
    }
  }

  /** One request whose response is read completely. */
  async whole(asked: HttpExchange, timeoutMs: number, signal: AbortSignal | undefined): Promise<FullResponse> {
    const watchdog = new Watchdog(timeoutMs, signal)
    try {
      const response = await this.open(asked, watchdog)
      return { response, text: await readText(response, asked.url, watchdog) }
    } finally {
      watchdog.close()
    }
  }
}

export interface FullResponse {
  readonly response: Response
  readonly text: string
}

export async function readText(response: Response, url: string, watchdog: Watchdog): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const bytes of chunksOf(response, url, watchdog)) {
    text += decoder.decode(bytes, { stream: true })
    if (text.length > RESPONSE_CHARS_MAX) throw tooLarge(`an answer of more than ${RESPONSE_CHARS_MAX} characters`)
  }
  return text + decoder.decode()
}

/** Events of a stream until it ends. */
export async function* eventsOf(response: Response, url: string, watchdog: Watchdog): AsyncGenerator<ParsedEvent> {
  try {
    yield* eventsIn(chunksOf(response, url, watchdog), { maxChars: RESPONSE_CHARS_MAX })
  } catch (cause) {
    throw cause instanceof FrameTooLargeError ? tooLarge(cause.message) : cause
  }
}

function chunksOf(response: Response, url: string, watchdog: Watchdog): AsyncGenerator<Uint8Array> {
  return piecesOf(response.body, (piece) =>
    watchdog.wait(piece).catch((cause: unknown) => {
      throw connectionFailure(cause, url, watchdog)
    }),
  )
}

function tooLarge(what: string): ProtocolError {
  return new ProtocolError(`the agent sent too much: ${what}`)
}

/** The response did not arrive, or not completely. The caller's own abort is passed on. */
function connectionFailure(cause: unknown, url: string, watchdog: Watchdog): unknown {
  const { host } = new URL(url)
  if (watchdog.silent) return new ConnectionError(`no data from ${host} for too long`, { cause })
  if (watchdog.signal.aborted) return watchdog.signal.reason
  const { code, message } = ((cause as Error).cause ?? {}) as { code?: unknown; message?: string }
  const text = `${host} cannot be reached: ${message ?? String(cause)}`
  return isNeverConnected(code) ? new NotReceivedError(text, { cause }) : new ConnectionError(text, { cause })
}

/** An error response that A2A does not define. */
export function refusalOf({ response, text }: FullResponse, url: string): ApiError {
  const { status, headers } = response
  const excerpt = text === '' ? '' : `: ${text.slice(0, REFUSAL_CHARS_MAX)}`
  const seconds = Number(headers.get('retry-after') ?? 'none')
  return new ApiError(`${new URL(url).host} responded with status ${status}${excerpt}`, {
    code: `http_${status}`,
    status,
    retryable: status === 429 || status >= 500,
    retryAfterMs: Number.isNaN(seconds) ? undefined : Math.max(0, seconds * 1000),
  })
}

export function parseJson(text: string, what: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new ProtocolError(`the agent sent ${what} that is not JSON: ${text.slice(0, REFUSAL_CHARS_MAX)}`, { cause })
  }
}

export function isEventStream(response: Response): boolean {
  return response.ok && (response.headers.get('content-type') ?? '').startsWith('text/event-stream')
}

/** Service parameters of every request. */
export function serviceHeaders(version: A2aVersion, extensions: readonly string[]): Record<string, string> {
  const names = extensions.join(', ')
  return {
    'a2a-version': version,
    ...(names !== '' && { [version === '1.0' ? 'a2a-extensions' : 'x-a2a-extensions']: names }),
  }
}
