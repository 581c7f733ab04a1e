/** HTTP+JSON of 0.3: the ProtoJSON format, which differs from its JSON-RPC format and from 1.0. */
import { legacyPushConfig, protoMessage, protoPart } from '../../../a2a/legacy-messages.ts'
import { inCamelCase, isUntypedObject, type UntypedObject } from '../../../a2a/untyped-json.ts'
import type { AgentCard, Artifact, PushConfig, SendResult, StreamResponse, Task, TaskStatus } from '../wire/wire.ts'
import { toLegacyCard } from './card.ts'
import { isFinal } from './result.ts'
import { toConfiguration, toPushConfig } from './requests.ts'

export function protoTask({ status, artifacts = [], history = [], ...rest }: Task): object {
  return {
    ...rest,
    status: protoStatus(status),
    artifacts: artifacts.map(protoArtifact),
    history: history.map(protoMessage),
  }
}

function protoStatus({ state, message, ...rest }: TaskStatus): object {
  return {
    state: state === 'TASK_STATE_CANCELED' ? 'TASK_STATE_CANCELLED' : state,
    ...(message !== undefined && { message: protoMessage(message) }),
    ...rest,
  }
}

function protoArtifact({ parts, ...rest }: Artifact): object {
  return { ...rest, parts: parts.map(protoPart) }
}

export function protoSend(result: SendResult): object {
  return 'task' in result ? { task: protoTask(result.task) } : { message: protoMessage(result.message) }
}

export function protoStream(response: StreamResponse): object {
  if ('task' in response || 'message' in response) return protoSend(response)
  if ('artifactUpdate' in response) {
    const { artifact, ...rest } = response.artifactUpdate
    return { artifactUpdate: { ...rest, artifact: protoArtifact(artifact) } }
  }
  const { status, ...rest } = response.statusUpdate
  return { statusUpdate: { ...rest, status: protoStatus(status), final: isFinal(response) } }
}

export function protoPushConfig({ taskId, ...config }: PushConfig): object {
  const name = `tasks/${taskId}/pushNotificationConfigs/${config.id}`
  return { name, pushNotificationConfig: legacyPushConfig(config) }
}

/** Security schemes and requirements are those of 1.0. */
export function protoCard(card: AgentCard): object {
  const { securitySchemes = {}, securityRequirements = [] } = card
  return { ...toLegacyCard(card), securitySchemes, security: securityRequirements }
}

export function toProtoSend(body: unknown): unknown {
  const fields = fieldsOf(body)
  if (fields === undefined) return body
  const { message, request, configuration, metadata } = fields
  return { message: toProtoMessage(message ?? request), configuration: toProtoConfiguration(configuration), metadata }
}

/** ProtoJSON omits false values. */
function toProtoConfiguration(value: unknown): unknown {
  const fields = fieldsOf(value)
  if (fields === undefined) return value
  const { pushNotificationConfig, pushNotification = pushNotificationConfig, ...rest } = fields
  return toConfiguration({ blocking: false, ...rest, pushNotification: toPushFields(pushNotification) })
}

const roles: ReadonlyMap<string, string> = new Map([
  ['1', 'ROLE_USER'],
  ['2', 'ROLE_AGENT'],
  ['user', 'ROLE_USER'],
  ['agent', 'ROLE_AGENT'],
])

/** Later 0.3 releases also accept `parts`. */
function toProtoMessage(value: unknown): unknown {
  const fields = fieldsOf(value)
  if (fields === undefined) return value
  const { content, parts = content, role, ...rest } = fields
  return {
    ...rest,
    role: roles.get(String(role)) ?? role,
    parts: Array.isArray(parts) ? parts.map(toProtoPart) : parts,
  }
}

function toProtoPart(value: unknown): unknown {
  if (!isUntypedObject(value)) return value
  const { text, file, data, metadata } = value
  const about = metadata === undefined ? {} : { metadata }
  const fileFields = fieldsOf(file)
  if (fileFields !== undefined) {
    const { fileWithUri, fileWithBytes, uri = fileWithUri, bytes = fileWithBytes, name, mimeType } = fileFields
    return { url: uri, raw: bytes, filename: name, mediaType: mimeType, ...about }
  }
  return {
    text,
    ...(data !== undefined && { data: isUntypedObject(data) && 'data' in data ? data['data'] : data }),
    ...about,
  }
}

/** Accepts the format of the official SDK's client and the ProtoJSON request. */
export function toProtoPush(body: unknown, taskId: string): unknown {
  const { config = body, configId } = fieldsOf(body) ?? {}
  const fields = fieldsOf(config) ?? {}
  const request = toPushConfig(toPushFields(fields['pushNotificationConfig'] ?? fields), taskId)
  return isUntypedObject(request) && request['id'] === undefined ? { ...request, id: configId } : request
}

function toPushFields(value: unknown): unknown {
  const fields = fieldsOf(value)
  if (fields === undefined) return value
  return { ...fields, authentication: inCamelCase(fields['authentication']) }
}

function fieldsOf(value: unknown): UntypedObject | undefined {
  const fields = inCamelCase(value)
  return isUntypedObject(fields) ? fields : undefined
}
