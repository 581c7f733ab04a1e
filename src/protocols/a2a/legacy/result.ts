/** Converts 1.0 results to JSON-RPC of 0.3: objects with a `kind`, lower-case enums. */
import { kindMessage, kindPart, legacyPushConfig } from '../../../a2a/legacy-messages.ts'
import type { TaskStream } from '../requests/operations.ts'
import { taskStates } from '../view/states.ts'
import type { Artifact, PushConfig, SendResult, StreamResponse, Task, TaskStatus } from '../wire/wire.ts'

export type LegacyResult = { readonly result: unknown } | { readonly stream: TaskStream }

export function fromTask({ status, artifacts, history, ...rest }: Task): object {
  return {
    kind: 'task',
    ...rest,
    status: fromStatus(status),
    ...(artifacts !== undefined && { artifacts: artifacts.map(fromArtifact) }),
    ...(history !== undefined && { history: history.map(kindMessage) }),
  }
}

function fromStatus({ state, message, ...rest }: TaskStatus): object {
  return {
    state: taskStates[state].legacy,
    ...(message !== undefined && { message: kindMessage(message) }),
    ...rest,
  }
}

function fromArtifact({ parts, ...rest }: Artifact): object {
  return { ...rest, parts: parts.map(kindPart) }
}

export function fromSend(result: SendResult): object {
  return 'task' in result ? fromTask(result.task) : kindMessage(result.message)
}

export function fromStream(response: StreamResponse): object {
  if ('task' in response || 'message' in response) return fromSend(response)
  if ('artifactUpdate' in response) {
    const { artifact, ...rest } = response.artifactUpdate
    return { kind: 'artifact-update', ...rest, artifact: fromArtifact(artifact) }
  }
  const { status, ...rest } = response.statusUpdate
  return { kind: 'status-update', ...rest, status: fromStatus(status), final: isFinal(response) }
}

/** 0.3 marks the final event; 1.0 just ends the stream. */
export function isFinal(response: StreamResponse): boolean {
  return 'statusUpdate' in response && taskStates[response.statusUpdate.status.state].terminal
}

export function fromPushConfig({ taskId, ...config }: PushConfig): object {
  return { taskId, pushNotificationConfig: legacyPushConfig(config) }
}
