/** From 1.0 to what JSON-RPC of 0.3 says: objects that name their kind, in lower case. */
import type { TaskStream } from '../operations.ts'
import { taskStates } from '../states.ts'
import type { Artifact, Message, Part, PushConfig, SendResult, StreamResponse, Task, TaskStatus } from '../wire.ts'

export type LegacyOutcome = { readonly result: unknown } | { readonly stream: TaskStream }

export function fromTask({ status, artifacts, history, ...rest }: Task): object {
  return {
    kind: 'task',
    ...rest,
    status: fromStatus(status),
    ...(artifacts !== undefined && { artifacts: artifacts.map(fromArtifact) }),
    ...(history !== undefined && { history: history.map(fromMessage) }),
  }
}

function fromStatus({ state, message, timestamp }: TaskStatus): object {
  return {
    state: taskStates[state].legacy,
    ...(message !== undefined && { message: fromMessage(message) }),
    ...(timestamp !== undefined && { timestamp }),
  }
}

export function fromMessage({ role, parts, ...rest }: Message): object {
  return { kind: 'message', ...rest, role: role === 'ROLE_USER' ? 'user' : 'agent', parts: parts.map(fromPart) }
}

function fromArtifact({ parts, ...rest }: Artifact): object {
  return { ...rest, parts: parts.map(fromPart) }
}

/** A part of 0.3 that is data is an object; another value is wrapped in one, and says so. */
export function fromPart({ text, raw, url, data, metadata, filename, mediaType }: Part): object {
  const about = metadata === undefined ? {} : { metadata }
  if (text !== undefined) return { kind: 'text', text, ...about }
  if (raw !== undefined || url !== undefined) {
    const content = raw === undefined ? { uri: url } : { bytes: raw }
    const name = filename === undefined ? {} : { name: filename }
    return {
      kind: 'file',
      file: { ...content, ...name, ...(mediaType !== undefined && { mimeType: mediaType }) },
      ...about,
    }
  }
  if (isObject(data)) return { kind: 'data', data, ...about }
  return { kind: 'data', data: { value: data }, metadata: { ...metadata, data_part_compat: true } }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function fromSend(result: SendResult): object {
  return 'task' in result ? fromTask(result.task) : fromMessage(result.message)
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

/** What 0.3 says at the end of a stream, and 1.0 with the end of the stream alone. */
export function isFinal(response: StreamResponse): boolean {
  return 'statusUpdate' in response && taskStates[response.statusUpdate.status.state].terminal
}

export function fromPushConfig({ taskId, authentication, ...config }: PushConfig): object {
  return {
    taskId,
    pushNotificationConfig: {
      ...config,
      ...(authentication !== undefined && {
        authentication: {
          schemes: [authentication.scheme],
          ...(authentication.credentials !== undefined && { credentials: authentication.credentials }),
        },
      }),
    },
  }
}
