/** HTTP+JSON binding: a path per operation, below the agent's URL or, for 0.3, below its `/v1`. */
import type { Invocation, StreamInvocation } from './binding.ts'
import type { A2aInterface } from './card.ts'
import { A2aError, codeByReason, codeByRpcCode, codeByStatus } from './errors.ts'
import { parseJson, refusalOf, type FullResponse } from './exchange.ts'
import type { OperationRequest, HttpEncoding } from './http-binding.ts'
import { legacyPushRequest, noList, toLegacySend } from './legacy.ts'
import { isUntypedObject } from './untyped-json.ts'
import type { A2aVersion } from './types.ts'

interface Target extends Pick<OperationRequest, 'method' | 'body' | 'otherBody'> {
  readonly path: string
  readonly query?: object
}

export function restEncoding({ url, version, tenant }: A2aInterface): HttpEncoding {
  const prefix = version === '0.3' ? '/v1' : tenant === undefined ? '' : `/${encodeURIComponent(tenant)}`
  const base = url.replace(/\/+$/, '') + prefix
  return {
    legacyDialect: 'proto',
    accept: 'application/a2a+json, application/json',
    asked(invocation) {
      const { path, query = {}, ...asked } = targetOf(invocation, version)
      const parameters = new URLSearchParams(
        Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
      ).toString()
      return {
        ...asked,
        url: `${base}${path}${parameters === '' ? '' : `?${parameters}`}`,
        ...(asked.body !== undefined && {
          contentType: version === '1.0' ? 'application/a2a+json' : 'application/json',
        }),
      }
    },
    result(reply, at) {
      if (!reply.response.ok) throw errorOf(reply, at)
      return reply.text === '' ? undefined : parseJson(reply.text, 'an answer')
    },
    event({ event, data }) {
      const body = parseJson(data, 'an event')
      const error =
        event === 'error' || (isUntypedObject(body) && isUntypedObject(body['error']))
          ? statedError(body, 500)
          : undefined
      if (error !== undefined) throw error
      return body
    },
  }
}

function targetOf({ name, params }: Invocation | StreamInvocation, version: A2aVersion): Target {
  const legacy = version === '0.3'
  switch (name) {
    case 'SendMessage':
      return { method: 'POST', path: '/message:send', body: legacy ? toLegacySend(params, 'proto') : params }
    case 'SendStreamingMessage':
      return { method: 'POST', path: '/message:stream', body: legacy ? toLegacySend(params, 'proto') : params }
    case 'SubscribeToTask':
      // The specification's text says POST, its protocol buffers say GET; the official 1.0 client uses POST.
      return { method: legacy ? 'GET' : 'POST', path: `${taskPath(params.id)}:subscribe` }
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

function taskPath(id: string): string {
  return `/tasks/${encodeURIComponent(id)}`
}

function pushPath(task: string, id?: string): string {
  return `${taskPath(task)}/pushNotificationConfigs${id === undefined ? '' : `/${encodeURIComponent(id)}`}`
}

/** 0.3 maps only part of the request to the body; its SDKs send and read all of it. */
function legacyPushBodies(params: Parameters<typeof legacyPushRequest>[0]): Pick<Target, 'body' | 'otherBody'> {
  const body = legacyPushRequest(params)
  return { body, otherBody: body.config }
}

function errorOf(reply: FullResponse, url: string): Error {
  const { status } = reply.response
  if (status === 429 || status === 503 || reply.text === '') return refusalOf(reply, url)
  try {
    return statedError(JSON.parse(reply.text), status) ?? refusalOf(reply, url)
  } catch {
    return refusalOf(reply, url)
  }
}

/** `google.rpc.Status` in 1.0; in 0.3 the bare JSON-RPC error object. */
function statedError(body: unknown, status: number): A2aError | undefined {
  if (!isUntypedObject(body)) return undefined
  const error = isUntypedObject(body['error']) ? body['error'] : body
  const { code, message, details, data } = error
  if (typeof code !== 'number' || typeof message !== 'string') return undefined
  const named = codeByReason(details) ?? (code < 0 ? codeByRpcCode(code) : codeByStatus(status))
  return new A2aError(message, { code: named, wireCode: code, details: details ?? data })
}
