/** Executes a run as one response of an upstream with the Responses API, followed to its end over any number of connections. */
import { type Emission, type RunContext, type UpstreamInfo, WorkError } from '../../core/ports/component.ts'
import { endOf, type FetchedResponse, ReceivedResponse, remainder } from '../model/reattach/reattach-remainder.ts'
import type { HeaderRecord } from '../../client/header-source.ts'
import { INTERNAL } from '../shared/leg.ts'
import { onStop } from '../shared/on-stop.ts'
import { delay } from '../shared/delay.ts'
import { recordedUpstream, withReceived } from '../shared/received.ts'
import { eventsOf, readJson, RemoteError, request, requestOk, RetryBudget } from '../shared/remote.ts'
import type { UpstreamPool, UpstreamSlot } from '../shared/upstream-pool.ts'
import { ResponseOutput } from './response-output.ts'
import { parseResponseEvent, type UpstreamResponseEvent } from './response-wire.ts'

/** Input of a run that a Responses client started: its request, unchanged. */
export interface ForwardedResponse {
  readonly response: Readonly<Record<string, unknown>>
}

export function isForwardedResponse(input: unknown): input is ForwardedResponse {
  const { response } = (typeof input === 'object' && input !== null ? input : {}) as { response?: unknown }
  return typeof response === 'object' && response !== null
}

/** `background`: responses are started in the background, so that their streams can be resumed. */
export type ResponsesMode = 'stream' | 'background'

export interface ResponseSettings {
  readonly pool: UpstreamPool
  readonly model: string
  readonly upstream: UpstreamInfo
  readonly responses?: ResponsesMode
  readonly recovery?: 'fail' | 'retry'
  readonly headersFor?: (context: RunContext) => Promise<HeaderRecord>
  readonly requestTimeoutMs: number
  readonly idleTimeoutMs: number
  readonly retries: number
  readonly retryDelayMs: number
}

type Events = AsyncIterable<UpstreamResponseEvent>

/** Its id and replica, as recorded in the log. */
interface SentRequest {
  readonly id: string
  readonly url: string
}

/** Interval of polling a response that cannot be streamed. */
const POLL_MS = 1000

export async function* runResponse(
  settings: ResponseSettings,
  { response: body }: ForwardedResponse,
  context: RunContext,
  slot: UpstreamSlot,
): AsyncGenerator<Emission, unknown, void> {
  const isStored = body['store'] !== false
  const isBackground = settings.responses === 'background' && isStored
  let opened: Events | undefined
  const send = async (): Promise<SentRequest> => {
    if (context.attempt > 1 && settings.recovery !== 'retry') throw interrupted()
    await slot.acquire()
    const started = await start(settings, { ...body, ...(isBackground && { background: true, store: true }) }, context)
    opened = started.events
    return started.sent
  }
  const sent = isStored ? await context.step('send', send, { details: INTERNAL }) : await send()
  const api = new StoredResponse(settings, context, sent, isBackground)
  const forget = onStop(context, 'cancel', () => api.cancel())
  try {
    await slot.acquire()
    const output = new ResponseOutput(context.runId, settings.model)
    yield* follow(settings, context, output, { opened, api: isStored ? api : undefined })
    yield* output.end()
    return output.text === '' ? undefined : output.text
  } finally {
    forget()
  }
}

function interrupted(): WorkError {
  const message =
    'the gateway was interrupted before the response was stored, and cannot tell whether the upstream has it'
  return new WorkError({ code: 'interrupted', message, retryable: true })
}

async function start(
  settings: ResponseSettings,
  body: Readonly<Record<string, unknown>>,
  context: RunContext,
): Promise<{ readonly sent: SentRequest; readonly events: Events }> {
  const { pool, model, requestTimeoutMs: timeoutMs, idleTimeoutMs } = settings
  const { signal, sessionId } = context
  const headers = await headersOf(settings, context)
  try {
    return await pool.send(pool.preferred(sessionId), settings, signal, async ({ url }) => {
      const response = await requestOk({
        url: `${url}/responses`,
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json', accept: 'text/event-stream' },
        body: JSON.stringify({ ...body, model, stream: true }),
        signal,
        timeoutMs,
      })
      const events = isJson(response) ? wholeResponse(response) : parsed(response, idleTimeoutMs)
      const { done, value: first } = await events.next()
      if (done === true) throw new RemoteError('the upstream closed its stream without sending an event')
      const id = typeof first.response?.id === 'string' ? first.response.id : ''
      return { sent: { id, url }, events: withFirst(first, events) }
    })
  } catch (thrown) {
    throw thrown instanceof RemoteError ? new WorkError(thrown.failure) : thrown
  }
}

async function headersOf({ headersFor }: ResponseSettings, context: RunContext): Promise<HeaderRecord> {
  return (await headersFor?.(context)) ?? {}
}

function isJson({ headers }: Response): boolean {
  return /^application\/json\b/i.test(headers.get('content-type') ?? '')
}

async function* parsed(response: Response, idleTimeoutMs: number): AsyncGenerator<UpstreamResponseEvent, void, void> {
  for await (const event of eventsOf(response, idleTimeoutMs)) {
    const value = parseResponseEvent(event)
    if (value === undefined) return
    yield value
  }
}

/** Reads the response of an upstream that does not stream. */
async function* wholeResponse(response: Response): AsyncGenerator<UpstreamResponseEvent, void, void> {
  const whole = (await readJson(response)) as FetchedResponse
  yield* remainder(whole, new ReceivedResponse(), -1)
}

async function* withFirst<Item>(first: Item, rest: AsyncIterable<Item>): AsyncGenerator<Item, void, void> {
  yield first
  yield* rest
}

interface Connection {
  /** The stream that the request opened; none if an earlier attempt sent it. */
  readonly opened: Events | undefined
  /** Undefined for a response that is not stored: it cannot be read again. */
  readonly api: StoredResponse | undefined
}

/** A stream that ends before the response does was interrupted, even if it closed cleanly. */
async function* follow(
  settings: ResponseSettings,
  context: RunContext,
  output: ResponseOutput,
  { opened, api }: Connection,
): AsyncGenerator<Emission, void, void> {
  const logged = recordedUpstream(settings.upstream, context)
  const retries = new RetryBudget(settings, context.signal)
  const received = new ReceivedResponse()
  let last = -1
  for (let events = opened; ; events = undefined) {
    try {
      for await (const event of events ?? (await api!.rest(received, last))) {
        const { sequence_number: sequence = last + 1 } = event
        if (sequence <= last) continue
        last = sequence
        received.note({ ...event, sequence_number: sequence })
        retries.reset()
        yield* withReceived(logged, event.type, event, output.add(event))
        if (output.isEnded) return output.assertSuccess()
      }
      throw new RemoteError('the upstream ended its stream before the response', { code: 'upstream_incomplete' })
    } catch (thrown) {
      if (api === undefined && thrown instanceof RemoteError) throw new WorkError(thrown.failure)
      await retries.wait(thrown)
    }
  }
}

/** A response that the upstream keeps. */
class StoredResponse {
  readonly #settings: ResponseSettings
  readonly #context: RunContext
  readonly #sent: SentRequest
  #canStream: boolean

  constructor(settings: ResponseSettings, context: RunContext, sent: SentRequest, isBackground: boolean) {
    this.#settings = settings
    this.#context = context
    this.#sent = sent
    this.#canStream = isBackground
  }

  /** Events after a sequence number; the missing part of the outcome if the response can no longer be streamed. */
  async rest(received: ReceivedResponse, after: number): Promise<Events> {
    if (this.#sent.id === '') throw lost('the upstream did not name its response')
    if (this.#canStream) {
      const query = after < 0 ? '' : `&starting_after=${after}`
      const response = await this.#get(`?stream=true${query}`)
      if (response.ok) return parsed(response, this.#settings.idleTimeoutMs)
      await response.body?.cancel()
      this.#canStream = false
    }
    return iterable(remainder(await this.#outcome(), received, after))
  }

  async #outcome(): Promise<FetchedResponse> {
    const deadline = performance.now() + this.#settings.idleTimeoutMs
    while (performance.now() < deadline) {
      const response = await this.#get('')
      if (!response.ok) throw await refusedOutcome(response)
      const fetched = (await readJson(response)) as FetchedResponse
      if (endOf(fetched) !== undefined) return fetched
      if (fetched.status === 'cancelled') throw lost('the response was cancelled at the upstream')
      await delay(POLL_MS, this.#context.signal)
    }
    const message = `the response counts as running upstream, but did not end within ${this.#settings.idleTimeoutMs} ms`
    throw new WorkError({ code: 'upstream_stalled', message })
  }

  async cancel(): Promise<void> {
    const response = await this.#request('/cancel', 'POST')
    await response.body?.cancel()
  }

  async #get(query: string): Promise<Response> {
    const response = await this.#request(query, 'GET')
    if (response.status === 404) throw lost('the upstream does not know the response any more')
    if (response.status === 429 || response.status >= 500) {
      await response.body?.cancel()
      throw new RemoteError(`the upstream responded with status ${response.status}`, {
        code: 'upstream_http_error',
        status: response.status,
      })
    }
    return response
  }

  async #request(path: string, method: 'GET' | 'POST'): Promise<Response> {
    const { url, id } = this.#sent
    return request({
      url: `${url}/responses/${encodeURIComponent(id)}${path}`,
      method,
      headers: await headersOf(this.#settings, this.#context),
      // A stop cancels upstream too, so this request must outlive its signal.
      signal: method === 'GET' ? this.#context.signal : AbortSignal.timeout(this.#settings.requestTimeoutMs),
      timeoutMs: this.#settings.requestTimeoutMs,
    })
  }
}

async function* iterable(events: Iterable<UpstreamResponseEvent>): AsyncGenerator<UpstreamResponseEvent, void, void> {
  yield* events
}

function lost(message: string): WorkError {
  return new WorkError({ code: 'upstream_lost_run', message })
}

async function refusedOutcome({ status, body }: Response): Promise<WorkError> {
  await body?.cancel()
  const message = `the upstream refused to return the response (${status})`
  return new WorkError({ code: 'upstream_http_error', message, details: { status } })
}
