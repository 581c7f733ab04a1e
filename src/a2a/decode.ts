/** Decodes all three JSON dialects of A2A into 1.0 types. */
import { ProtocolError } from './errors.ts'
import { isUntypedObject, type UntypedObject } from './untyped-json.ts'
import type {
  Artifact,
  ArtifactUpdate,
  Message,
  Metadata,
  Part,
  PushConfig,
  SendResult,
  StatusUpdate,
  Task,
  TaskPage,
  TaskState,
  TaskStatus,
  TaskUpdate,
} from './types.ts'

/** 1.0; JSON-RPC of 0.3 with its `kind`; and the protocol buffers form of 0.3 that its other bindings use. */
export type Dialect = '1.0' | 'kinds' | 'proto'

export class Decoder {
  readonly #dialect: Dialect

  constructor(dialect: Dialect) {
    this.#dialect = dialect
  }

  sent(value: unknown): SendResult {
    const update = this.update(value)
    if ('task' in update || 'message' in update) return update
    throw new ProtocolError('the agent replied with neither a task nor a message')
  }

  /** Decodes a stream event; throws for anything else. */
  update(value: unknown): TaskUpdate {
    const raw = rawOf(value, 'an event')
    const kind = this.#dialect === 'kinds' ? raw['kind'] : undefined
    if (kind === 'task') return { task: this.task(raw) }
    if (kind === 'message') return { message: this.message(raw) }
    if (kind === 'status-update') return { statusUpdate: this.#statusUpdate(raw) }
    if (kind === 'artifact-update') return { artifactUpdate: this.#artifactUpdate(raw) }
    if (isSet(raw['task'])) return { task: this.task(raw['task']) }
    if (isSet(raw['message'] ?? raw['msg'])) return { message: this.message(raw['message'] ?? raw['msg']) }
    if (isSet(raw['statusUpdate'])) return { statusUpdate: this.#statusUpdate(rawOf(raw['statusUpdate'], 'a status')) }
    if (isSet(raw['artifactUpdate']))
      return { artifactUpdate: this.#artifactUpdate(rawOf(raw['artifactUpdate'], 'an artifact')) }
    throw new ProtocolError('the agent sent an event that is neither a task, a message, a status nor an artifact')
  }

  task(value: unknown): Task {
    const raw = rawOf(value, 'a task')
    return {
      ...others(raw, TASK),
      id: requiredText(raw, 'id', 'a task'),
      ...word(raw, 'contextId'),
      status: this.#status(raw['status']),
      ...(isList(raw['artifacts']) && { artifacts: raw['artifacts'].map((each) => this.#artifact(each)) }),
      ...(isList(raw['history']) && { history: raw['history'].map((each) => this.message(each)) }),
      ...metadata(raw),
    }
  }

  page(value: unknown): TaskPage {
    const raw = rawOf(value, 'a list')
    return {
      tasks: (isList(raw['tasks']) ? raw['tasks'] : []).map((each) => this.task(each)),
      nextPageToken: typeof raw['nextPageToken'] === 'string' ? raw['nextPageToken'] : '',
      ...number(raw, 'pageSize'),
      ...number(raw, 'totalSize'),
    }
  }

  message(value: unknown): Message {
    const raw = rawOf(value, 'a message')
    const parts = raw['parts'] ?? raw['content']
    return {
      ...others(raw, MESSAGE),
      messageId: typeof raw['messageId'] === 'string' ? raw['messageId'] : '',
      ...word(raw, 'contextId'),
      ...word(raw, 'taskId'),
      role: roles.get(String(raw['role'])) ?? 'ROLE_UNSPECIFIED',
      parts: (isList(parts) ? parts : []).map((each) => this.#part(each)),
      ...metadata(raw),
      ...words(raw, 'extensions'),
      ...words(raw, 'referenceTaskIds'),
    }
  }

  /** 0.3 nests what 1.0 has flat, and its protocol buffers form has the ids in a resource name. */
  pushConfig(value: unknown, taskId: string): PushConfig {
    const outer = rawOf(value, 'a push configuration')
    const raw = isSet(outer['pushNotificationConfig'])
      ? rawOf(outer['pushNotificationConfig'], 'a push configuration')
      : outer
    const auth = isSet(raw['authentication']) ? rawOf(raw['authentication'], 'an authentication') : undefined
    const scheme = auth?.['scheme'] ?? (isList(auth?.['schemes']) ? auth['schemes'][0] : undefined)
    const named = /pushNotificationConfigs\/(.+)$/.exec(text(outer['name']) ?? '')?.[1]
    return {
      id: text(raw['id']) ?? named ?? '',
      taskId: text(outer['taskId']) ?? taskId,
      url: requiredText(raw, 'url', 'a push configuration'),
      ...word(raw, 'token'),
      ...(typeof scheme === 'string' && { authentication: { scheme, ...word(auth!, 'credentials') } }),
    }
  }

  pushConfigs(value: unknown, taskId: string): PushConfig[] {
    const list = isList(value) ? value : ((value ?? {}) as UntypedObject)['configs']
    return (isList(list) ? list : []).map((each) => this.pushConfig(each, taskId))
  }

  #statusUpdate(raw: UntypedObject): StatusUpdate {
    const about = { taskId: requiredText(raw, 'taskId', 'a status'), ...word(raw, 'contextId'), ...metadata(raw) }
    return { ...others(raw, STATUS_UPDATE), ...about, status: this.#status(raw['status']) }
  }

  #artifactUpdate(raw: UntypedObject): ArtifactUpdate {
    return {
      ...others(raw, ARTIFACT_UPDATE),
      taskId: requiredText(raw, 'taskId', 'an artifact'),
      ...word(raw, 'contextId'),
      artifact: this.#artifact(raw['artifact']),
      ...flag(raw, 'append'),
      ...flag(raw, 'lastChunk'),
      ...metadata(raw),
    }
  }

  #status(value: unknown): TaskStatus {
    const raw = rawOf(value ?? {}, 'a status')
    const message = raw['message'] ?? raw['update']
    return {
      ...others(raw, STATUS),
      state: stateOf(raw['state']),
      ...(isSet(message) && { message: this.message(message) }),
      ...word(raw, 'timestamp'),
    }
  }

  #artifact(value: unknown): Artifact {
    const raw = rawOf(value, 'an artifact')
    return {
      ...others(raw, ARTIFACT),
      artifactId: requiredText(raw, 'artifactId', 'an artifact'),
      ...word(raw, 'name'),
      ...word(raw, 'description'),
      parts: (isList(raw['parts']) ? raw['parts'] : []).map((each) => this.#part(each)),
      ...metadata(raw),
      ...words(raw, 'extensions'),
    }
  }

  #part(value: unknown): Part {
    const raw = rawOf(value, 'a part')
    const about = { ...others(raw, PART), ...metadata(raw), ...word(raw, 'filename'), ...word(raw, 'mediaType') }
    if (typeof raw['text'] === 'string') return { text: raw['text'], ...about }
    if (this.#dialect === '1.0') {
      if (typeof raw['raw'] === 'string') return { raw: raw['raw'], ...about }
      if (typeof raw['url'] === 'string') return { url: raw['url'], ...about }
      return { data: raw['data'] ?? null, ...about }
    }
    return isSet(raw['file']) ? fileOf(rawOf(raw['file'], 'a file'), about) : { data: this.#data(raw), ...about }
  }

  /** Data must be an object in 0.3; other values are wrapped and marked. Protocol buffers wrap them once more. */
  #data({ data, metadata: marks }: UntypedObject): unknown {
    const value = this.#dialect === 'proto' && isUntypedObject(data) && 'data' in data ? data['data'] : data
    const isWrapped =
      isUntypedObject(marks) && marks['data_part_compat'] === true && isUntypedObject(value) && 'value' in value
    return (isWrapped ? value['value'] : value) ?? null
  }
}

const TASK = ['kind', 'id', 'contextId', 'status', 'artifacts', 'history', 'metadata']
const MESSAGE = [
  'kind',
  'messageId',
  'contextId',
  'taskId',
  'role',
  'parts',
  'content',
  'metadata',
  'extensions',
  'referenceTaskIds',
]
const STATUS_UPDATE = ['kind', 'taskId', 'contextId', 'status', 'metadata', 'final']
const ARTIFACT_UPDATE = ['kind', 'taskId', 'contextId', 'artifact', 'append', 'lastChunk', 'metadata']
const STATUS = ['state', 'message', 'update', 'timestamp']
const ARTIFACT = ['artifactId', 'name', 'description', 'parts', 'metadata', 'extensions']
const PART = ['kind', 'text', 'raw', 'url', 'data', 'file', 'metadata', 'filename', 'mediaType']
const FILE = ['bytes', 'uri', 'fileWithBytes', 'fileWithUri', 'name', 'mimeType']

/** Fields that this code does not know. They are kept: the gateway passes them on. */
function others(raw: UntypedObject, known: readonly string[]): object {
  const names = Object.keys(raw)
  if (names.every((name) => known.includes(name))) return {}
  return Object.fromEntries(Object.entries(raw).filter(([name]) => !known.includes(name)))
}

function fileOf(file: UntypedObject, about: Partial<Part>): Part {
  const bytes = text(file['bytes'] ?? file['fileWithBytes'])
  const url = text(file['uri'] ?? file['fileWithUri'])
  const filename = text(file['name'])
  const mediaType = text(file['mimeType'])
  const more = others(file, FILE)
  return {
    ...(url === undefined ? { raw: bytes ?? '' } : { url }),
    ...about,
    ...(Object.keys(more).length > 0 && { file: more }),
    ...(filename !== undefined && { filename }),
    ...(mediaType !== undefined && { mediaType }),
  }
}

const roles: ReadonlyMap<string, Message['role']> = new Map([
  ['user', 'ROLE_USER'],
  ['agent', 'ROLE_AGENT'],
  ['ROLE_USER', 'ROLE_USER'],
  ['ROLE_AGENT', 'ROLE_AGENT'],
])

const STATES: readonly TaskState[] = [
  'TASK_STATE_SUBMITTED',
  'TASK_STATE_WORKING',
  'TASK_STATE_COMPLETED',
  'TASK_STATE_FAILED',
  'TASK_STATE_CANCELED',
  'TASK_STATE_REJECTED',
  'TASK_STATE_INPUT_REQUIRED',
  'TASK_STATE_AUTH_REQUIRED',
]

/** `input-required` and `TASK_STATE_INPUT_REQUIRED` are the same; the protocol buffers of 0.3 have `CANCELLED`. */
function stateOf(value: unknown): TaskState {
  const name = String(value).toUpperCase().replaceAll('-', '_').replace('CANCELLED', 'CANCELED')
  const full = name.startsWith('TASK_STATE_') ? name : `TASK_STATE_${name}`
  return STATES.find((state) => state === full) ?? 'TASK_STATE_UNSPECIFIED'
}

function rawOf(value: unknown, what: string): UntypedObject {
  if (isUntypedObject(value)) return value
  throw new ProtocolError(`the agent sent a value that is not ${what}`)
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value)
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

function requiredText(raw: UntypedObject, name: string, what: string): string {
  const value = text(raw[name])
  if (value !== undefined) return value
  throw new ProtocolError(`the agent sent ${what} without its \`${name}\``)
}

/** A non-empty string; protocol buffers use an empty one for none. */
function word<Name extends string>(raw: UntypedObject, name: Name): { readonly [Key in Name]?: string } {
  const value = text(raw[name])
  return (value === undefined ? {} : { [name]: value }) as { readonly [Key in Name]?: string }
}

function words<Name extends string>(raw: UntypedObject, name: Name): { readonly [Key in Name]?: readonly string[] } {
  const value = raw[name]
  const has = isList(value) && value.length > 0
  return (has ? { [name]: value } : {}) as { readonly [Key in Name]?: readonly string[] }
}

function number<Name extends string>(raw: UntypedObject, name: Name): { readonly [Key in Name]?: number } {
  const value = raw[name]
  return (typeof value === 'number' ? { [name]: value } : {}) as { readonly [Key in Name]?: number }
}

function flag<Name extends string>(raw: UntypedObject, name: Name): { readonly [Key in Name]?: boolean } {
  const value = raw[name]
  return (typeof value === 'boolean' ? { [name]: value } : {}) as { readonly [Key in Name]?: boolean }
}

function metadata(raw: UntypedObject): { readonly metadata?: Metadata } {
  return isUntypedObject(raw['metadata']) ? { metadata: raw['metadata'] } : {}
}
