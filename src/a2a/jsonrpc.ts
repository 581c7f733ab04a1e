/** JSON-RPC binding: one URL, and the method in the body. */
import type { Invocation, OperationName, StreamInvocation, StreamName } from './binding.ts'
import type { A2aInterface } from './card.ts'
import { A2aError, codeByReason, codeByRpcCode } from './errors.ts'
import { parseJson, refusalOf, type FullResponse } from './exchange.ts'
import type { HttpEncoding } from './http-binding.ts'
import { noList, toLegacySend } from './legacy.ts'
import { legacyPushConfig } from './legacy-messages.ts'
import { isUntypedObject } from './untyped-json.ts'

export function jsonRpcEncoding({ url, version, tenant }: A2aInterface): HttpEncoding {
  return {
    legacyDialect: 'kinds',
    accept: 'application/json',
    asked(invocation) {
      const { method, params } =
        version === '1.0' ? { method: invocation.name, params: invocation.params } : legacy(invocation)
      return {
        url,
        method: 'POST',
        contentType: 'application/json',
        body: {
          jsonrpc: '2.0',
          id: crypto.randomUUID(),
          method,
          params: { ...params, ...(tenant !== undefined && version === '1.0' && { tenant }) },
        },
      }
    },
    result: resultIn,
    event: ({ data }) => resultOf(parseJson(data, 'an event')),
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
      return { method, params: { taskId, pushNotificationConfig: legacyPushConfig(config) } }
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

function resultIn(reply: FullResponse, url: string): unknown {
  if (reply.response.ok) return resultOf(parseJson(reply.text, 'an answer'))
  // Some agents send an error status with a JSON-RPC error body.
  if (/^\s*\{.*"error"/s.test(reply.text)) {
    const body = parseJson(reply.text, 'a refusal')
    if (isUntypedObject(body) && isUntypedObject(body['error']) && typeof body['jsonrpc'] === 'string') resultOf(body)
  }
  throw refusalOf(reply, url)
}

function resultOf(reply: unknown): unknown {
  const { result, error } = isUntypedObject(reply) ? reply : {}
  if (!isUntypedObject(error)) return result
  const { code, message, data } = error
  const wireCode = Number(code ?? 0)
  throw new A2aError(typeof message === 'string' ? message : 'the agent returned an error without a message', {
    code: codeByReason(data) ?? codeByRpcCode(wireCode),
    wireCode,
    details: data,
  })
}
