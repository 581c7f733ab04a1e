/** Converts 1.0 requests to 0.3. */
import type { Operations } from './binding.ts'
import { A2aError } from './errors.ts'
import { kindMessage, legacyPushConfig, protoMessage } from './legacy-messages.ts'
import type { SendRequest } from './types.ts'

export function toLegacySend({ message, configuration = {}, metadata }: SendRequest, as: 'kinds' | 'proto'): object {
  const {
    acceptedOutputModes,
    historyLength,
    taskPushNotificationConfig: push,
    returnImmediately = false,
  } = configuration
  const pushName = as === 'kinds' ? 'pushNotificationConfig' : 'pushNotification'
  return {
    message: as === 'kinds' ? kindMessage(message) : protoMessage(message),
    configuration: {
      ...(acceptedOutputModes !== undefined && { acceptedOutputModes }),
      ...(historyLength !== undefined && { historyLength }),
      ...(push !== undefined && { [pushName]: legacyPushConfig(push) }),
      blocking: !returnImmediately,
    },
    ...(metadata !== undefined && { metadata }),
  }
}

/** 0.3 has no such operation. */
export function noList(): A2aError {
  return new A2aError('A2A 0.3 has no list of tasks', { code: 'unsupported_operation', wireCode: -32_004 })
}

type NewPushConfig = Operations['CreateTaskPushNotificationConfig']['params']

export function legacyPushRequest({ taskId, ...config }: NewPushConfig): {
  readonly parent: string
  readonly configId: string
  readonly config: object
} {
  const id = config.id ?? ''
  return {
    parent: taskName(taskId),
    configId: id,
    config: {
      name: `${taskName(taskId)}/pushNotificationConfigs/${id}`,
      pushNotificationConfig: legacyPushConfig(config),
    },
  }
}

/** Resource name in the protocol buffers form of 0.3. */
export function taskName(id: string): string {
  return `tasks/${id}`
}
