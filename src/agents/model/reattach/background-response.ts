/** One background response of the OpenAI API: started once per run, followed to its end over any number of connections. */
import { type RunContext, WorkError } from '../../../core/ports/component.ts'
import { delay } from '../../shared/delay.ts'
import {
  type CreationRequest,
  creationOf,
  goneFailure,
  isGone,
  ResponseApi,
  type ResponseEvent,
  type StartedResponse,
} from './reattach-api.ts'
import { endOf, type FetchedResponse, ReceivedResponse, isEnd, remainder } from './reattach-remainder.ts'
import type { Sdk } from '../sdk.ts'

/** Consecutive connections without new events, after which the response counts as broken. */
const CONNECTIONS_MAX = 5
const RECONNECT_MS = 250
/** Poll interval for a response that can no longer be streamed. */
const POLL_MS = 1000

type Events = AsyncGenerator<ResponseEvent, void, void>

interface FollowedStream {
  readonly id: string
  /** Events of the connection that started it; none if the id comes from the log. */
  readonly live?: AsyncIterable<ResponseEvent>
}

export class BackgroundResponse {
  /** For the provider's client: turns its request into one for a background response. */
  readonly fetch: typeof globalThis.fetch
  readonly #sdk: Sdk
  readonly #context: RunContext
  /** Name of the request; the same in every attempt of the run. */
  readonly #name: string
  #api: ResponseApi | undefined
  #id: string | undefined
  #ended = false
  #abandoned: Promise<void> | undefined
  #failure: WorkError | undefined

  constructor(sdk: Sdk, context: RunContext, name: string) {
    this.#sdk = sdk
    this.#context = context
    this.#name = name
    this.fetch = async (input, init) => {
      const creation = creationOf(input, init)
      return creation === undefined ? globalThis.fetch(input, init) : this.#respond(creation)
    }
  }

  /** Why it ended, as a Holdfast failure; clients report it in their own terms. */
  get failure(): WorkError | undefined {
    return this.#failure
  }

  /** Cancels the generation at the provider, unless it has ended or another worker will continue it. */
  abandon(): Promise<void> {
    this.#abandoned ??= this.#cancel()
    return this.#abandoned
  }

  async #cancel(): Promise<void> {
    const id = this.#id
    if (id === undefined || this.#ended) return
    try {
      // A worker that lost its lease cannot record the step, so it cancels nothing.
      await this.#context.step(`${this.#name} cancelled`, () => this.#api!.cancel(id), { kind: 'model' })
    } catch {
      // Another worker has the run, or it has ended. The caller knows it already.
    }
  }

  async #respond(creation: CreationRequest): Promise<Response> {
    this.#api = new ResponseApi(this.#sdk, creation)
    const started = await this.#start(this.#api)
    if (!('id' in started)) return started
    this.#id = started.id
    const events = this.#watched(this.#follow(this.#api, started, this.#context.signal))
    const first = await events.next() // read before reporting success: the response may be gone
    return new Response(bytesOf(first, events), { headers: { 'content-type': 'text/event-stream' } })
  }

  /** Resolves when the id is durable. If the provider refuses, its client gets the original error. */
  async #start(api: ResponseApi): Promise<FollowedStream | Response> {
    let refusal: Response | undefined
    let started: StartedResponse | undefined
    const start = async (): Promise<{ response: string }> => {
      const answer = await api.start(this.#context.signal)
      if (!('id' in answer)) {
        refusal = answer
        throw new WorkError({
          code: 'agent_failed',
          message: `the provider responded with status ${answer.status}`,
          retryable: true,
        })
      }
      started = answer
      return { response: answer.id }
    }
    try {
      const { response: id } = await this.#context.step(`${this.#name} response`, start, { kind: 'model' })
      return { id, ...(started !== undefined && { live: started.live }) }
    } catch (thrown) {
      if (refusal !== undefined) return refusal
      // A response whose id was not recorded cannot be found again.
      if (started !== undefined) await api.cancel(started.id)
      throw thrown
    }
  }

  async *#follow(api: ResponseApi, { id, live }: FollowedStream, signal: AbortSignal): Events {
    const received = new ReceivedResponse()
    let after: number | undefined
    let events = live
    for (let idle = 0; idle < CONNECTIONS_MAX; idle++) {
      try {
        if (idle > 0) await delay(RECONNECT_MS * 2 ** (idle - 1), signal)
        events ??= await api.listen(id, after, signal)
        if (events === undefined) return yield* remainder(await this.#fetched(api, id, signal), received, after ?? -1)
        for await (const event of events) {
          if (after !== undefined && event.sequence_number <= after) continue
          after = event.sequence_number
          idle = 0
          received.note(event)
          yield event
          if (isEnd(event.type)) return
        }
      } catch (thrown) {
        if (signal.aborted) throw thrown
        if (thrown instanceof WorkError) throw live === undefined ? thrown : cutFailure(thrown)
      }
      events = undefined
    }
  }

  /** Polls until it is complete. The run's own limits bound the wait. */
  async #fetched(api: ResponseApi, id: string, signal: AbortSignal): Promise<FetchedResponse> {
    for (;;) {
      const response = await api.retrieve(id, signal)
      if (endOf(response) !== undefined) return response
      if (response.status !== 'queued' && response.status !== 'in_progress') throw goneFailure(id, response.status)
      await delay(POLL_MS, signal)
    }
  }

  /** Records how it ends, and handles a stop immediately: the run may be over before the caller notices. */
  async *#watched(events: Events): Events {
    const { signal } = this.#context
    const stop = (): void => void this.abandon()
    signal.addEventListener('abort', stop, { once: true })
    try {
      signal.throwIfAborted()
      for await (const event of events) {
        this.#ended = isEnd(event.type)
        yield event
      }
    } catch (thrown) {
      this.#ended = isGone(thrown)
      if (thrown instanceof WorkError) this.#failure = thrown
      throw thrown
    } finally {
      signal.removeEventListener('abort', stop)
    }
  }
}

/** A response that this process started is retried by the rules for interrupted streams. */
function cutFailure({ failure }: WorkError): WorkError {
  return new WorkError({ ...failure, details: { ...(failure.details as object), reason: 'broken_off' } })
}

/** The response in the provider's own format. */
function bytesOf(first: IteratorResult<ResponseEvent, void>, events: Events): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  let pending: typeof first | undefined = first
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = pending ?? (await events.next())
      pending = undefined
      if (done === true) controller.close()
      else controller.enqueue(encoder.encode(`data: ${JSON.stringify(value)}\n\n`))
    },
    async cancel() {
      await events.return()
    },
  })
}
