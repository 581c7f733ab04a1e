/** HTTP+JSON: a path for each operation, below the agent's address or, for 0.3, below `/v1` of it. */
import { Watchdog } from '../client/watchdog.ts'
import type { Binding, CallOptions, Invocation, StreamInvocation, StreamOptions } from './binding.ts'
import type { Interface } from './card.ts'
import { A2aError, codeByReason, codeByRpcCode, codeByStatus } from './errors.ts'
import {
  type Exchange,
  type Exchanged,
  eventsOf,
  isEventStream,
  parseJson,
  readText,
  refusalOf,
  serviceHeaders,
  type WholeAnswer,
} from './exchange.ts'
import { noList } from './jsonrpc.ts'
import { legacyPushRequest, toLegacySend } from './legacy.ts'
import { isRaw, Reader } from './read.ts'
import type { Update, Version } from './types.ts'

interface Target {
  readonly method: Exchanged['method']
  readonly path: string
  readonly query?: object
  readonly body?: object
  /** For agents that refuse the first. */
  readonly otherBody?: object
}

export class RestBinding implements Binding {
  readonly reader: Reader
  readonly #exchange: Exchange
  readonly #interface: Interface
  readonly #extensions: readonly string[]

  constructor(exchange: Exchange, spoken: Interface, extensions: readonly string[]) {
    this.#exchange = exchange
    this.#interface = spoken
    this.#extensions = extensions
    this.reader = new Reader(spoken.version === '1.0' ? '1.0' : 'proto')
  }

  async call(invocation: Invocation, options: CallOptions): Promise<unknown> {
    const target = targetOf(invocation, this.#interface.version)
    try {
      return await this.#exchanged(target, options)
    } catch (cause) {
      const other = target.otherBody
      if (other === undefined || !(cause instanceof A2aError)) throw cause
      return this.#exchanged({ ...target, body: other }, options)
    }
  }

  async #exchanged(target: Target, { signal, timeoutMs }: CallOptions): Promise<unknown> {
    const asked = this.#request(target, ACCEPTED)
    const answer = await this.#exchange.whole(asked, timeoutMs, signal)
    if (!answer.response.ok) throw errorOf(answer, asked.url)
    return answer.text === '' ? undefined : parseJson(answer.text, 'an answer')
  }

  async *stream(
    invocation: StreamInvocation,
    { signal, timeoutMs, after }: StreamOptions,
  ): AsyncGenerator<Update, void, void> {
    const watchdog = new Watchdog(timeoutMs, signal)
    const asked = this.#request(streamTargetOf(invocation, this.#interface.version), 'text/event-stream', after)
    try {
      const response = await this.#exchange.open(asked, watchdog)
      if (!isEventStream(response))
        throw errorOf({ response, text: await readText(response, asked.url, watchdog) }, asked.url)
      for await (const { event, data } of eventsOf(response, asked.url, watchdog)) {
        const said = parseJson(data, 'an event')
        const error = event === 'error' || (isRaw(said) && isRaw(said['error'])) ? statedError(said, 500) : undefined
        if (error !== undefined) throw error
        yield this.reader.update(said)
      }
    } finally {
      watchdog.close()
    }
  }

  close(): void {}

  #request({ method, path, query, body }: Target, accept: string, after?: string): Exchanged {
    const { url, version, tenant } = this.#interface
    const prefix = version === '0.3' ? '/v1' : tenant === undefined ? '' : `/${encodeURIComponent(tenant)}`
    const parameters = new URLSearchParams(
      Object.entries(query ?? {}).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
    ).toString()
    return {
      url: `${url.replace(/\/+$/, '')}${prefix}${path}${parameters === '' ? '' : `?${parameters}`}`,
      method,
      headers: {
        accept,
        ...(body !== undefined && { 'content-type': version === '1.0' ? 'application/a2a+json' : 'application/json' }),
        ...serviceHeaders(version, this.#extensions),
        ...(after !== undefined && { 'last-event-id': after }),
      },
      body,
    }
  }
}

const ACCEPTED = 'application/a2a+json, application/json'

function targetOf({ name, params }: Invocation, version: Version): Target {
  const legacy = version === '0.3'
  switch (name) {
    case 'SendMessage':
      return { method: 'POST', path: '/message:send', body: legacy ? toLegacySend(params, 'proto') : params }
    case 'GetTask':
      return { method: 'GET', path: taskPath(params.id), query: { historyLength: params.historyLength } }
    case 'ListTasks':
      if (legacy) throw noList()
      return { method: 'GET', path: '/tasks', query: params }
    case 'CancelTask': {
      const { id, ...body } = params
      return { method: 'POST', path: `${taskPath(id)}:cancel`, body }
    }
    case 'CreateTaskPushNotificationConfig':
      return {
        method: 'POST',
        path: pushPath(params.taskId),
        ...(legacy ? legacyPushBodies(params) : { body: params }),
      }
    case 'ListTaskPushNotificationConfigs':
      return { method: 'GET', path: pushPath(params.taskId) }
    case 'GetTaskPushNotificationConfig':
      return { method: 'GET', path: pushPath(params.taskId, params.id) }
    case 'DeleteTaskPushNotificationConfig':
      return { method: 'DELETE', path: pushPath(params.taskId, params.id) }
    case 'GetExtendedAgentCard':
      return { method: 'GET', path: legacy ? '/card' : '/extendedAgentCard' }
  }
}

/** The text of the specification says POST, its protocol buffers say GET; POST is what the official client does in 1.0. */
function streamTargetOf({ name, params }: StreamInvocation, version: Version): Target {
  if (name === 'SubscribeToTask')
    return { method: version === '1.0' ? 'POST' : 'GET', path: `${taskPath(params.id)}:subscribe` }
  return { method: 'POST', path: '/message:stream', body: version === '1.0' ? params : toLegacySend(params, 'proto') }
}

function taskPath(id: string): string {
  return `/tasks/${encodeURIComponent(id)}`
}

function pushPath(task: string, id?: string): string {
  return `${taskPath(task)}/pushNotificationConfigs${id === undefined ? '' : `/${encodeURIComponent(id)}`}`
}

/** 0.3 maps only a part of the request to the body; its SDKs send and read the whole of it. */
function legacyPushBodies(params: Parameters<typeof legacyPushRequest>[0]): Pick<Target, 'body' | 'otherBody'> {
  const body = legacyPushRequest(params)
  return { body, otherBody: body.config }
}

function errorOf(answer: WholeAnswer, url: string): Error {
  const { status } = answer.response
  if (status === 429 || status === 503 || answer.text === '') return refusalOf(answer, url)
  try {
    return statedError(JSON.parse(answer.text), status) ?? refusalOf(answer, url)
  } catch {
    return refusalOf(answer, url)
  }
}

/** `google.rpc.Status` in 1.0; in 0.3 the error object of JSON-RPC, bare. */
function statedError(body: unknown, status: number): A2aError | undefined {
  if (!isRaw(body)) return undefined
  const error = isRaw(body['error']) ? body['error'] : body
  const { code, message, details, data } = error
  if (typeof code !== 'number' || typeof message !== 'string') return undefined
  const named = codeByReason(details) ?? (code < 0 ? codeByRpcCode(code) : codeByStatus(status))
  return new A2aError(message, { code: named, wireCode: code, details: details ?? data })
}
