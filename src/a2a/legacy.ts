/** What a client of 0.3 sends, from the words of 1.0: with kinds for JSON-RPC, as protocol buffers for the other bindings. */
import type { Operations } from './binding.ts'
import { isRaw } from './read.ts'
import type { Message, Part, PushConfigRequest, SendRequest } from './types.ts'

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
      ...(push !== undefined && { [pushName]: toLegacyPush(push) }),
      blocking: !returnImmediately,
    },
    ...(metadata !== undefined && { metadata }),
  }
}

/** It can have several schemes, of which 1.0 has one. */
export function toLegacyPush({ authentication, ...config }: PushConfigRequest): object {
  if (authentication === undefined) return config
  const { scheme, ...credentials } = authentication
  return { ...config, authentication: { schemes: [scheme], ...credentials } }
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
    config: { name: `${taskName(taskId)}/pushNotificationConfigs/${id}`, pushNotificationConfig: toLegacyPush(config) },
  }
}

/** Things are known by such names where 0.3 is written in protocol buffers. */
export function taskName(id: string): string {
  return `tasks/${id}`
}

function kindMessage({ role, parts, ...rest }: Message): object {
  return { kind: 'message', ...rest, role: role === 'ROLE_AGENT' ? 'agent' : 'user', parts: parts.map(kindPart) }
}

function kindPart(part: Part): object {
  const { text, data } = part
  if (text !== undefined) return { kind: 'text', text, ...about(part) }
  const file = fileOf(part, 'bytes', 'uri')
  return file === undefined ? { kind: 'data', ...wrapped(data, part) } : { kind: 'file', file, ...about(part) }
}

function protoMessage({ parts, referenceTaskIds: _none, ...rest }: Message): object {
  return { ...rest, content: parts.map(protoPart) }
}

function protoPart(part: Part): object {
  const { text, data } = part
  if (text !== undefined) return { text, ...about(part) }
  const file = fileOf(part, 'fileWithBytes', 'fileWithUri')
  if (file !== undefined) return { file, ...about(part) }
  const { data: value, ...rest } = wrapped(data, part)
  return { data: { data: value }, ...rest }
}

function fileOf({ raw, url, filename, mediaType }: Part, bytesName: string, urlName: string): object | undefined {
  if (raw === undefined && url === undefined) return undefined
  return {
    ...(raw === undefined ? { [urlName]: url } : { [bytesName]: raw }),
    ...(filename !== undefined && { name: filename }),
    ...(mediaType !== undefined && { mimeType: mediaType }),
  }
}

/** Data is an object in 0.3: another value is wrapped in one, as the official SDKs do. */
function wrapped(data: unknown, part: Part): { readonly data: unknown; readonly metadata?: object } {
  if (isRaw(data)) return { data, ...about(part) }
  return { data: { value: data ?? null }, metadata: { ...part.metadata, data_part_compat: true } }
}

function about({ metadata }: Part): { readonly metadata?: object } {
  return metadata === undefined ? {} : { metadata }
}
