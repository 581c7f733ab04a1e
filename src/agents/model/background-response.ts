/** One background response of the OpenAI API: started once per run, followed to its end over any number of connections. */
import { type RunContext, WorkFailure } from '../../core/ports/component.ts'
import { pause } from '../shared/pause.ts'
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
import type { Sdk } from './sdk.ts'

/** Connections in a row that give nothing new, after which the answer counts as broken off. */
const CONNECTIONS_MAX = 5
const RECONNECT_MS = 250
/** Between looks at an answer that cannot be streamed any more. */
const POLL_MS = 1000

type Events = AsyncGenerator<ResponseEvent, void, void>

interface FollowedStream {
  readonly id: string
  /** What came on the connection on which it was started; none where the id is from the log. */
  readonly live?: AsyncIterable<ResponseEvent>
}

export class BackgroundResponse {
  /** For the provider's client, whose request for an answer becomes one for a background response. */
  readonly fetch: typeof globalThis.fetch
  readonly #sdk: Sdk
  readonly #context: RunContext
  /** Of the request that it answers; the same in every attempt of the run. */
  readonly #name: string
  #api: ResponseApi | undefined
  #id: string | undefined
  #ended = false
  #abandoned: Promise<void> | undefined
  #failure: WorkFailure | undefined

  constructor(sdk: Sdk, context: RunContext, name: string) {
    this.#sdk = sdk
    this.#context = context
    this.#name = name
    this.fetch = async (input, init) => {
      const creation = creationOf(input, init)
      return creation === undefined ? globalThis.fetch(input, init) : this.#respond(creation)
    }
  }

  /** What ended it, in our own words; clients tell it in theirs. */
  get failure(): WorkFailure | undefined {
    return this.#failure
  }

  /** Ends the generation at the provider, unless it is over or another worker will go on with it. */
  abandon(): Promise<void> {
    this.#abandoned ??= this.#cancel()
    return this.#abandoned
  }

  async #cancel(): Promise<void> {
    const id = this.#id
    if (id === undefined || this.#ended) return
    try {
      // A worker that lost the run cannot record the step, and so does not come to cancel anything.
      await this.#context.step(`${this.#name} cancelled`, () => this.#api!.cancel(id), { kind: 'model' })
    } catch {
      // The run is another worker's, or over: whoever waits for us is told that already.
    }
  }

  async #respond(creation: CreationRequest): Promise<Response> {
    this.#api = new ResponseApi(this.#sdk, creation)
    const started = await this.#start(this.#api)
    if (started instanceof Response) return started
    this.#id = started.id
    const events = this.#watched(this.#follow(this.#api, started, this.#context.signal))
    const first = await events.next() // before we say that all is well: it may be gone
    return new Response(bytesOf(first, events), { headers: { 'content-type': 'text/event-stream' } })
  }

  /** The id is durable when this resolves. A provider that refuses is heard by its client, in its own words. */
  async #start(api: ResponseApi): Promise<FollowedStream | Response> {
    let refusal: Response | undefined
    let begun: StartedResponse | undefined
    const start = async (): Promise<{ response: string }> => {
      const answer = await api.start(this.#context.signal)
      if (answer instanceof Response) {
        refusal = answer
        throw new WorkFailure({
          code: 'agent_failed',
          message: `the provider answered ${answer.status}`,
          retryable: true,
        })
      }
      begun = answer
      return { response: answer.id }
    }
    try {
      const { response: id } = await this.#context.step(`${this.#name} response`, start, { kind: 'model' })
      return { id, ...(begun !== undefined && { live: begun.live }) }
    } catch (thrown) {
      if (refusal !== undefined) return refusal
      // Nobody can find an answer whose id was not written down.
      if (begun !== undefined) await api.cancel(begun.id)
      throw thrown
    }
  }

  async *#follow(api: ResponseApi, { id, live }: FollowedStream, signal: AbortSignal): Events {
    const heard = new ReceivedResponse()
    let after: number | undefined
    let events = live
    for (let idle = 0; idle < CONNECTIONS_MAX; idle++) {
      try {
        if (idle > 0) await pause(RECONNECT_MS * 2 ** (idle - 1), signal)
        events ??= await api.listen(id, after, signal)
        if (events === undefined) return yield* remainder(await this.#fetched(api, id, signal), heard, after ?? -1)
        for await (const event of events) {
          if (after !== undefined && event.sequence_number <= after) continue
          after = event.sequence_number
          idle = 0
          heard.note(event)
          yield event
          if (isEnd(event.type)) return
        }
      } catch (thrown) {
        if (signal.aborted) throw thrown
        if (thrown instanceof WorkFailure) throw live === undefined ? thrown : brokenOff(thrown)
      }
      events = undefined
    }
  }

  /** Once it is whole. The run's own bounds are those of the wait. */
  async #fetched(api: ResponseApi, id: string, signal: AbortSignal): Promise<FetchedResponse> {
    for (;;) {
      const response = await api.retrieve(id, signal)
      if (endOf(response) !== undefined) return response
      if (response.status !== 'queued' && response.status !== 'in_progress') throw goneFailure(id, response.status)
      await pause(POLL_MS, signal)
    }
  }

  /** Notes how it ends; and a stop, at once: the run may be over before our caller has found out. */
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
      if (thrown instanceof WorkFailure) this.#failure = thrown
      throw thrown
    } finally {
      signal.removeEventListener('abort', stop)
    }
  }
}

/** What this process began itself is asked for again by the rules of a stream that broke off. */
function brokenOff({ failure }: WorkFailure): WorkFailure {
  return new WorkFailure({ ...failure, details: { ...(failure.details as object), reason: 'broken_off' } })
}

/** As a provider sends it. */
function bytesOf(first: IteratorResult<ResponseEvent, void>, events: Events): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  let taken: typeof first | undefined = first
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = taken ?? (await events.next())
      taken = undefined
      if (done === true) controller.close()
      else controller.enqueue(encoder.encode(`data: ${JSON.stringify(value)}\n\n`))
    },
    async cancel() {
      await events.return()
    },
  })
}
