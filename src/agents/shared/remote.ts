/** HTTP requests to other servers: bounded bodies, idle timeouts, clear failures. */
import { WorkError } from '../../core/ports/component.ts'
import { isNeverConnected, wasRejectedUnprocessed } from '../../client/not-received.ts'
import { messageOf } from '../../core/model/errors.ts'
import type { Failure } from '../../core/model/event.ts'
import { EventParser, FrameTooLargeError, type ParsedEvent } from '../../sse/parse.ts'
import { delay } from './delay.ts'
import type { UpstreamCode } from './upstream-codes.ts'

interface RemoteErrorOptions {
  readonly code?: UpstreamCode
  readonly status?: number
  readonly safeToResend?: boolean
  readonly retryAfterMs?: number | undefined
  readonly cause?: unknown
}

/** A failed request or stream that may succeed later. */
export class RemoteError extends Error {
  override readonly name = 'RemoteError'
  readonly code: UpstreamCode
  readonly status: number | undefined
  /** The server certainly did not act on the request. */
  readonly safeToResend: boolean
  /** `Retry-After` of the server. */
  readonly retryAfterMs: number | undefined

  constructor(message: string, options: RemoteErrorOptions = {}) {
    const { code = 'upstream_cut', status, safeToResend = false, retryAfterMs, cause } = options
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
    this.status = status
    this.safeToResend = safeToResend
    this.retryAfterMs = retryAfterMs
  }

  /** The failure of a run if the request is not retried. */
  get failure(): Failure {
    const { code, message, status } = this
    return { code, message, retryable: true, ...(status !== undefined && { details: { status } }) }
  }
}

export interface RemoteRequest {
  readonly url: string
  readonly method?: 'GET' | 'POST'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | URLSearchParams | FormData
  readonly signal: AbortSignal
  /** Time limit until the response starts. */
  readonly timeoutMs: number
}

/** Maximum size of a response, and of one stream event. */
const RESPONSE_CHARS_MAX = 16 * 1024 * 1024
/** Maximum excerpt of an error response. */
const REFUSAL_CHARS_MAX = 500

/**
 * Returns the response, whatever its status; throws `RemoteError` if there is none. Redirects fail: they could send keys and
 * prompt anywhere.
 */
export async function request({ url, signal, timeoutMs, ...init }: RemoteRequest): Promise<Response> {
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(new Error(`no response within ${timeoutMs} ms`)), timeoutMs)
  try {
    const response = await fetch(url, { ...init, redirect: 'manual', signal: AbortSignal.any([signal, late.signal]) })
    if (response.status >= 300 && response.status < 400) throw await redirected(url, response)
    return response
  } catch (thrown) {
    signal.throwIfAborted()
    if (thrown instanceof WorkError) throw thrown
    const { code, message } = ((thrown as Error).cause ?? {}) as { code?: unknown; message?: string }
    throw new RemoteError(`${new URL(url).host} cannot be reached: ${message ?? messageOf(thrown)}`, {
      code: 'upstream_unreachable',
      safeToResend: isNeverConnected(code),
    })
  } finally {
    clearTimeout(timer)
  }
}

async function redirected(url: string, { status, headers, body }: Response): Promise<WorkError> {
  await body?.cancel()
  const where = (headers.get('location') ?? 'nowhere').slice(0, REFUSAL_CHARS_MAX)
  const message = `${new URL(url).host} responded with a redirect (${status}) to ${where}, which is not followed: use that address as the url`
  return new WorkError({ code: 'upstream_http_error', message, details: { status } })
}

/** Like `request`, but throws for an error status: permanent or retryable. */
export async function requestOk(options: RemoteRequest): Promise<Response> {
  const response = await request(options)
  if (response.ok) return response
  const { status } = response
  const body = (await readText(response).catch(() => '')).slice(0, REFUSAL_CHARS_MAX)
  const message = `${new URL(options.url).host} responded with status ${status}${body === '' ? '' : `: ${body}`}`
  if (status === 429 || status >= 500)
    throw new RemoteError(message, {
      code: 'upstream_http_error',
      status,
      safeToResend: wasRejectedUnprocessed(status),
      retryAfterMs: retryAfterIn(response.headers),
    })
  throw new WorkError({ code: 'upstream_http_error', message, details: { status } })
}

/** `Retry-After` in seconds, or as a date. */
function retryAfterIn(headers: Headers): number | undefined {
  const text = headers.get('retry-after')
  if (text === null) return undefined
  const milliseconds = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now()
  return Number.isNaN(milliseconds) ? undefined : Math.max(0, milliseconds)
}

/** A bounded body. */
async function readText(response: Response): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true })
    if (text.length > RESPONSE_CHARS_MAX) throw tooLarge(`an answer of more than ${RESPONSE_CHARS_MAX} characters`)
  }
  return text + decoder.decode()
}

export async function readJson(response: Response): Promise<unknown> {
  const text = await readText(response)
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new RemoteError(`the upstream sent a response that is not JSON: ${text.slice(0, REFUSAL_CHARS_MAX)}`, {
      code: 'upstream_protocol_error',
      status: response.status,
      cause,
    })
  }
}

/** Events of a stream until it ends. A stream that is silent for too long counts as interrupted. */
export async function* eventsOf(response: Response, idleTimeoutMs: number): AsyncGenerator<ParsedEvent, void, void> {
  for await (const events of eventBatchesOf(response, idleTimeoutMs)) for (const event of events) yield event
}

/** Like `eventsOf`, with the events of each chunk together, which is much cheaper for streams of many events. */
export async function* eventBatchesOf(
  response: Response,
  idleTimeoutMs: number,
): AsyncGenerator<readonly ParsedEvent[], void, void> {
  if (response.body === null) return
  const reader = new IdleReader(response.body.getReader(), idleTimeoutMs)
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  let events: ParsedEvent[] = []
  const parser = new EventParser({ event: (event) => void events.push(event) }, RESPONSE_CHARS_MAX)
  try {
    for (;;) {
      const piece = await reader.read()
      if (piece === undefined) return
      parser.push(decoder.decode(piece, { stream: true }))
      if (events.length === 0) continue
      const found = events
      events = []
      yield found
    }
  } catch (thrown) {
    if (thrown instanceof FrameTooLargeError) throw tooLarge(thrown.message)
    throw thrown instanceof RemoteError ? thrown : new RemoteError(`the stream was cut: ${messageOf(thrown)}`)
  } finally {
    reader.close()
  }
}

/** Reads a body with one timer for all of its chunks. Only the time spent waiting for a chunk counts. */
class IdleReader {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>
  readonly #idleTimeoutMs: number
  readonly #timer: NodeJS.Timeout
  #isReading = false
  #isIdle = false

  constructor(reader: ReadableStreamDefaultReader<Uint8Array>, idleTimeoutMs: number) {
    this.#reader = reader
    this.#idleTimeoutMs = idleTimeoutMs
    this.#timer = setTimeout(() => this.#onTimeout(), idleTimeoutMs)
  }

  /** Undefined at the end. */
  async read(): Promise<Uint8Array | undefined> {
    this.#timer.refresh()
    this.#isReading = true
    const { done, value } = await this.#reader.read()
    this.#isReading = false
    if (this.#isIdle)
      throw new RemoteError(`no data on the stream for ${this.#idleTimeoutMs} ms`, { code: 'upstream_idle' })
    return done ? undefined : value
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#cancel()
  }

  #onTimeout(): void {
    if (!this.#isReading) return
    this.#isIdle = true
    this.#cancel()
  }

  /** Aborts a pending read. */
  #cancel(): void {
    this.#reader.cancel().catch(() => {}) // it may have ended already
  }
}

function tooLarge(message: string): WorkError {
  return new WorkError({ code: 'upstream_too_large', message: `the remote agent sent too much: ${message}` })
}

export interface RetryOptions {
  /** Maximum consecutive failures. */
  readonly retries: number
  /** Delay before the first retry; doubles each time. */
  readonly retryDelayMs: number
}

const DELAY_MAX_MS = 10_000
/** Maximum wait that the other side may ask for. */
const RETRY_AFTER_MAX_MS = 60_000

/** Exponential backoff for consecutive failures, with a limit. */
export class RetryBudget {
  readonly #options: RetryOptions
  readonly #signal: AbortSignal
  #failures = 0

  constructor(options: RetryOptions, signal: AbortSignal) {
    this.#options = options
    this.#signal = signal
  }

  /** Call this after progress. */
  reset(): void {
    this.#failures = 0
  }

  /** Resolves when the failed operation may be retried. Throws permanent failures immediately. */
  async wait(thrown: unknown): Promise<void> {
    this.#signal.throwIfAborted()
    if (!(thrown instanceof RemoteError)) throw thrown
    const { status, retryAfterMs = 0 } = thrown
    if (++this.#failures > this.#options.retries || retryAfterMs > RETRY_AFTER_MAX_MS) {
      const details = {
        tries: this.#failures,
        ...(status !== undefined && { status }),
        ...(retryAfterMs > 0 && { retryAfterMs }),
      }
      throw new WorkError({ ...thrown.failure, details })
    }
    const delayMs = Math.min(this.#options.retryDelayMs * 2 ** (this.#failures - 1), DELAY_MAX_MS)
    await delay(Math.max(delayMs, retryAfterMs), this.#signal)
  }
}
