/** Converts 0.3 requests to 1.0. The 1.0 schemas validate the result. */
import { isUntypedObject } from '../../../a2a/untyped-json.ts'

const roles: ReadonlyMap<string, string> = new Map([
  ['user', 'ROLE_USER'],
  ['agent', 'ROLE_AGENT'],
])

function toMessage(value: unknown): unknown {
  if (!isUntypedObject(value)) return value
  const { kind: _kind, role, parts, ...rest } = value
  return { ...rest, role: roles.get(String(role)) ?? role, parts: Array.isArray(parts) ? parts.map(toPart) : parts }
}

/** 0.2 called the kind of a part its `type`. FastA2A's client sends parts of 1.0, which have no kind, with methods of 0.3. */
function toPart(value: unknown): unknown {
  if (!isUntypedObject(value)) return value
  const { type, kind = type, text, file, data, metadata } = value
  const about = metadata === undefined ? {} : { metadata }
  if (kind === 'text') return { text, ...about }
  if (kind === 'data') return { data: unwrapData(data, metadata), ...about }
  if (isUntypedObject(file) && (kind === undefined || kind === 'file')) {
    const { bytes, uri, name, mimeType } = file
    return { raw: bytes, url: uri, filename: name, mediaType: mimeType, ...about }
  }
  return kind === undefined ? value : {}
}

/** Values that 0.3 cannot represent are wrapped. */
function unwrapData(data: unknown, metadata: unknown): unknown {
  const isWrapped =
    isUntypedObject(metadata) && metadata['data_part_compat'] === true && isUntypedObject(data) && 'value' in data
  return isWrapped ? data['value'] : data
}

export function toSend(params: unknown): unknown {
  if (!isUntypedObject(params)) return params
  const { message, configuration, metadata } = params
  return { message: toMessage(message), configuration: toConfiguration(configuration), metadata }
}

export function toConfiguration(value: unknown): unknown {
  if (!isUntypedObject(value)) return value
  const { acceptedOutputModes, historyLength, pushNotificationConfig, pushNotification, blocking } = value
  return {
    acceptedOutputModes,
    historyLength,
    taskPushNotificationConfig: toPushConfig(pushNotificationConfig ?? pushNotification),
    returnImmediately: blocking === false,
  }
}

/** Uses the first scheme, since 1.0 has only one. */
export function toPushConfig(value: unknown, taskId?: unknown): unknown {
  if (!isUntypedObject(value)) return value
  const { id, url, token, authentication } = value
  const { schemes, credentials } = isUntypedObject(authentication) ? authentication : {}
  const [scheme] = Array.isArray(schemes) ? (schemes as unknown[]) : []
  return {
    id: id === '' ? undefined : id,
    taskId,
    url,
    token: token === '' ? undefined : token,
    ...(scheme !== undefined && {
      authentication: { scheme, credentials: credentials === '' ? undefined : credentials },
    }),
  }
}
