/** OpenAI Responses API calls for background responses: start, stream, cancel. */
import { WorkError } from '../../../core/ports/component.ts'
import type { FetchedResponse } from './reattach-remainder.ts'
import type { Sdk } from '../sdk.ts'

/** How long a stopped run waits for the id of a response that it requested, in order to cancel it; and for the cancellation. */
const CLEANUP_MS = 10_000

/** A client's request for a streamed response. */
export interface CreationRequest {
  readonly url: URL
  readonly headers: Headers
  readonly body: Readonly<Record<string, unknown>>
}

export interface ResponseEvent {
  readonly type: string
  readonly sequence_number: number
}

export interface StartedResponse {
  readonly id: string
  /** From the first event on. */
  readonly live: AsyncIterable<ResponseEvent>
}

/** Undefined for any other request. */
export function creationOf(input: string | URL | Request, init: RequestInit = {}): CreationRequest | undefined {
  const isAddress = typeof input === 'string' || input instanceof URL
  if (!isAddress || init.method !== 'POST' || typeof init.body !== 'string') return undefined
  const url = new URL(input)
  if (!url.pathname.endsWith('/responses')) return undefined
  const body = JSON.parse(init.body) as Record<string, unknown>
  return body['stream'] === true ? { url, headers: new Headers(init.headers), body } : undefined
}

export class ResponseApi {
  readonly #sdk: Sdk
  readonly #creation: CreationRequest

  constructor(sdk: Sdk, creation: CreationRequest) {
    this.#sdk = sdk
    this.#creation = creation
  }

  /** Returns the provider's response if it refuses. */
  async start(signal: AbortSignal): Promise<StartedResponse | Response> {
    const { url, headers, body } = this.#creation
    const connection = new AbortController()
    const release = afterAbort(signal, CLEANUP_MS, () => connection.abort(signal.reason))
    const response = await fetch(url, {
      method: 'POST',
      headers,
      body: JSON.stringify({ ...body, background: true, store: true }),
      signal: connection.signal,
    })
    if (!response.ok) return response
    const events = this.#eventsOf(response)
    const { value: first } = await events.next()
    const id = first?.response?.id
    release()
    if (first === undefined || typeof id !== 'string')
      throw failure('the provider closed the stream before it sent a response id', true, {})
    return { id, live: until(signal, connection, [first], events) }
  }

  /**
   * Events after a sequence number, or all; undefined if the response is too old to be streamed. Rejects with a `WorkError`
   * if a retry is useless.
   */
  async listen(
    id: string,
    from: number | undefined,
    signal: AbortSignal,
  ): Promise<AsyncIterable<ResponseEvent> | undefined> {
    const url = this.#urlOf(id)
    url.searchParams.set('stream', 'true')
    if (from !== undefined) url.searchParams.set('starting_after', String(from))
    const response = await fetch(url, { headers: this.#headers(), signal })
    if (response.ok) return this.#eventsOf(response)
    if (response.status === 400) return undefined
    throw await refusal(id, response)
  }

  async retrieve(id: string, signal: AbortSignal): Promise<FetchedResponse> {
    const response = await fetch(this.#urlOf(id), { headers: this.#headers(), signal })
    if (!response.ok) throw await refusal(id, response)
    return (await response.json()) as FetchedResponse
  }

  /** Whether the provider cancelled it. */
  async cancel(id: string): Promise<{ readonly cancelled: boolean }> {
    try {
      const url = this.#urlOf(id, '/cancel')
      const signal = AbortSignal.timeout(CLEANUP_MS)
      const { ok } = await fetch(url, { method: 'POST', headers: this.#headers(), signal })
      return { cancelled: ok }
    } catch {
      return { cancelled: false }
    }
  }

  #urlOf(id: string, command = ''): URL {
    const url = new URL(this.#creation.url)
    url.pathname += `/${encodeURIComponent(id)}${command}`
    return url
  }

  /** The client's headers, including credentials, without those about the body. */
  #headers(): Headers {
    const headers = new Headers(this.#creation.headers)
    headers.delete('content-type')
    headers.delete('content-length')
    return headers
  }

  async *#eventsOf(response: Response): AsyncGenerator<ResponseEvent & { response?: { id?: unknown } }, void, void> {
    const schema = this.#sdk.jsonSchema<ResponseEvent>({})
    for await (const parsed of this.#sdk.parseJsonEventStream({ stream: response.body!, schema })) {
      if (!parsed.success) throw parsed.error
      if (!Number.isInteger(parsed.value.sequence_number))
        throw failure(
          'the provider does not number its events, so its responses cannot be resumed: use the model without resumable()',
          false,
          {},
        )
      yield parsed.value
    }
  }
}

/** Failure code: the provider no longer has the response. */
const GONE = 'response_gone'

export function isGone(thrown: unknown): thrown is WorkError {
  return thrown instanceof WorkError && (thrown.failure.details as { reason?: unknown } | undefined)?.reason === GONE
}

function failure(message: string, retryable: boolean, details: object): WorkError {
  return new WorkError({ code: 'agent_failed', message, retryable, details })
}

/** Why the provider refuses. */
async function refusal(id: string, response: Response): Promise<Error> {
  const { status } = response
  const body = (await response.text()).slice(0, 500)
  if (status === 408 || status === 409 || status === 429 || status >= 500)
    return new Error(`the provider responded with status ${status}: ${body}`)
  if (status === 400 || status === 404 || status === 410) return goneFailure(id, `${status}: ${body}`)
  return failure(`the provider refused to return the response (${status}): ${body}`, false, { status, response: id })
}

export function goneFailure(id: string, body: string): WorkError {
  const message = `the provider no longer has the response of an earlier attempt (${body})`
  return failure(message, true, { reason: GONE, response: id })
}

async function* until(
  signal: AbortSignal,
  connection: AbortController,
  firstEvents: readonly ResponseEvent[],
  rest: AsyncIterable<ResponseEvent>,
): AsyncGenerator<ResponseEvent> {
  const abort = (): void => connection.abort(signal.reason)
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort, { once: true })
  try {
    yield* firstEvents
    yield* rest
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

/** Calls `act` some time after an abort, unless released before. */
function afterAbort(signal: AbortSignal, ms: number, act: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined
  const wait = (): void => void (timer = setTimeout(act, ms))
  if (signal.aborted) wait()
  else signal.addEventListener('abort', wait, { once: true })
  return () => {
    clearTimeout(timer)
    signal.removeEventListener('abort', wait)
  }
}
