/** gRPC of 0.3: maps calls to operations, and resource names such as `tasks/x` to ids. */
import { legacyNames } from '../../../a2a/grpc/schema.ts'
import { isUntypedObject } from '../../../a2a/untyped-json.ts'
import { toProtoPush, toProtoSend } from '../legacy/proto.ts'
import type { MethodName } from '../requests/methods.ts'

export function legacyMethod(name: string): MethodName {
  const [renamed] = Object.entries(legacyNames).find(([, legacy]) => legacy === name) ?? [name]
  return renamed as MethodName
}

/** As decoded by the package, so the types are certain. */
interface NamedRequest {
  readonly name?: string
  readonly parent?: string
  readonly historyLength?: number
  readonly pageSize?: number
  readonly pageToken?: string
}

export function legacyParams(method: MethodName, request: unknown): unknown {
  const { name, parent, historyLength, pageSize, pageToken } = (isUntypedObject(request) ? request : {}) as NamedRequest
  const [, task = '', config = ''] =
    /^tasks\/([^/]*)(?:\/pushNotificationConfigs\/?(.*))?$/s.exec(name ?? parent ?? '') ?? []
  switch (method) {
    case 'SendMessage':
    case 'SendStreamingMessage':
      return toProtoSend(request)
    case 'CreateTaskPushNotificationConfig':
      return toProtoPush(request, task)
    case 'GetTaskPushNotificationConfig':
    case 'DeleteTaskPushNotificationConfig':
      return { taskId: task, id: config }
    case 'ListTaskPushNotificationConfigs':
      return { taskId: task, pageSize, pageToken }
    case 'GetExtendedAgentCard':
      return {}
    default:
      return { id: task, historyLength }
  }
}
