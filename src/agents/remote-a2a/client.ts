/** The few calls of A2A that a run needs, over JSON-RPC and server-sent events. */
import { WorkFailure } from '../../core/agent.ts'
import { eventsOf, readJson, RemoteError, type RemoteRequest, requestOk } from '../shared/remote.ts'
import type { Endpoint } from './card.ts'
import { methods, type Outgoing, sendParams, type Task, taskOf, type Update, updateOf, WireError } from './wire.ts'

export interface ClientOptions {
  readonly headers: Readonly<Record<string, string>>
  readonly signal: AbortSignal
  readonly timeoutMs: number
  readonly silenceMs: number
}

/** The other side's answer to a call is an error. */
export class RpcError extends Error {
  override readonly name = 'RpcError'
  readonly code: number

  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}

export const TASK_NOT_FOUND = -32001

export class A2aClient {
  readonly #endpoint: Endpoint
  readonly #options: ClientOptions

  constructor(endpoint: Endpoint, options: ClientOptions) {
    this.#endpoint = endpoint
    this.#options = options
  }

  get streaming(): boolean {
    return this.#endpoint.streaming
  }

  /** Sends a message. What comes of it is a stream, of one update where the other side does not stream. */
  async *send(message: Outgoing): AsyncGenerator<Update, void, void> {
    const { version } = this.#endpoint
    const params = sendParams(version, message)
    if (this.streaming) yield* this.#stream(methods[version].stream, params)
    else yield updateOf(await this.#call(methods[version].send, params))
  }

  subscribe(task: string): AsyncGenerator<Update, void, void> {
    return this.#stream(methods[this.#endpoint.version].subscribe, { id: task })
  }

  async get(task: string): Promise<Task> {
    return taskOf(await this.#call(methods[this.#endpoint.version].get, { id: task }))
  }

  /** With a signal of its own: what is cancelled has been aborted. */
  async cancel(task: string): Promise<void> {
    const signal = AbortSignal.timeout(this.#options.timeoutMs)
    await this.#call(methods[this.#endpoint.version].cancel, { id: task }, signal)
  }

  async #call(method: string, params: object, signal = this.#options.signal): Promise<unknown> {
    return resultOf(await readJson(await requestOk(this.#request(method, params, 'application/json', signal))))
  }

  async *#stream(method: string, params: object): AsyncGenerator<Update, void, void> {
    const { signal, silenceMs } = this.#options
    const response = await requestOk(this.#request(method, params, 'text/event-stream', signal))
    // An error before the first event is not a stream.
    if (!(response.headers.get('content-type') ?? '').startsWith('text/event-stream')) {
      yield read(resultOf(await readJson(response)))
      return
    }
    for await (const { data } of eventsOf(response, silenceMs)) yield read(resultOf(parse(data)))
  }

  #request(method: string, params: object, accept: string, signal: AbortSignal): RemoteRequest {
    const { url, version, tenant } = this.#endpoint
    const { headers, timeoutMs } = this.#options
    return {
      url,
      method: 'POST',
      headers: { 'content-type': 'application/json', accept, 'a2a-version': version, ...headers },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: crypto.randomUUID(),
        method,
        params: { ...params, ...(tenant !== undefined && { tenant }) },
      }),
      signal,
      timeoutMs,
    }
  }
}

function parse(data: string): unknown {
  try {
    return JSON.parse(data)
  } catch {
    throw new RemoteError('the stream has an event that is not JSON')
  }
}

function resultOf(answer: unknown): unknown {
  const { result, error } = (answer ?? {}) as { result?: unknown; error?: { code?: unknown; message?: unknown } }
  if (error === undefined || error === null) return result
  throw new RpcError(
    Number(error.code ?? 0),
    typeof error.message === 'string' ? error.message : 'an error without a message',
  )
}

function read(result: unknown): Update {
  try {
    return updateOf(result)
  } catch (thrown) {
    if (!(thrown instanceof WireError)) throw thrown
    throw new WorkFailure({ code: 'protocol_violation', message: `the remote agent sent ${thrown.message}` })
  }
}
