/** Requests to one server: credentials, errors as they are meant, and repetition where it does no harm. */
import { Backoff, type OnProblem } from './backoff.ts'
import { ApiError, ClientError, ConnectionError } from './errors.ts'
import { Watchdog } from './watchdog.ts'

export interface TransportOptions {
  /** Where the server is, with the path that it is mounted at. Default: in a browser, the page's own origin. */
  readonly url?: string
  /** Sent as a bearer token; a function is asked before every request, so it may hand out a fresh one. */
  readonly key?: string | (() => string | Promise<string>)
  readonly fetch?: typeof fetch
  /** Failures in a row before it gives up; progress resets the count. Default: 20, which takes about two minutes. */
  readonly retries?: number
  /** Delay before the first try again; it grows to ten seconds. Default: 500. A stream's own `retry:` takes precedence. */
  readonly retryDelayMs?: number
  /** Silence after which a connection is taken for dead. Servers send a heartbeat every 15 seconds. Default: 45,000. */
  readonly idleTimeoutMs?: number
  /** Of every request and stream: told at once what failed and is tried again, and `undefined` when it is well again. */
  readonly onProblem?: OnProblem
}

/** Whether a JSON answer is one of our server; `none` for 204. */
export type Answer = ((body: Fields) => boolean) | 'none'

export type Fields = Readonly<Record<string, unknown>>

export interface Request {
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly query?: Readonly<Record<string, string | number | undefined>>
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
  readonly signal?: AbortSignal | undefined
  /** Id of the run that it is about, for errors. */
  readonly run?: string
  /** What our server answers: anything else came from a proxy, a captive portal or another server. */
  readonly answer: Answer
  /** `refused`: only after an answer that says that nothing was done. */
  readonly repeat?: 'always' | 'refused'
  /** Of this request alone. */
  readonly idleTimeoutMs?: number
  readonly onProblem?: OnProblem | undefined
}

/** Removes what a path names. Not repeated once it may have been done: it would be answered with 404. */
export const REMOVAL: Partial<Request> = { method: 'DELETE', answer: 'none', repeat: 'refused' }

/** Answers that another try may change, whoever on the way gave them; CDNs have their own beyond 511. */
function isTransientStatus(status: number): boolean {
  return status === 408 || status === 425 || status === 429 || (status >= 500 && status !== 501)
}

/**
 * Answers with which a load balancer without a backend, a portal or a firewall stands in for our server. Its own have a body that is
 * known, and another try does not change them.
 */
const STAND_INS = [403, 404]

/** Answers that are sure to mean that nothing was done. */
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
    if (url === undefined) throw new TypeError('url is missing: say where the server is')
    this.url = url.replace(/\/+$/, '')
    this.key = key
    this.#retries = retries
    this.#retryDelayMs = retryDelayMs
    this.idleTimeoutMs = idleTimeoutMs
    this.#options = options
    // Called as a plain function: a browser's fetch refuses to be a method of anything else.
    this.#fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init))
  }

  /** To another server or with another key, with the same settings. */
  at(url: string, key: string): Transport {
    return new Transport({ ...this.#options, url, key })
  }

  newBackoff(onProblem?: OnProblem): Backoff {
    return new Backoff(this.#retries, this.#retryDelayMs, (problem) => {
      onProblem?.(problem)
      this.#options.onProblem?.(problem)
    })
  }

  /** One try, up to the head of the answer. Throws `ApiError` for a refusal and `ConnectionError` for no answer. */
  async open(request: Request, watchdog: Watchdog): Promise<Response> {
    const { method = 'GET', path, query = {}, headers = {}, body } = request
    const parameters = Object.entries(query).flatMap(([name, value]) =>
      value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
    )
    const address = this.url + path + (parameters.length === 0 ? '' : `?${parameters.join('&')}`)
    const key = typeof this.key === 'function' ? await watchdog.wait(Promise.resolve(this.key())) : this.key
    let response: Response
    try {
      response = await watchdog.wait(
        this.#fetch(address, {
          method,
          cache: 'no-store',
          signal: watchdog.signal,
          headers: {
            ...(key !== undefined && { authorization: `Bearer ${key}` }),
            ...(body !== undefined && { 'content-type': 'application/json' }),
            ...headers,
          },
          ...(body !== undefined && { body: JSON.stringify(body) }),
        }),
      )
    } catch (cause) {
      throw lost(cause, request, watchdog)
    }
    if (response.ok) return response
    throw await refusal(response, request, watchdog)
  }

  /** A whole answer as JSON, undefined for one without a body. Tries again while that may help and does no harm. */
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

  /** One try of the same. */
  async once<Body>(request: Request): Promise<Body> {
    const watchdog = new Watchdog(request.idleTimeoutMs ?? this.idleTimeoutMs, request.signal)
    try {
      const response = await this.open(request, watchdog)
      try {
        return checkedAnswer(await watchdog.wait(response.text()), response, request) as Body
      } catch (cause) {
        throw lost(cause, request, watchdog)
      }
    } finally {
      watchdog.close()
    }
  }
}

export function isTransient(error: ClientError): boolean {
  return error instanceof ConnectionError || (error instanceof ApiError && isTransientStatus(error.status))
}

/** An answer did not come, or not whole. What the caller aborted is passed on as it is. */
export function lost(cause: unknown, { path, run, signal }: Request, watchdog: Watchdog): unknown {
  if (signal?.aborted === true) return signal.reason
  if (cause instanceof ClientError) return cause
  const why = watchdog.silent ? 'nothing was heard of it for too long' : String(cause)
  return new ConnectionError(`${path}: ${why}`, { run, cause })
}

/** The body, if it is one that our server sends. */
function checkedAnswer(text: string, response: Response, { path, run, answer }: Request): unknown {
  if (answer === 'none') {
    if (response.status === 204) return undefined
  } else {
    const body = parsed(text)
    if (isFields(body) && answer(body)) return body
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

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const SHOWN_CHARS = 100

/** Somebody on the way answered instead of our server. */
export function foreignAnswer(
  response: Response,
  path: string,
  run: string | undefined,
  text: string,
): ConnectionError {
  return new ConnectionError(`${path}: this is not an answer of a Holdfast server: ${received(response, text)}`, {
    run,
  })
}

function received({ status, headers, redirected }: Response, text: string): string {
  const type = headers.get('content-type') ?? 'no content type'
  const shown = text === '' ? 'an empty body' : JSON.stringify(text.slice(0, SHOWN_CHARS))
  return `${status}${redirected ? ' after a redirect' : ''}, ${type}, ${shown}`
}

async function refusal(response: Response, { path, run }: Request, watchdog: Watchdog): Promise<ClientError> {
  const { status, headers } = response
  // A body that breaks off is not one of ours; the status says enough.
  const text = await watchdog.wait(response.text()).catch(() => '')
  const body = parsed(text)
  const { code, detail, retryable, requestId, details } = isFields(body) ? body : {}
  if (typeof detail !== 'string' && STAND_INS.includes(status)) return foreignAnswer(response, path, run, text)
  return new ApiError(typeof detail === 'string' ? detail : `${path}: answered with ${received(response, text)}`, {
    status,
    run,
    code: typeof code === 'string' ? code : `http_${status}`,
    retryable: typeof retryable === 'boolean' ? retryable : isTransientStatus(status),
    requestId: typeof requestId === 'string' ? requestId : undefined,
    details,
    retryAfterMs: retryAfter(headers.get('retry-after')),
  })
}

/** Seconds, or a date. */
function retryAfter(header: string | null): number | undefined {
  if (header === null) return undefined
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now()
  return Number.isNaN(ms) ? undefined : Math.max(0, ms)
}
