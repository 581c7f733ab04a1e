/** Requests of A2A 0.3 over gRPC, with resource names such as `tasks/x`. */
import type { Invocation, StreamInvocation } from '../binding.ts'
import { legacyPushRequest, taskName, toLegacySend } from '../legacy.ts'

export function legacyRequest({ name, params }: Invocation | StreamInvocation): object {
  switch (name) {
    case 'SendMessage':
    case 'SendStreamingMessage':
      return toLegacySend(params, 'proto')
    case 'GetTask':
      return { name: taskName(params.id), historyLength: params.historyLength }
    case 'CancelTask':
    case 'SubscribeToTask':
      return { name: taskName(params.id) }
    case 'CreateTaskPushNotificationConfig':
      return legacyPushRequest(params)
    case 'GetTaskPushNotificationConfig':
    case 'DeleteTaskPushNotificationConfig':
      return { name: `${taskName(params.taskId)}/pushNotificationConfigs/${params.id}` }
    case 'ListTaskPushNotificationConfigs':
      return { parent: taskName(params.taskId) }
    default:
      return {}
  }
}
