/** The official clients and ours behind one interface, so that a scenario is written once for all of them. */
import {
  AgentCard,
  type Message as NewerMessage,
  Role,
  type StreamResponse,
  TaskState,
  type Task as NewerTask,
} from '@a2a-js/sdk'
import * as newer from '@a2a-js/sdk/client'
import * as newerGrpc from '@a2a-js/sdk/client/grpc'
import type {
  Message as OlderMessage,
  Task as OlderTask,
  TaskArtifactUpdateEvent,
  TaskStatusUpdateEvent,
} from 'a2a-sdk-v03'
import * as older from 'a2a-sdk-v03/client'
import * as olderGrpc from 'a2a-sdk-v03/client/grpc'
import { A2aClient, type Message, type Task, textOf, type TaskUpdate } from '../../../src/a2a/index.ts'

export interface SeenTask {
  readonly id: string
  readonly context: string
  /** As 0.3 writes it. */
  readonly state: string
  readonly note: string
  readonly texts: readonly string[]
  readonly values: readonly unknown[]
  readonly history: readonly string[]
}

export type SeenEvent =
  | { readonly task: SeenTask }
  | { readonly message: string }
  | { readonly state: string; readonly note: string; readonly final?: boolean }
  | { readonly artifact: string; readonly text: string; readonly append: boolean; readonly last: boolean }

export interface SendOptions {
  readonly task?: string
  readonly context?: string
  readonly wait?: boolean
  readonly message?: string
}

export interface Caller {
  send(text: string, options?: SendOptions): Promise<SeenEvent>
  stream(text: string, options?: SendOptions): AsyncIterable<SeenEvent>
  get(id: string, historyLength?: number): Promise<SeenTask>
  cancel(id: string): Promise<SeenTask>
  subscribe(id: string): AsyncIterable<SeenEvent>
  /** Undefined where the version has no such thing. */
  readonly list?: (pageSize: number, pageToken: string) => Promise<SeenPage>
  /** Registers a webhook for a task's updates, with the credential. */
  push(task: string, url: string, credentials: string): Promise<void>
  /** Tags of the first skill of the authenticated card. */
  extendedTags(): Promise<readonly string[]>
}

export interface SeenPage {
  readonly ids: readonly string[]
  readonly next: string
  readonly total: number
}

export type Transport = 'JSONRPC' | 'HTTP+JSON' | 'GRPC'

export interface CallerOptions {
  readonly url: string
  readonly transport: Transport
  readonly key?: string
  readonly extension?: string
}

type Connect = (options: CallerOptions) => Promise<Caller>

/** By the row of the matrix that each is of; ours are there to be compared with. */
export const callers: Readonly<Record<string, Connect>> = {
  'row 1: the official client of 1.0': (options) => newerCaller(options, '1.0'),
  'row 2: the official client of 1.0 as one of 0.3': (options) => newerCaller(options, '0.3'),
  'row 3: the official client of 0.3': olderCaller,
  'our client of 1.0': (options) => ourCaller(options, '1.0'),
  'our client of 0.3': (options) => ourCaller(options, '0.3'),
}

/** With 0.3 over protocol buffers the official clients drop the `append` flag of a chunk. */
export function forgetsAppend(name: string, transport: Transport): boolean {
  return transport !== 'JSONRPC' && name.includes('the official') && name.endsWith('0.3')
}

function parametersOf({ key, extension }: CallerOptions, extensionHeader: string): Record<string, string> {
  return {
    ...(key !== undefined && { Authorization: `Bearer ${key}` }),
    ...(extension !== undefined && { [extensionHeader]: extension }),
  }
}

/** The final state of a client that follows the A2A specification. */
export function put(events: readonly SeenEvent[], alwaysAppend = false): Record<string, string> {
  const texts: Record<string, string> = {}
  for (const event of events) {
    if (!('artifact' in event)) continue
    const before = event.append || alwaysAppend ? (texts[event.artifact] ?? '') : ''
    texts[event.artifact] = before + event.text
  }
  return texts
}

export async function all<Item>(items: AsyncIterable<Item>, into: Item[] = []): Promise<Item[]> {
  for await (const item of items) into.push(item)
  return into
}

const kebab = (state: string): string => state.replace('TASK_STATE_', '').replaceAll('_', '-').toLowerCase()

const newerRequest = (
  text: string,
  { task = '', context = '', wait = true, message = crypto.randomUUID() }: SendOptions,
) => ({
  tenant: '',
  message: {
    messageId: message,
    contextId: context,
    taskId: task,
    role: Role.ROLE_USER,
    parts: [{ content: { $case: 'text' as const, value: text }, metadata: undefined, filename: '', mediaType: '' }],
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  },
  configuration: { acceptedOutputModes: [], taskPushNotificationConfig: undefined, returnImmediately: !wait },
  metadata: undefined,
})

async function newerCaller(given: CallerOptions, version: '1.0' | '0.3'): Promise<Caller> {
  const { url, transport } = given
  const request = { serviceParameters: parametersOf(given, 'A2A-Extensions') }
  const legacyCompat = { enabled: version === '0.3' }
  const card = (await (
    await fetch(`${url}/.well-known/agent-card.json`, { headers: { 'a2a-version': '1.0' } })
  ).json()) as {
    supportedInterfaces: { protocolVersion: string; protocolBinding: string }[]
  }
  const supportedInterfaces = card.supportedInterfaces.filter(
    (each) => each.protocolVersion === version && each.protocolBinding === transport,
  )
  const transports = [
    new newer.JsonRpcTransportFactory({ legacyCompat }),
    new newer.RestTransportFactory({ legacyCompat }),
    new newerGrpc.GrpcTransportFactory({ legacyCompat }),
  ]
  const options = newer.ClientFactoryOptions.createFrom(newer.ClientFactoryOptions.default, { transports })
  const client = await new newer.ClientFactory(options).createFromAgentCard(
    AgentCard.fromJSON({ ...card, supportedInterfaces }),
  )
  return {
    async send(text, options_ = {}) {
      const answer = await client.sendMessage(newerRequest(text, options_), request)
      return 'parts' in answer ? { message: newerText(answer) } : { task: newerTask(answer) }
    },
    async *stream(text, options_ = {}) {
      const events = client.sendMessageStream(newerRequest(text, options_), request)
      for await (const event of events) yield newerEvent(event)
    },
    get: async (id, historyLength) =>
      newerTask(await client.getTask({ id, tenant: '', ...(historyLength !== undefined && { historyLength }) })),
    cancel: async (id) => newerTask(await client.cancelTask({ id, tenant: '', metadata: undefined })),
    async *subscribe(id) {
      for await (const event of client.resubscribeTask({ id, tenant: '' })) yield newerEvent(event)
    },
    ...(version === '1.0' && {
      list: async (pageSize, pageToken) => {
        const page = await client.listTasks({ ...noFilter, pageSize, pageToken })
        return { ids: page.tasks.map(({ id }) => id), next: page.nextPageToken, total: page.totalSize }
      },
    }),
    async push(taskId, at, credentials) {
      const authentication = { scheme: 'Bearer', credentials }
      await client.createTaskPushNotificationConfig({
        tenant: '',
        id: 'hook',
        taskId,
        url: at,
        token: '',
        authentication,
      })
    },
    extendedTags: async () => (await client.getAgentCard(request)).skills[0]!.tags,
  }
}

const noFilter = {
  tenant: '',
  contextId: '',
  status: TaskState.TASK_STATE_UNSPECIFIED,
  statusTimestampAfter: undefined,
}

const newerText = ({ parts }: Pick<NewerMessage, 'parts'>): string =>
  parts.map(({ content }) => (content?.$case === 'text' ? content.value : '')).join('')

function newerTask({ id, contextId, status, artifacts, history }: NewerTask): SeenTask {
  return {
    id,
    context: contextId,
    state: kebab(TaskState[status?.state ?? 0]!),
    note: status?.message === undefined ? '' : newerText(status.message),
    texts: artifacts.map(newerText),
    values: artifacts.flatMap(({ parts }) =>
      parts.flatMap(({ content }) => (content?.$case === 'data' ? [content.value] : [])),
    ),
    history: history.map(newerText),
  }
}

function newerEvent({ payload }: StreamResponse): SeenEvent {
  switch (payload?.$case) {
    case 'task':
      return { task: newerTask(payload.value) }
    case 'message':
      return { message: newerText(payload.value) }
    case 'statusUpdate': {
      const { state = 0, message } = payload.value.status ?? {}
      return { state: kebab(TaskState[state]!), note: message === undefined ? '' : newerText(message) }
    }
    case 'artifactUpdate': {
      const { artifact, append, lastChunk } = payload.value
      return { artifact: artifact!.artifactId, text: newerText(artifact!), append, last: lastChunk }
    }
    default:
      throw new Error('an event without a payload')
  }
}

const olderParams = (text: string, { task, context, wait = true, message = crypto.randomUUID() }: SendOptions) => ({
  message: {
    kind: 'message' as const,
    messageId: message,
    role: 'user' as const,
    parts: [{ kind: 'text' as const, text }],
    ...(task !== undefined && { taskId: task }),
    ...(context !== undefined && { contextId: context }),
  },
  configuration: { blocking: wait },
})

async function olderCaller(given: CallerOptions): Promise<Caller> {
  const { url, transport } = given
  const request = { serviceParameters: parametersOf(given, 'X-A2A-Extensions') }
  const transports = [
    transport === 'JSONRPC'
      ? new older.JsonRpcTransportFactory()
      : transport === 'GRPC'
        ? new olderGrpc.GrpcTransportFactory()
        : new older.RestTransportFactory(),
  ]
  const options = older.ClientFactoryOptions.createFrom(older.ClientFactoryOptions.default, {
    transports,
    preferredTransports: [transport],
  })
  const client = await new older.ClientFactory(options).createFromUrl(`${url}/`)
  return {
    send: async (text, options_ = {}) => olderEvent(await client.sendMessage(olderParams(text, options_), request)),
    async *stream(text, options_ = {}) {
      for await (const event of client.sendMessageStream(olderParams(text, options_), request)) yield olderEvent(event)
    },
    get: async (id, historyLength) =>
      olderTask(await client.getTask({ id, ...(historyLength !== undefined && { historyLength }) })),
    cancel: async (id) => olderTask(await client.cancelTask({ id })),
    async *subscribe(id) {
      for await (const event of client.resubscribeTask({ id })) yield olderEvent(event)
    },
    async push(taskId, at, credentials) {
      const authentication = { schemes: ['Bearer'], credentials }
      const pushNotificationConfig = { id: 'hook', url: at, authentication }
      await client.setTaskPushNotificationConfig({ taskId, pushNotificationConfig })
    },
    extendedTags: async () => (await client.getAgentCard(request)).skills[0]!.tags,
  }
}

const olderText = (parts: OlderMessage['parts']): string =>
  parts.map((part) => (part.kind === 'text' ? part.text : '')).join('')

function olderTask({ id, contextId, status, artifacts = [], history = [] }: OlderTask): SeenTask {
  return {
    id,
    context: contextId,
    state: status.state,
    note: status.message === undefined ? '' : olderText(status.message.parts),
    texts: artifacts.map(({ parts }) => olderText(parts)),
    values: artifacts.flatMap(({ parts }) => parts.flatMap((part) => (part.kind === 'data' ? [part.data] : []))),
    history: history.map(({ parts }) => olderText(parts)),
  }
}

function olderEvent(event: OlderTask | OlderMessage | TaskStatusUpdateEvent | TaskArtifactUpdateEvent): SeenEvent {
  switch (event.kind) {
    case 'task':
      return { task: olderTask(event) }
    case 'message':
      return { message: olderText(event.parts) }
    case 'status-update': {
      const { state, message } = event.status
      return { state, note: message === undefined ? '' : olderText(message.parts), final: event.final }
    }
    case 'artifact-update': {
      const { artifact, append = false, lastChunk = false } = event
      return { artifact: artifact.artifactId, text: olderText(artifact.parts), append, last: lastChunk }
    }
  }
}

const ourMessage = (
  text: string,
  { task, context, message }: SendOptions,
): Partial<Message> & Pick<Message, 'parts'> => ({
  parts: [{ text }],
  ...(task !== undefined && { taskId: task }),
  ...(context !== undefined && { contextId: context }),
  ...(message !== undefined && { messageId: message }),
})

async function ourCaller({ url, transport, key, extension }: CallerOptions, version: '1.0' | '0.3'): Promise<Caller> {
  const found = await A2aClient.connect(url, { bindings: [transport], versions: [version] })
  const client = await A2aClient.of(found.card, url, {
    bindings: [transport],
    versions: [version],
    pollIntervalMs: 20,
    retryDelayMs: 10,
    ...(key !== undefined && { headers: { authorization: `Bearer ${key}` } }),
    ...(extension !== undefined && { extensions: [extension] }),
    // gRPC has a port of its own.
    ...(transport === 'GRPC' && { origins: [`http://${found.interface.url}`] }),
  })
  found.close()
  return {
    send: async (text, options = {}) =>
      ourEvent(await client.send(ourMessage(text, options), { wait: options.wait ?? true })),
    async *stream(text, options = {}) {
      for await (const update of client.stream(ourMessage(text, options))) yield ourEvent(update)
    },
    get: async (id, historyLength) =>
      ourTask(await client.get(id, historyLength === undefined ? {} : { historyLength })),
    cancel: async (id) => ourTask(await client.cancel(id)),
    async *subscribe(id) {
      for await (const update of client.subscribe(id)) yield ourEvent(update)
    },
    ...(version === '1.0' && {
      list: async (pageSize, pageToken) => {
        const page = await client.list({ pageSize, pageToken })
        return { ids: page.tasks.map(({ id }) => id), next: page.nextPageToken, total: page.totalSize! }
      },
    }),
    async push(taskId, at, credentials) {
      await client.createPushConfig(taskId, { id: 'hook', url: at, authentication: { scheme: 'Bearer', credentials } })
    },
    extendedTags: async () => {
      const { skills } = (await client.extendedCard()) as { readonly skills?: readonly { readonly tags: string[] }[] }
      return skills![0]!.tags
    },
  }
}

function ourTask({ id, contextId = '', status, artifacts = [], history = [] }: Task): SeenTask {
  return {
    id,
    context: contextId,
    state: kebab(status.state),
    note: textOf(status.message?.parts ?? []),
    texts: artifacts.map(({ parts }) => textOf(parts)),
    values: artifacts.flatMap(({ parts }) => parts.flatMap(({ data }) => (data === undefined ? [] : [data]))),
    history: history.map(({ parts }) => textOf(parts)),
  }
}

function ourEvent(update: TaskUpdate): SeenEvent {
  if ('task' in update) return { task: ourTask(update.task) }
  if ('message' in update) return { message: textOf(update.message.parts) }
  if ('statusUpdate' in update) {
    const { state, message } = update.statusUpdate.status
    return { state: kebab(state), note: textOf(message?.parts ?? []) }
  }
  const { artifact, append = false, lastChunk = false } = update.artifactUpdate
  return { artifact: artifact.artifactId, text: textOf(artifact.parts), append, last: lastChunk }
}
