/** Scripted agents on the official A2A servers, 1.0 and 0.3, whose streams can be cut. */
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { Role, TaskState } from '@a2a-js/sdk'
import * as newer from '@a2a-js/sdk/server'
import * as newerExpress from '@a2a-js/sdk/server/express'
import * as older from 'a2a-sdk-v03/server'
import * as olderExpress from 'a2a-sdk-v03/server/express'
import * as grpc from '@grpc/grpc-js'
import { onTestFinished } from 'vitest'

/** SDK version; `1.0 as 0.3` is the newer SDK serving only the older version. */
export type PeerVersion = '1.0' | '1.0 as 0.3' | '0.3'

export type PeerBinding = 'JSONRPC' | 'HTTP+JSON' | 'GRPC'

type PeerState =
  | 'submitted'
  | 'working'
  | 'completed'
  | 'failed'
  | 'canceled'
  | 'rejected'
  | 'input-required'
  | 'auth-required'

export type PeerStep =
  | { readonly status: PeerState; readonly text?: string }
  | { readonly artifact: string; readonly append?: boolean; readonly last?: boolean }
  | { readonly value: object }
  | { readonly message: string }
  | { readonly fails: string }
  | { readonly until: Promise<unknown> }

export interface PeerOptions {
  readonly version: PeerVersion
  /** The agent's steps for a message. A task is created first, unless the first step is a message. */
  readonly script: (text: string, turn: number) => readonly PeerStep[]
  readonly streaming?: boolean
  /** The only binding on the card. Default: JSON-RPC. */
  readonly binding?: PeerBinding
  /** Serve an extended card to authenticated callers. */
  readonly extended?: boolean
  /** Write latency of the store. */
  readonly slowStoreMs?: number
  /** Event counts after which the first streams are cut. */
  readonly cuts?: readonly number[]
  /** Cut by a broken connection or by a clean end. */
  readonly cut?: 'break' | 'end'
}

export interface Peer {
  readonly url: string
  /** gRPC address, if enabled. */
  readonly grpc: string
  /** Methods called over HTTP, in order; paths for HTTP+JSON. */
  readonly calls: string[]
  readonly cancelled: string[]
  readonly messages: { readonly text: string; readonly task: string | undefined }[]
}

/** Stopped after the test. */
export async function startPeer(options: PeerOptions): Promise<Peer> {
  const peer = { url: '', grpc: '', calls: [], cancelled: [], messages: [] } as {
    -readonly [Key in keyof Peer]: Peer[Key]
  }
  const express = createRequire(import.meta.url)('express') as () => ExpressApp
  const app = express()
  const server = createServer(app as unknown as RequestListener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  peer.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  onTestFinished(async () => {
    const closed = new Promise((resolve) => server.close(resolve))
    server.closeAllConnections()
    await closed
  })
  app.use('/rpc', watching(peer, options))
  const calls = new grpc.Server()
  if (options.binding === 'GRPC') peer.grpc = await listening(calls)
  if (options.version === '0.3') await serveOlder(app, calls, peer, options)
  else await serveNewer(app, calls, peer, options)
  return peer
}

async function listening(calls: grpc.Server): Promise<string> {
  const port = await new Promise<number>((resolve, reject) =>
    calls.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    ),
  )
  onTestFinished(() => calls.forceShutdown())
  return `127.0.0.1:${port}`
}

type Handler = (request: IncomingMessage, response: ServerResponse, next: () => void) => void
interface ExpressApp {
  use(path: string, handler: unknown): void
}

/** Records calls and cuts the first streams. */
function watching(peer: Peer, { cuts = [], cut = 'break' }: PeerOptions): Handler {
  let streams = 0
  return (request, response, next) => {
    let body = ''
    request.on('data', (chunk: Buffer) => (body += chunk.toString()))
    const path = request.url ?? ''
    request.on('end', () => {
      peer.calls.push(path === '/' ? (JSON.parse(body) as { method: string }).method : `${request.method} ${path}`)
    })
    const write = response.write.bind(response) as (chunk: unknown) => boolean
    let events = 0
    response.write = ((chunk: unknown) => {
      if (events === 0) streams++
      const allowed = cuts[streams - 1]
      if (allowed !== undefined && events >= allowed) {
        if (cut === 'end') response.end()
        else response.destroy()
        return false
      }
      events += String(chunk).split('data:').length - 1
      return write(chunk)
    }) as typeof response.write
    next()
  }
}

function cardOf(peer: Peer, { version, streaming = true, binding = 'JSONRPC', extended = false }: PeerOptions): object {
  const url = binding === 'GRPC' ? peer.grpc : `${peer.url}/rpc`
  const protocolVersion = version === '1.0' ? '1.0' : '0.3'
  return {
    name: 'peer',
    description: 'a scripted agent',
    version: '1',
    capabilities: { streaming, pushNotifications: true, extensions: [], extendedAgentCard: extended },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [],
    ...(version === '0.3'
      ? { protocolVersion: '0.3.0', url, preferredTransport: binding, supportsAuthenticatedExtendedCard: extended }
      : {
          supportedInterfaces: [
            ...(binding === 'JSONRPC' && version === '1.0'
              ? [{ url: `${peer.url}/custom`, protocolBinding: 'CUSTOM', tenant: '', protocolVersion }]
              : []),
            { url, protocolBinding: binding, tenant: '', protocolVersion },
          ],
          securitySchemes: {},
          securityRequirements: [],
          signatures: [],
        }),
  }
}

interface Turn {
  readonly task: string
  readonly context: string
  readonly text: string
  readonly known: boolean
}

/** Executes the script, with events built by `words`. */
class Performer<Event> {
  readonly #peer: Peer
  readonly #options: PeerOptions
  readonly #words: Words<Event>
  readonly #turns = new Map<string, number>()

  constructor(peer: Peer, options: PeerOptions, words: Words<Event>) {
    this.#peer = peer
    this.#options = options
    this.#words = words
  }

  async perform(turn: Turn, publish: (event: Event) => void): Promise<void> {
    this.#peer.messages.push({ text: turn.text, task: turn.known ? turn.task : undefined })
    const count = (this.#turns.get(turn.task) ?? 0) + 1
    this.#turns.set(turn.task, count)
    const steps = this.#options.script(turn.text, count)
    if (steps[0] !== undefined && !('message' in steps[0])) publish(this.#words.task(turn))
    for (const step of steps) {
      // Let the store catch up: the official one writes what its stream has read.
      await new Promise((resolve) => setTimeout(resolve, 5))
      if ('fails' in step) throw new Error(step.fails)
      if ('until' in step) await step.until
      else publish(this.#words.step(step, turn))
    }
  }

  cancel(task: string, publish: (event: Event) => void): void {
    this.#peer.cancelled.push(task)
    publish(this.#words.step({ status: 'canceled' }, { task, context: 'c', text: '', known: true }))
  }
}

interface Words<Event> {
  task(turn: Turn): Event
  step(step: Exclude<PeerStep, { until: unknown } | { fails: unknown }>, turn: Turn): Event
}

async function serveNewer(app: ExpressApp, calls: grpc.Server, peer: Peer, options: PeerOptions): Promise<void> {
  const performer = new Performer(peer, options, newerWords)
  const executor: newer.AgentExecutor = {
    async execute({ userMessage, taskId, contextId, task }, bus) {
      const [content] = userMessage.parts.map((part) => part.content)
      const text = typeof content?.value === 'string' ? content.value : JSON.stringify(content?.value)
      const turn = { task: taskId, context: contextId, text, known: task !== undefined }
      await performer.perform(turn, (event) => {
        // A later turn starts with the current task.
        const first = event.kind === 'task' && task !== undefined
        bus.publish(first ? newer.AgentEvent.task(task) : event)
      })
      bus.finished()
    },
    async cancelTask(taskId, bus) {
      performer.cancel(taskId, (event) => bus.publish(event))
      bus.finished()
    },
  }
  const card = cardOf(peer, options)
  const store = new SlowTaskStore(options.slowStoreMs ?? 0)
  const none = undefined
  const extended = () => Promise.resolve(extendedCard(card))
  const handler = new newer.DefaultRequestHandler(card as never, store, executor, none, none, none, extended)
  const userBuilder = newerExpress.UserBuilder.noAuthentication
  const legacyCompat = { enabled: options.version !== '1.0' }
  const served = { requestHandler: handler, userBuilder, legacyCompat }
  app.use('/.well-known/agent-card.json', newerExpress.agentCardHandler({ agentCardProvider: handler, legacyCompat }))
  app.use(
    '/rpc',
    options.binding === 'HTTP+JSON' ? newerExpress.restHandler(served) : newerExpress.jsonRpcHandler(served),
  )
  if (options.binding !== 'GRPC') return
  const spoken = { requestHandler: handler, userBuilder }
  if (options.version === '1.0') {
    const { A2AService, grpcService } = await import('@a2a-js/sdk/server/grpc')
    return calls.addService(A2AService, grpcService(spoken))
  }
  const { LegacyA2AService, legacyGrpcService } = await import('@a2a-js/sdk/compat/v0_3/server/grpc')
  calls.addService(LegacyA2AService, legacyGrpcService(spoken))
}

function extendedCard(card: object): never {
  return { ...card, name: 'peer, extended' } as never
}

class SlowTaskStore extends newer.InMemoryTaskStore {
  readonly #milliseconds: number

  constructor(milliseconds: number) {
    super()
    this.#milliseconds = milliseconds
  }

  override async save(...args: Parameters<newer.InMemoryTaskStore['save']>): Promise<void> {
    if (this.#milliseconds > 0) await new Promise((resolve) => setTimeout(resolve, this.#milliseconds))
    return super.save(...args)
  }
}

const part = (content: { $case: 'text'; value: string } | { $case: 'data'; value: object }) => ({
  content,
  metadata: undefined,
  filename: '',
  mediaType: '',
})

const newerMessage = (text: string, { task, context }: Turn) => ({
  messageId: crypto.randomUUID(),
  contextId: context,
  taskId: task,
  role: Role.ROLE_AGENT,
  parts: [part({ $case: 'text', value: text })],
  metadata: undefined,
  extensions: [],
  referenceTaskIds: [],
})

const newerStatus = (state: PeerState, text: string | undefined, turn: Turn) => ({
  state: TaskState[`TASK_STATE_${state.replace('-', '_').toUpperCase()}` as keyof typeof TaskState],
  message: text === undefined ? undefined : newerMessage(text, turn),
  timestamp: new Date().toISOString(),
})

const newerWords: Words<newer.AgentExecutionEvent> = {
  task: (turn) =>
    newer.AgentEvent.task({
      id: turn.task,
      contextId: turn.context,
      status: newerStatus('submitted', undefined, turn),
      artifacts: [],
      history: [],
      metadata: undefined,
    }),
  step(step, turn) {
    const ids = { taskId: turn.task, contextId: turn.context, metadata: undefined }
    if ('message' in step) return newer.AgentEvent.message(newerMessage(step.message, { ...turn, task: '' }))
    if ('status' in step)
      return newer.AgentEvent.statusUpdate({ ...ids, status: newerStatus(step.status, step.text, turn) })
    const isText = 'artifact' in step
    const content = isText ? part({ $case: 'text', value: step.artifact }) : part({ $case: 'data', value: step.value })
    return newer.AgentEvent.artifactUpdate({
      ...ids,
      artifact: {
        artifactId: isText ? 'answer' : 'facts',
        name: '',
        description: '',
        parts: [content],
        metadata: undefined,
        extensions: [],
      },
      append: isText && step.append === true,
      lastChunk: isText && step.last === true,
    })
  },
}

async function serveOlder(app: ExpressApp, calls: grpc.Server, peer: Peer, options: PeerOptions): Promise<void> {
  const performer = new Performer(peer, options, olderWords)
  const executor: older.AgentExecutor = {
    async execute({ userMessage, taskId, contextId, task }, bus) {
      const [first] = userMessage.parts
      const text = first?.kind === 'text' ? first.text : JSON.stringify(first?.kind === 'data' ? first.data : null)
      const turn = { task: taskId, context: contextId, text, known: task !== undefined }
      await performer.perform(turn, (event) => {
        if (event.kind !== 'task' || task === undefined) bus.publish(event)
      })
      bus.finished()
    },
    async cancelTask(taskId, bus) {
      performer.cancel(taskId, (event) => bus.publish(event))
      bus.finished()
    },
  }
  const card = cardOf(peer, options)
  const none = undefined
  const handler = new older.DefaultRequestHandler(
    card as never,
    new older.InMemoryTaskStore(),
    executor,
    none,
    none,
    none,
    () => Promise.resolve(extendedCard(card)),
  )
  const userBuilder = olderExpress.UserBuilder.noAuthentication
  app.use('/.well-known/agent-card.json', olderExpress.agentCardHandler({ agentCardProvider: handler }))
  const served = { requestHandler: handler, userBuilder }
  app.use(
    '/rpc',
    options.binding === 'HTTP+JSON' ? olderExpress.restHandler(served) : olderExpress.jsonRpcHandler(served),
  )
  if (options.binding !== 'GRPC') return
  const { A2AService, grpcService, UserBuilder } = await import('a2a-sdk-v03/server/grpc')
  calls.addService(A2AService, grpcService({ requestHandler: handler, userBuilder: UserBuilder.noAuthentication }))
}

const FINAL: readonly PeerState[] = ['completed', 'failed', 'canceled', 'rejected', 'input-required']

const olderMessage = (text: string, { task, context }: Turn) => ({
  kind: 'message' as const,
  messageId: crypto.randomUUID(),
  role: 'agent' as const,
  parts: [{ kind: 'text' as const, text }],
  ...(task !== '' && { taskId: task }),
  contextId: context,
})

const olderStatus = (state: PeerState, text: string | undefined, turn: Turn) => ({
  state,
  timestamp: new Date().toISOString(),
  ...(text !== undefined && { message: olderMessage(text, turn) }),
})

const olderWords: Words<older.AgentExecutionEvent> = {
  task: (turn) => ({
    kind: 'task',
    id: turn.task,
    contextId: turn.context,
    status: olderStatus('submitted', undefined, turn),
    artifacts: [],
    history: [],
  }),
  step(step, turn) {
    const ids = { taskId: turn.task, contextId: turn.context }
    if ('message' in step) return olderMessage(step.message, { ...turn, task: '' })
    if ('status' in step)
      return {
        kind: 'status-update',
        ...ids,
        status: olderStatus(step.status, step.text, turn),
        final: FINAL.includes(step.status),
      }
    const isText = 'artifact' in step
    return {
      kind: 'artifact-update',
      ...ids,
      artifact: {
        artifactId: isText ? 'answer' : 'facts',
        parts: [isText ? { kind: 'text', text: step.artifact } : { kind: 'data', data: { ...step.value } }],
      },
      append: isText && step.append === true,
      lastChunk: isText && step.last === true,
    }
  },
}
