/** Converts 1.0 messages and parts to 0.3: with `kind` for JSON-RPC, in protocol buffers form for the other bindings. */
import { isUntypedObject } from './untyped-json.ts'
import type { Message, Part, PushConfigRequest } from './types.ts'

export function kindMessage({ role, parts, ...rest }: Message): object {
  return { kind: 'message', ...rest, role: role === 'ROLE_AGENT' ? 'agent' : 'user', parts: parts.map(kindPart) }
}

export function kindPart(part: Part): object {
  const { text, data } = part
  if (text !== undefined) return { kind: 'text', text, ...about(part) }
  const file = fileOf(part, 'bytes', 'uri')
  return file === undefined ? { kind: 'data', ...wrapData(data, part) } : { kind: 'file', file, ...about(part) }
}

export function protoMessage({ parts, referenceTaskIds: _none, ...rest }: Message): object {
  return { ...rest, content: parts.map(protoPart) }
}

export function protoPart(part: Part): object {
  const { text, data } = part
  if (text !== undefined) return { text, ...about(part) }
  const file = fileOf(part, 'fileWithBytes', 'fileWithUri')
  if (file !== undefined) return { file, ...about(part) }
  const { data: value, ...rest } = wrapData(data, part)
  return { data: { data: value }, ...rest }
}

function fileOf(part: Part, bytesName: string, urlName: string): object | undefined {
  const { raw, url, filename, mediaType, file } = part as Part & { readonly file?: object }
  if (raw === undefined && url === undefined) return undefined
  return {
    ...file,
    ...(raw === undefined ? { [urlName]: url } : { [bytesName]: raw }),
    ...(filename !== undefined && { name: filename }),
    ...(mediaType !== undefined && { mimeType: mediaType }),
  }
}

/** Data must be an object in 0.3: other values are wrapped and marked, like the official SDKs do. */
function wrapData(data: unknown, part: Part): { readonly data: unknown; readonly metadata?: object } {
  if (isUntypedObject(data)) return { data, ...about(part) }
  return { ...about(part), data: { value: data ?? null }, metadata: { ...part.metadata, data_part_compat: true } }
}

/** Its metadata, and fields that this code does not know. */
function about(part: Part): { readonly metadata?: object } {
  const { text: _text, raw: _raw, url: _url, data: _data, filename: _filename, mediaType: _mediaType, ...rest } = part
  const { file: _file, ...others } = rest as { readonly file?: unknown }
  return others
}

/** 0.3 allows several schemes, 1.0 one. */
export function legacyPushConfig({ authentication, ...config }: PushConfigRequest): object {
  if (authentication === undefined) return config
  const { scheme, ...credentials } = authentication
  return { ...config, authentication: { schemes: [scheme], ...credentials } }
}
