/** HTTP+JSON of 0.3, which is the JSON of its protocol buffers: other words than those of its JSON-RPC, and than those of 1.0. */
import type {
  AgentCard,
  Artifact,
  Message,
  Part,
  PushConfig,
  SendResult,
  StreamResponse,
  Task,
  TaskStatus,
} from '../wire.ts'
import { toLegacyCard } from './card.ts'
import { fromPushConfig, isFinal } from './outcome.ts'
import { isRaw, toConfiguration, toPushConfig } from './requests.ts'

export function protoTask({ status, artifacts = [], history = [], ...rest }: Task): object {
  return {
    ...rest,
    status: protoStatus(status),
    artifacts: artifacts.map(protoArtifact),
    history: history.map(protoMessage),
  }
}

function protoStatus({ state, message, timestamp }: TaskStatus): object {
  return {
    state: state === 'TASK_STATE_CANCELED' ? 'TASK_STATE_CANCELLED' : state,
    ...(message !== undefined && { message: protoMessage(message) }),
    ...(timestamp !== undefined && { timestamp }),
  }
}

function protoMessage({ parts, referenceTaskIds: _references, ...rest }: Message): object {
  return { ...rest, content: parts.map(protoPart) }
}

function protoArtifact({ parts, ...rest }: Artifact): object {
  return { ...rest, parts: parts.map(protoPart) }
}

function protoPart({ text, raw, url, data, metadata, filename, mediaType }: Part): object {
  const about = metadata === undefined ? {} : { metadata }
  if (text !== undefined) return { text, ...about }
  if (raw !== undefined || url !== undefined) {
    const content = raw === undefined ? { fileWithUri: url } : { fileWithBytes: raw }
    const name = filename === undefined ? {} : { name: filename }
    return { file: { ...content, ...name, ...(mediaType !== undefined && { mimeType: mediaType }) }, ...about }
  }
  if (isRaw(data)) return { data: { data }, ...about }
  return { data: { data: { value: data } }, metadata: { ...metadata, data_part_compat: true } }
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

export function protoPushConfig(config: PushConfig): object {
  const { pushNotificationConfig } = fromPushConfig(config) as { pushNotificationConfig: object }
  return { name: `tasks/${config.taskId}/pushNotificationConfigs/${config.id}`, pushNotificationConfig }
}

/** Its schemes are those of 1.0, its requirements too. */
export function protoCard(card: AgentCard): object {
  const { securitySchemes = {}, securityRequirements = [] } = card
  return { ...toLegacyCard(card), securitySchemes, security: securityRequirements }
}

export function toProtoSend(body: unknown): unknown {
  if (!isRaw(body)) return body
  const { message, request, configuration, metadata } = body
  return { message: toProtoMessage(message ?? request), configuration: toProtoConfiguration(configuration), metadata }
}

/** Protocol buffers leave out what is false. */
function toProtoConfiguration(value: unknown): unknown {
  return toConfiguration(isRaw(value) ? { blocking: false, ...value } : value)
}

const roles: Readonly<Record<string, string>> = {
  '1': 'ROLE_USER',
  '2': 'ROLE_AGENT',
  user: 'ROLE_USER',
  agent: 'ROLE_AGENT',
}

/** Later builds of 0.3 also say `parts`. */
function toProtoMessage(value: unknown): unknown {
  if (!isRaw(value)) return value
  const { content, parts = content, role, ...rest } = value
  return { ...rest, role: roles[String(role)] ?? role, parts: Array.isArray(parts) ? parts.map(toProtoPart) : parts }
}

function toProtoPart(value: unknown): unknown {
  if (!isRaw(value)) return value
  const { text, file, data, metadata } = value
  const about = metadata === undefined ? {} : { metadata }
  if (isRaw(file)) {
    const { fileWithUri, fileWithBytes, uri = fileWithUri, bytes = fileWithBytes, name, mimeType } = file
    return { url: uri, raw: bytes, filename: name, mediaType: mimeType, ...about }
  }
  return { text, ...(data !== undefined && { data: isRaw(data) && 'data' in data ? data['data'] : data }), ...about }
}

/** As the client of the official SDK sends it, or as the request of the protocol buffers has it. */
export function toProtoPush(body: unknown, taskId: string): unknown {
  const { config = body, configId } = isRaw(body) ? body : {}
  const inner = isRaw(config) && isRaw(config['pushNotificationConfig']) ? config['pushNotificationConfig'] : config
  const request = toPushConfig(isRaw(inner) ? inner : {}, taskId)
  return isRaw(request) && request['id'] === undefined ? { ...request, id: configId } : request
}
