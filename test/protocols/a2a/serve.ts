/** A server for one A2A test, and a client that shows every byte: the official clients hide what they tolerate. */
import type { Component } from '../../../src/core/ports/component.ts'
import type { A2aOptions } from '../../../src/protocols/a2a/index.ts'
import type { Task } from '../../../src/protocols/a2a/wire/wire.ts'
import { agent } from '../../../src/agents/agent.ts'
import { EventParser } from '../../../src/sse/index.ts'
import type { NativeOptions, NativeServer } from '../native/serve.ts'
import { serveNative } from '../native/serve.ts'
import { EventStream, type EventStreamOptions } from '../../support/event-stream.ts'

export interface A2aServer extends NativeServer {
  /** Address of an agent. */
  agent(component?: string): string
}

/** Asks for a credential, like agents that act on behalf of a user. */
const notary = agent<unknown>({
  id: 'notary',
  async *run(_input, context) {
    const answer = await context.ask({ prompt: 'Sign in first', details: { a2a: { state: 'auth-required' } } })
    yield `signed by ${String(answer)}`
  },
})

/** Answers without a task. */
export const parrot = agent<unknown>({
  id: 'parrot',
  async *run(input) {
    yield { type: 'custom.emitted', data: { name: 'a2a.message', value: input } }
  },
})

/** Asks for an approval. */
const careful = agent<unknown>({
  id: 'careful',
  // oxlint-disable-next-line require-yield -- its answer is what it returns
  async *run(_input, context) {
    return { approved: await context.ask({ prompt: 'May I?', kind: 'approval' }) }
  },
})

const extraComponents: readonly Component[] = [notary, parrot, careful]

export async function serveA2a({
  a2a = {},
  components = [],
  ...options
}: NativeOptions & { readonly a2a?: A2aOptions } = {}): Promise<A2aServer> {
  const server = await serveNative({
    ...options,
    components: [...extraComponents, ...components],
    a2a: { agents: { parrot: { answersDirectly: true } }, push: true, ...a2a },
  })
  return { ...server, agent: (component = 'lab') => `${server.url}/a2a/${component}` }
}

/** Host and port of the server's gRPC binding, from a card. */
export async function grpcAddress(server: A2aServer): Promise<string> {
  const card = await fetch(`${server.agent('lab')}/.well-known/agent-card.json`, { headers: { 'a2a-version': '1.0' } })
  const { supportedInterfaces } = (await card.json()) as {
    supportedInterfaces: { url: string; protocolBinding: string }[]
  }
  return supportedInterfaces.find(({ protocolBinding }) => protocolBinding === 'GRPC')!.url
}

export interface RpcAnswer {
  readonly result?: unknown
  readonly error?: {
    readonly code: number
    readonly message: string
    readonly data?: readonly Record<string, unknown>[]
  }
}

export const current = { 'content-type': 'application/json', 'a2a-version': '1.0' }

export async function rpc<Answer = RpcAnswer>(
  url: string,
  method: string,
  params: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const response = await fetch(url, { method: 'POST', headers: { ...current, ...headers }, body })
  return (await response.json()) as Answer
}

/** The result of a call that must succeed. */
export async function result<Result>(url: string, method: string, params: unknown): Promise<Result> {
  const { result: found, error } = await rpc(url, method, params)
  if (error !== undefined) throw new Error(`${method}: ${error.code} ${error.message}`)
  return found as Result
}

let messages = 0

export function message(text: string, more: object = {}): { readonly messageId: string } & Record<string, unknown> {
  return { messageId: `m-${process.pid}-${++messages}`, role: 'ROLE_USER', parts: [{ text }], ...more }
}

/** Sends a text and waits for the result. */
export async function send(url: string, text: string, more: object = {}, configuration: object = {}): Promise<Task> {
  const sent = await result<{ task: Task }>(url, 'SendMessage', { message: message(text, more), configuration })
  return sent.task
}

/** Sends a text and returns at once. */
export function begin(url: string, text: string, more: object = {}): Promise<Task> {
  return send(url, text, more, { returnImmediately: true })
}

export function getTask(url: string, id: string, more: object = {}): Promise<Task> {
  return result<Task>(url, 'GetTask', { id, ...more })
}

export interface SeenUpdate {
  readonly id: string
  readonly task?: Task
  readonly message?: { readonly parts: readonly { readonly text?: string }[] }
  readonly statusUpdate?: { readonly status: Task['status']; readonly metadata?: Record<string, unknown> }
  readonly artifactUpdate?: {
    readonly artifact: { readonly artifactId: string; readonly parts: readonly { readonly text?: string }[] }
    readonly append?: boolean
    readonly lastChunk?: boolean
    readonly metadata?: Record<string, unknown>
  }
  readonly error?: { readonly code: number; readonly message: string }
}

export interface OpenOptions extends Pick<EventStreamOptions, 'cutAfter' | 'stalled'> {
  readonly headers?: Readonly<Record<string, string>>
}

export function open(
  url: string,
  method: string,
  params: unknown,
  { headers, ...options }: OpenOptions = {},
): EventStream {
  const body = { jsonrpc: '2.0', id: 7, method, params }
  return new EventStream(url, { method: 'POST', body, headers: { 'a2a-version': '1.0', ...headers }, ...options })
}

export function stream(url: string, text: string, more: object = {}, options: OpenOptions = {}): EventStream {
  return open(url, 'SendStreamingMessage', { message: message(text, more) }, options)
}

export function subscribe(url: string, id: string, options: OpenOptions = {}): EventStream {
  return open(url, 'SubscribeToTask', { id }, options)
}

/** Events of a stream so far, without the envelopes of JSON-RPC. */
export function seen({ frames }: EventStream): SeenUpdate[] {
  const updates: SeenUpdate[] = []
  const event = ({ data, id }: { data: string; id?: string | undefined }): void => {
    const { result: found, error, ...rest } = JSON.parse(data) as Record<string, object>
    updates.push({ ...(found ?? rest), ...(error !== undefined && { error }), id: id ?? '' } as SeenUpdate)
  }
  new EventParser({ event }).push(Buffer.concat(frames).toString())
  return updates
}

/** All events until the stream ends. */
export async function drained(opened: EventStream): Promise<SeenUpdate[]> {
  await opened.ended
  return seen(opened)
}

export function states(updates: readonly SeenUpdate[]): string[] {
  return updates.flatMap(({ task, statusUpdate }) => {
    const status = statusUpdate?.status ?? task?.status
    return status === undefined ? [] : [status.state.replace('TASK_STATE_', '')]
  })
}

/** The texts of the artifacts as a client assembles them, from a task and the updates after it. */
export function assembled(updates: readonly SeenUpdate[]): Record<string, string> {
  const whole: Record<string, string> = {}
  for (const { task, artifactUpdate } of updates) {
    for (const { artifactId, parts } of task?.artifacts ?? []) whole[artifactId] = textOf(parts)
    if (artifactUpdate === undefined) continue
    const { artifact, append = false } = artifactUpdate
    whole[artifact.artifactId] = (append ? (whole[artifact.artifactId] ?? '') : '') + textOf(artifact.parts)
  }
  return whole
}

function textOf(parts: readonly { readonly text?: string }[]): string {
  return parts.map(({ text = '' }) => text).join('')
}

/** All events of an official client. */
export async function collected<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const found: Item[] = []
  for await (const item of items) found.push(item)
  return found
}

export function texts(task: Task): Record<string, string> {
  return assembled([{ id: '', task }])
}
