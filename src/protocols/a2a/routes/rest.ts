/** The HTTP+JSON binding: one path per operation below the agent's address, with a `/v1` prefix for 0.3. */
import { HoldfastError, isHoldfastError } from '../../../core/model/errors.ts'
import { readJson } from '../../../http/request/body.ts'
import { discardRest } from '../../../http/request/discard.ts'
import { respondError, respondText, setRetryAfter } from '../../../http/response/respond.ts'
import type { Call } from '../../../http/routing/route.ts'
import type { Agent } from '../requests/agents.ts'
import { a2aError, toLegacyStatus, toStatusResponse, toStatusBody } from '../wire/errors.ts'
import { type Binding, toHoldfastError } from './jsonrpc.ts'
import {
  protoCard,
  protoPushConfig,
  protoSend,
  protoStream,
  protoTask,
  toProtoPush,
  toProtoSend,
} from '../legacy/proto.ts'
import { type MethodName, methods } from '../requests/methods.ts'
import { callerOf, versionOf } from '../requests/request.ts'
import { serveTask } from './streams.ts'
import { requireCurrent, type Version } from '../requests/version.ts'
import type { AgentCard, PushConfig, PushConfigList, SendResult, StreamResponse, Task } from '../wire/wire.ts'

/** Builds an operation's parameters from a path. */
export interface RestRequest {
  readonly method: MethodName
  readonly version: Version
}

export async function serveRest(call: Call, agent: Agent, binding: Binding, asked: RestRequest): Promise<void> {
  try {
    if (asked.version === '1.0') requireCurrent(versionOf(call), 'this path')
    const { method, id } = verbOf(call, asked.method)
    const caller = callerOf(call, asked.version, agent.operations.about, binding.options)
    const words = wording[asked.version]
    const result = await methods[method](agent, caller, await paramsOf(call, binding, method, id, words))
    if (!('stream' in result)) return respond(call, method, words.result(method, result.result))
    await serveTask(call, binding.service, binding.streams, caller, result.stream, {
      key: asked.version === '1.0' ? '1.0' : 'rest 0.3',
      event: words.event,
      error: (error) => toStatusBody(error, binding.options.errorTable ?? '1.0.1'),
    })
  } catch (cause) {
    if (call.response.headersSent) throw cause
    await respondFailure(call, binding, asked.version, cause)
  }
}

async function respondFailure(call: Call, binding: Binding, version: Version, cause: unknown): Promise<void> {
  await discardRest(call.request, call.response)
  const error = toHoldfastError(cause, binding)
  const table = binding.options.errorTable ?? '1.0.1'
  setRetryAfter(call.response, error)
  if (version === '1.0') return respondError(call.response, toStatusResponse(error, table, contentType(call)))
  const { status, body } = toLegacyStatus(error, table)
  respondError(call.response, { status, contentType: 'application/json', body: JSON.stringify(body) })
}

/** `…/tasks/x:cancel`: the verb follows the last colon. */
function verbOf({ params }: Call, method: MethodName): { readonly method: MethodName; readonly id: string } {
  const given = params['id'] ?? ''
  const [, id = given, verb] = /^(.*):(cancel|subscribe)$/s.exec(given) ?? []
  if (method !== 'GetTask' && method !== 'CancelTask') return { method, id: given }
  if (verb === 'subscribe') return { method: 'SubscribeToTask', id }
  if (verb === 'cancel' && method === 'CancelTask') return { method, id }
  if (method === 'GetTask') return { method, id: given }
  throw a2aError('UNSUPPORTED_OPERATION', 'unknown task operation: use :cancel or :subscribe')
}

interface RequestWords {
  readonly send: (body: unknown) => unknown
  readonly push: (body: unknown, taskId: string) => unknown
  readonly event: (response: StreamResponse) => unknown
  readonly result: (method: MethodName, result: unknown) => unknown
}

const wording: Readonly<Record<Version, RequestWords>> = {
  '1.0': {
    send: (body) => body,
    push: (body, taskId) => ({ ...(body as object), taskId }),
    event: (response) => response,
    result: (_method, result) => result,
  },
  '0.3': { send: toProtoSend, push: toProtoPush, event: protoStream, result: protoResult },
}

/** A result in ProtoJSON of 0.3. */
export function protoResult(method: MethodName, result: unknown): unknown {
  switch (method) {
    case 'SendMessage':
      return protoSend(result as SendResult)
    case 'GetTask':
    case 'CancelTask':
      return protoTask(result as Task)
    case 'CreateTaskPushNotificationConfig':
    case 'GetTaskPushNotificationConfig':
      return protoPushConfig(result as PushConfig)
    case 'ListTaskPushNotificationConfigs':
      return { configs: (result as PushConfigList).configs.map(protoPushConfig), nextPageToken: '' }
    case 'GetExtendedAgentCard':
      return protoCard(result as AgentCard)
    default:
      return result
  }
}

async function paramsOf(
  call: Call,
  binding: Binding,
  method: MethodName,
  id: string,
  words: RequestWords,
): Promise<unknown> {
  const body = call.request.method === 'POST' ? await readRequest(call, binding.service.limits.maxBodyBytes) : undefined
  const { query, params } = call
  switch (method) {
    case 'SendMessage':
    case 'SendStreamingMessage':
      return words.send(body)
    case 'ListTasks':
      return listQuery(query)
    case 'CreateTaskPushNotificationConfig':
      return words.push(body ?? {}, id)
    case 'GetTaskPushNotificationConfig':
    case 'DeleteTaskPushNotificationConfig':
      return { taskId: id, id: params['config'] }
    case 'ListTaskPushNotificationConfigs':
      return { taskId: id, pageSize: numberIn(query, 'pageSize'), pageToken: textIn(query, 'pageToken') }
    case 'GetExtendedAgentCard':
      return {}
    default:
      return { ...(body as object | undefined), id, historyLength: numberIn(query, 'historyLength') }
  }
}

async function readRequest(call: Call, maxBytes: number): Promise<unknown> {
  const type = call.request.headers['content-type'] ?? ''
  if (type !== '' && !/^application\/([\w.+-]+\+)?json\s*(;|$)/i.test(type))
    throw a2aError('CONTENT_TYPE_NOT_SUPPORTED', 'send application/a2a+json or application/json')
  const body = await readJson(call.request, maxBytes).catch((cause: unknown) => {
    if (isHoldfastError(cause, 'invalid_request') && type === '')
      throw a2aError('CONTENT_TYPE_NOT_SUPPORTED', cause.message)
    throw cause
  })
  // Spreading a string would create a field per character.
  if (body !== undefined && (typeof body !== 'object' || body === null || Array.isArray(body)))
    throw new HoldfastError('invalid_request', 'the body must be a JSON object')
  return body
}

function listQuery(query: URLSearchParams): object {
  const flag = textIn(query, 'includeArtifacts')
  return {
    contextId: textIn(query, 'contextId'),
    status: textIn(query, 'status'),
    pageSize: numberIn(query, 'pageSize'),
    pageToken: textIn(query, 'pageToken'),
    historyLength: numberIn(query, 'historyLength'),
    statusTimestampAfter: textIn(query, 'statusTimestampAfter'),
    includeArtifacts: flag === null ? null : flag === 'true' ? true : flag === 'false' ? false : flag,
  }
}

/** A query parameter by its JSON name or its protobuf name: `historyLength` or `history_length`. */
function textIn(query: URLSearchParams, name: string): string | null {
  return query.get(name) ?? query.get(name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`))
}

/** Returns invalid numbers as text, for the schema to report. */
function numberIn(query: URLSearchParams, name: string): unknown {
  const text = textIn(query, name)
  return text !== null && /^-?\d{1,15}$/.test(text) ? Number(text) : text
}

function respond(call: Call, method: MethodName, result: unknown): void {
  // The JSON of google.protobuf.Empty. The official Python client cannot read a 204.
  const body = method === 'DeleteTaskPushNotificationConfig' ? {} : result
  respondText(call.response, 200, contentType(call), JSON.stringify(body))
}

/** The media type of 1.0.1, for clients that accept it. */
function contentType({ request }: Call): string {
  const accepted = `${request.headers.accept ?? ''} ${request.headers['content-type'] ?? ''}`
  return accepted.includes('application/a2a+json') ? 'application/a2a+json' : 'application/json'
}
