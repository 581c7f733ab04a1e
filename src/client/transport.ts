/** Requests to one server: credentials, typed errors, and safe retries. */
import { Backoff, type OnProblem } from './backoff.ts'
import { ApiError, ClientError, ConnectionError } from './errors.ts'
import { type HeaderSource, headersFrom } from './header-source.ts'
import { Watchdog } from './watchdog.ts'

/** Address of the server, and options of requests to it. */
export interface TransportOptions {
  /** URL of the server, including its mount path. Default: in a browser, the page's origin. */
  readonly url?: string
  /** Sent as bearer token. A function is called before every request, so it can return a fresh one. Default: none. */
  readonly key?: string | (() => string | Promise<string>)
  /** Sent with every request, such as a tenant's name. Not sent to share links of other origins. Default: none. */
  readonly headers?: HeaderSource
  /** Default: the global `fetch`. */
  readonly fetch?: typeof fetch
  /** Consecutive failures before it gives up; progress resets the count. Default: 20, which takes about two minutes. */
  readonly retries?: number
  /** Delay before the first retry; grows to ten seconds. Default: 500. A stream's own `retry:` takes precedence. */
  readonly retryDelayMs?: number
  /** Idle time after which a connection counts as dead. Servers send a heartbeat every 15 seconds. Default: 45,000. */
  readonly idleTimeoutMs?: number
  /** For every request and stream: called when it failed and will be retried, and with `undefined` when it has recovered. Default: ignored. */
  readonly onProblem?: OnProblem
}

/** Recognizes a JSON response of Holdfast; `none` for 204. */
export type ResponseCheck = ((body: Fields) => boolean) | 'none'

export type Fields = Readonly<Record<string, unknown>>

export interface Request {
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly query?: Readonly<Record<string, string | number | undefined>>
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
  readonly signal?: AbortSignal | undefined
  /** Id of the run concerned, for errors. */
  readonly run?: string
  /** Recognizes a response of Holdfast: anything else came from a proxy, a captive portal or another server. */
  readonly validate: ResponseCheck
  /** `refused`: retry only after a response that guarantees that nothing was done. */
  readonly repeat?: 'always' | 'refused'
  /** Overrides the timeout for this request. */
  readonly idleTimeoutMs?: number
  readonly onProblem?: OnProblem | undefined
}

/** A DELETE request. Not repeated once it may have been done: the server would respond with 404. */
export const REMOVAL: Partial<Request> = { method: 'DELETE', validate: 'none', repeat: 'refused' }

/** Statuses that a retry may change, from any hop on the path; CDNs have their own beyond 511. */
function isTransientStatus(status: number): boolean {
  return status === 408 || status === 425 || status === 429 || (status >= 500 && status !== 501)
}

/**
 * Statuses that a load balancer without a backend, a portal or a firewall may send instead of Holdfast. Holdfast's own have a known
 * body, and are not retried.
 */
const STAND_INS = [403, 404]

/** Statuses that guarantee that nothing was done. */
const REFUSED = [429, 503]

export class Transport {
  readonly url: string
  readonly key: TransportOptions['key']
  readonly idleTimeoutMs: number
  readonly #fetch: typeof fetch
  readonly #retries: number
  readonly #retryDelayMs: number
  readonly #options: TransportOptions

  constructor(options: TransportOptions) {
    const { url = globalThis.location?.origin, key, retries = 20, retryDelayMs = 500, idleTimeoutMs = 45_000 } = options
    if (url === undefined) throw new TypeError('url is missing: pass the address of the server')
    this.url = url.replace(/\/+$/, '')
    this.key = key
    this.#retries = retries
    this.#retryDelayMs = retryDelayMs
    this.idleTimeoutMs = idleTimeoutMs
    this.#options = options
    // Called as a plain function: a browser's fetch refuses to be a method of anything else.
    this.#fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init))
  }

  /** Whether requests carry the caller's headers, which may affect the response. */
  get hasHeaders(): boolean {
    return this.#options.headers !== undefined
  }

  /** A transport with the same settings for another server or key. Other origins get none of the headers. */
  at(url: string, key: string): Transport {
    const { headers, ...options } = this.#options
    const isSameOrigin = headers !== undefined && new URL(url).origin === new URL(this.url).origin
    return new Transport({ ...options, url, key, ...(isSameOrigin && { headers }) })
  }

  newBackoff(onProblem?: OnProblem): Backoff {
    return new Backoff(this.#retries, this.#retryDelayMs, (problem) => {
      onProblem?.(problem)
      this.#options.onProblem?.(problem)
    })
  }

  /** One attempt, up to the response headers. Throws `ApiError` for a refusal and `ConnectionError` for no response. */
  async open(request: Request, watchdog: Watchdog): Promise<Response> {
    const { method = 'GET', path, query = {}, headers = {}, body } = request
    const parameters = Object.entries(query).flatMap(([name, value]) =>
      value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
    )
    const address = this.url + path + (parameters.length === 0 ? '' : `?${parameters.join('&')}`)
    const key = typeof this.key === 'function' ? await watchdog.wait(Promise.resolve(this.key())) : this.key
    const own = await watchdog.wait(headersFrom(this.#options.headers))
    let response: Response
    try {
      response = await watchdog.wait(
        this.#fetch(address, {
          method,
          cache: 'no-store',
          signal: watchdog.signal,
          headers: {
            ...own,
            ...(key !== undefined && { authorization: `Bearer ${key}` }),
            ...(body !== undefined && { 'content-type': 'application/json' }),
            ...headers,
          },
          ...(body !== undefined && { body: JSON.stringify(body) }),
        }),
      )
    } catch (cause) {
      throw connectionFailure(cause, request, watchdog)
    }
    if (response.ok) return response
    throw await refusal(response, request, watchdog)
  }

  /** A whole JSON response; undefined without a body. Retries if that may help and is safe. */
  async json<Body>(request: Request): Promise<Body> {
    const { signal, repeat = 'always', onProblem } = request
    const backoff = this.newBackoff(onProblem)
    for (;;) {
      try {
        const body = await this.once<Body>(request)
        backoff.alive()
        return body
      } catch (cause) {
        if (!(cause instanceof ClientError) || !isTransient(cause)) throw cause
        if (repeat === 'refused' && !(cause instanceof ApiError && REFUSED.includes(cause.status))) throw cause
        await backoff.pause(cause, signal)
      }
    }
  }

  /** One attempt of `json`. */
  async once<Body>(request: Request): Promise<Body> {
    const watchdog = new Watchdog(request.idleTimeoutMs ?? this.idleTimeoutMs, request.signal)
    try {
      const response = await this.open(request, watchdog)
      try {
        return checkedAnswer(await watchdog.wait(response.text()), response, request) as Body
      } catch (cause) {
        throw connectionFailure(cause, request, watchdog)
      }
    } finally {
      watchdog.close()
    }
  }
}

export function isTransient(error: ClientError): boolean {
  return error instanceof ConnectionError || (error instanceof ApiError && isTransientStatus(error.status))
}

/** The response did not arrive, or not completely. The caller's own abort is passed on. */
export function connectionFailure(cause: unknown, { path, run, signal }: Request, watchdog: Watchdog): unknown {
  if (signal?.aborted === true) return signal.reason
  if (cause instanceof ClientError) return cause
  const why = watchdog.silent ? 'the connection was idle for too long' : String(cause)
  return new ConnectionError(`${path}: ${why}`, { run, cause })
}

/** The body, if Holdfast sent it. */
function checkedAnswer(text: string, response: Response, { path, run, validate }: Request): unknown {
  if (validate === 'none') {
    if (response.status === 204) return undefined
  } else {
    const body = parseJson(text)
    if (isFields(body) && validate(body)) return body
  }
  throw foreignAnswer(response, path, run, text)
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null
}

export function hasId({ id }: Fields): boolean {
  return typeof id === 'string'
}

/** Whether it is a list of objects, each of which is as it must be. */
export function isListOf(value: unknown, isItem: (item: Fields) => boolean): boolean {
  return Array.isArray(value) && value.every((item) => isFields(item) && isItem(item))
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const SHOWN_CHARS = 100

/** The error for a response that does not come from Holdfast. */
export function foreignAnswer(
  response: Response,
  path: string,
  run: string | undefined,
  text: string,
): ConnectionError {
  return new ConnectionError(`${path}: the response is not from a Holdfast server: ${responseText(response, text)}`, {
    run,
  })
}

function responseText({ status, headers, redirected }: Response, text: string): string {
  const type = headers.get('content-type') ?? 'no content type'
  const preview = text === '' ? 'an empty body' : JSON.stringify(text.slice(0, SHOWN_CHARS))
  return `${status}${redirected ? ' after a redirect' : ''}, ${type}, ${preview}`
}

async function refusal(response: Response, { path, run }: Request, watchdog: Watchdog): Promise<ClientError> {
  const { status, headers } = response
  // A truncated body is not Holdfast's; the status is enough.
  const text = await watchdog.wait(response.text()).catch(() => '')
  const body = parseJson(text)
  const { code, detail, retryable, requestId, details } = isFields(body) ? body : {}
  if (typeof detail !== 'string' && STAND_INS.includes(status)) return foreignAnswer(response, path, run, text)
  return new ApiError(
    typeof detail === 'string' ? detail : `${path}: the server responded with ${responseText(response, text)}`,
    {
      status,
      run,
      code: typeof code === 'string' ? code : `http_${status}`,
      retryable: typeof retryable === 'boolean' ? retryable : isTransientStatus(status),
      requestId: typeof requestId === 'string' ? requestId : undefined,
      details,
      retryAfterMs: retryAfter(headers.get('retry-after')),
    },
  )
}

/** Seconds, or a date. */
function retryAfter(header: string | null): number | undefined {
  if (header === null) return undefined
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now()
  return Number.isNaN(ms) ? undefined : Math.max(0, ms)
}
