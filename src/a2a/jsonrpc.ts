/** JSON-RPC: one address, and the method in the body. */
import { Watchdog } from '../client/watchdog.ts'
import type {
  Binding,
  CallOptions,
  Invocation,
  OperationName,
  StreamInvocation,
  StreamName,
  StreamOptions,
} from './binding.ts'
import type { Interface } from './card.ts'
import { A2aError, codeByReason, codeByRpcCode } from './errors.ts'
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
import { toLegacyPush, toLegacySend } from './legacy.ts'
import { isRaw, Reader } from './read.ts'
import type { Update } from './types.ts'

export class JsonRpcBinding implements Binding {
  readonly reader: Reader
  readonly #exchange: Exchange
  readonly #interface: Interface
  readonly #extensions: readonly string[]

  constructor(exchange: Exchange, spoken: Interface, extensions: readonly string[]) {
    this.#exchange = exchange
    this.#interface = spoken
    this.#extensions = extensions
    this.reader = new Reader(spoken.version === '1.0' ? '1.0' : 'kinds')
  }

  async call(invocation: Invocation, { signal, timeoutMs }: CallOptions): Promise<unknown> {
    const answer = await this.#exchange.whole(this.#request(invocation, 'application/json'), timeoutMs, signal)
    return this.#result(answer)
  }

  async *stream(
    invocation: StreamInvocation,
    { signal, timeoutMs, after }: StreamOptions,
  ): AsyncGenerator<Update, void, void> {
    const watchdog = new Watchdog(timeoutMs, signal)
    const { url } = this.#interface
    try {
      const asked = this.#request(invocation, 'text/event-stream', after)
      const response = await this.#exchange.open(asked, watchdog)
      // An error before the first event is not a stream.
      if (!isEventStream(response)) {
        yield this.reader.update(this.#result({ response, text: await readText(response, url, watchdog) }))
        return
      }
      for await (const { data } of eventsOf(response, url, watchdog))
        yield this.reader.update(resultOf(parseJson(data, 'an event')))
    } finally {
      watchdog.close()
    }
  }

  close(): void {}

  #result(answer: WholeAnswer): unknown {
    if (answer.response.ok) return resultOf(parseJson(answer.text, 'an answer'))
    // Some say with a status too what they say in the body.
    if (/^\s*\{.*"error"/s.test(answer.text)) {
      const body = parseJson(answer.text, 'a refusal')
      if (isRaw(body) && isRaw(body['error']) && typeof body['jsonrpc'] === 'string') resultOf(body)
    }
    throw refusalOf(answer, this.#interface.url)
  }

  #request(invocation: Invocation | StreamInvocation, accept: string, after?: string): Exchanged {
    const { url, version, tenant } = this.#interface
    const { method, params } =
      version === '1.0' ? { method: invocation.name, params: invocation.params } : legacy(invocation)
    return {
      url,
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept,
        ...serviceHeaders(version, this.#extensions),
        ...(after !== undefined && { 'last-event-id': after }),
      },
      body: {
        jsonrpc: '2.0',
        id: crypto.randomUUID(),
        method,
        params: { ...params, ...(tenant !== undefined && version === '1.0' && { tenant }) },
      },
    }
  }
}

const legacyNames: Readonly<Record<Exclude<OperationName, 'ListTasks'> | StreamName, string>> = {
  SendMessage: 'message/send',
  SendStreamingMessage: 'message/stream',
  GetTask: 'tasks/get',
  CancelTask: 'tasks/cancel',
  SubscribeToTask: 'tasks/resubscribe',
  CreateTaskPushNotificationConfig: 'tasks/pushNotificationConfig/set',
  GetTaskPushNotificationConfig: 'tasks/pushNotificationConfig/get',
  ListTaskPushNotificationConfigs: 'tasks/pushNotificationConfig/list',
  DeleteTaskPushNotificationConfig: 'tasks/pushNotificationConfig/delete',
  GetExtendedAgentCard: 'agent/getAuthenticatedExtendedCard',
}

function legacy(invocation: Invocation | StreamInvocation): { readonly method: string; readonly params: object } {
  const { name, params } = invocation
  if (name === 'ListTasks') throw noList()
  const method = legacyNames[name]
  switch (name) {
    case 'SendMessage':
    case 'SendStreamingMessage':
      return { method, params: toLegacySend(params, 'kinds') }
    case 'CreateTaskPushNotificationConfig': {
      const { taskId, ...config } = params
      return { method, params: { taskId, pushNotificationConfig: toLegacyPush(config) } }
    }
    case 'ListTaskPushNotificationConfigs':
      return { method, params: { id: params.taskId } }
    case 'GetTaskPushNotificationConfig':
    case 'DeleteTaskPushNotificationConfig':
      return { method, params: { id: params.taskId, pushNotificationConfigId: params.id } }
    default:
      return { method, params }
  }
}

/** There is no way to ask. */
export function noList(): A2aError {
  return new A2aError('A2A 0.3 has no list of tasks', { code: 'unsupported_operation', wireCode: -32_004 })
}

function resultOf(answer: unknown): unknown {
  const { result, error } = isRaw(answer) ? answer : {}
  if (!isRaw(error)) return result
  const { code, message, data } = error
  const wireCode = Number(code ?? 0)
  throw new A2aError(typeof message === 'string' ? message : 'an error without a message', {
    code: codeByReason(data) ?? codeByRpcCode(wireCode),
    wireCode,
    details: data,
  })
}
