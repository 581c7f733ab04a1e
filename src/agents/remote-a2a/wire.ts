/** A2A on the wire, 1.0 and 0.3: what is sent in the words of each, and what comes in one form for both. */

export type Version = '1.0' | '0.3'

export type State =
  | 'submitted'
  | 'working'
  | 'completed'
  | 'failed'
  | 'canceled'
  | 'rejected'
  | 'input-required'
  | 'auth-required'
  | 'unknown'

export interface Part {
  readonly text?: string
  /** Base64. */
  readonly bytes?: string
  readonly url?: string
  readonly value?: unknown
  readonly mediaType?: string
  readonly name?: string
}

export interface Message {
  readonly id: string
  readonly fromAgent: boolean
  readonly parts: readonly Part[]
}

export interface Artifact {
  readonly id: string
  readonly name?: string
  readonly parts: readonly Part[]
}

export interface Task {
  readonly id: string
  readonly context?: string
  readonly state: State
  readonly message?: Message
  readonly artifacts: readonly Artifact[]
  readonly history: readonly Message[]
}

export type Update =
  | { readonly type: 'task'; readonly task: Task }
  | { readonly type: 'message'; readonly message: Message }
  | { readonly type: 'status'; readonly task: string; readonly state: State; readonly message?: Message }
  | {
      readonly type: 'artifact'
      readonly task: string
      readonly artifact: Artifact
      readonly append: boolean
      readonly last: boolean
    }

/** The methods, in the words of each version. */
export const methods = {
  '1.0': {
    send: 'SendMessage',
    stream: 'SendStreamingMessage',
    get: 'GetTask',
    cancel: 'CancelTask',
    subscribe: 'SubscribeToTask',
  },
  '0.3': {
    send: 'message/send',
    stream: 'message/stream',
    get: 'tasks/get',
    cancel: 'tasks/cancel',
    subscribe: 'tasks/resubscribe',
  },
} as const

export interface Outgoing {
  readonly id: string
  readonly task?: string
  readonly context?: string
  /** A text, or any other JSON value. */
  readonly content: unknown
}

/** The parameters of a send. The answer should come at once, and not when the task is done. */
export function sendParams(version: Version, { id, task, context, content }: Outgoing): object {
  const ids = {
    messageId: id,
    ...(task !== undefined && { taskId: task }),
    ...(context !== undefined && { contextId: context }),
  }
  if (version === '1.0') {
    const part = typeof content === 'string' ? { text: content } : { data: content ?? null }
    return { message: { ...ids, role: 'ROLE_USER', parts: [part] }, configuration: { returnImmediately: true } }
  }
  const data = typeof content === 'object' && content !== null && !Array.isArray(content) ? content : { value: content }
  const part = typeof content === 'string' ? { kind: 'text', text: content } : { kind: 'data', data }
  return { message: { ...ids, kind: 'message', role: 'user', parts: [part] }, configuration: { blocking: false } }
}

type Raw = Readonly<Record<string, unknown>>

/** An event of a stream, or the result of a send. What is none of them is an error of the other side. */
export function updateOf(result: unknown): Update {
  const raw = rawOf(result)
  if (raw['task'] !== undefined) return { type: 'task', task: taskOf(raw['task']) }
  if (raw['message'] !== undefined) return { type: 'message', message: messageOf(raw['message']) }
  if (raw['statusUpdate'] !== undefined) return statusOf(rawOf(raw['statusUpdate']))
  if (raw['artifactUpdate'] !== undefined) return artifactUpdateOf(rawOf(raw['artifactUpdate']))
  switch (raw['kind']) {
    case 'task':
      return { type: 'task', task: taskOf(raw) }
    case 'message':
      return { type: 'message', message: messageOf(raw) }
    case 'status-update':
      return statusOf(raw)
    case 'artifact-update':
      return artifactUpdateOf(raw)
    default:
      throw new WireError('an event that is neither a task, a message, a status nor an artifact')
  }
}

export function taskOf(value: unknown): Task {
  const raw = rawOf(value)
  const status = rawOf(raw['status'] ?? {})
  return {
    id: required(raw, 'id'),
    ...optional('context', raw['contextId']),
    state: stateOf(status['state']),
    ...(status['message'] !== undefined && status['message'] !== null && { message: messageOf(status['message']) }),
    artifacts: list(raw['artifacts']).map(artifactOf),
    history: list(raw['history']).map(messageOf),
  }
}

function statusOf(raw: Raw): Update {
  const status = rawOf(raw['status'] ?? {})
  return {
    type: 'status',
    task: required(raw, 'taskId'),
    state: stateOf(status['state']),
    ...(status['message'] !== undefined && status['message'] !== null && { message: messageOf(status['message']) }),
  }
}

function artifactUpdateOf(raw: Raw): Update {
  return {
    type: 'artifact',
    task: required(raw, 'taskId'),
    artifact: artifactOf(raw['artifact']),
    append: raw['append'] === true,
    last: raw['lastChunk'] === true,
  }
}

function artifactOf(value: unknown): Artifact {
  const raw = rawOf(value)
  return { id: required(raw, 'artifactId'), ...optional('name', raw['name']), parts: list(raw['parts']).map(partOf) }
}

function messageOf(value: unknown): Message {
  const raw = rawOf(value)
  return {
    id: wordOf(raw['messageId']),
    fromAgent: raw['role'] === 'agent' || raw['role'] === 'ROLE_AGENT',
    parts: list(raw['parts']).map(partOf),
  }
}

function partOf(value: unknown): Part {
  const raw = rawOf(value)
  if (typeof raw['text'] === 'string') return { text: raw['text'] }
  const file = raw['kind'] === 'file' ? rawOf(raw['file'] ?? {}) : raw
  return {
    ...optional('bytes', file['raw'] ?? file['bytes']),
    ...optional('url', file['url'] ?? file['uri']),
    ...(raw['data'] !== undefined && { value: raw['data'] }),
    ...optional('mediaType', file['mediaType'] ?? file['mimeType']),
    ...optional('name', file['filename'] ?? file['name']),
  }
}

const STATES: readonly State[] = [
  'submitted',
  'working',
  'completed',
  'failed',
  'canceled',
  'rejected',
  'input-required',
  'auth-required',
]

/** `TASK_STATE_INPUT_REQUIRED` and `input-required` are the same. */
function stateOf(value: unknown): State {
  const word = wordOf(value)
    .replace(/^TASK_STATE_/, '')
    .replaceAll('_', '-')
    .toLowerCase()
  return STATES.find((state) => state === word) ?? 'unknown'
}

/** The other side does not speak A2A as it is written. */
export class WireError extends Error {
  override readonly name = 'WireError'
}

function rawOf(value: unknown): Raw {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Raw
  throw new WireError('something else where an object belongs')
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function wordOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function required(raw: Raw, name: string): string {
  const value = raw[name]
  if (typeof value === 'string' && value !== '') return value
  throw new WireError(`an object without its \`${name}\``)
}

function optional<Name extends string>(name: Name, value: unknown): { readonly [Key in Name]?: string } {
  return typeof value === 'string' && value !== '' ? ({ [name]: value } as { readonly [Key in Name]: string }) : {}
}
