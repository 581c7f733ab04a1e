/** Client for agents that speak A2A. */
import { Backoff } from '../client/backoff.ts'
import { ClientError } from '../client/errors.ts'
import { isTransient } from '../client/transport.ts'
import { type Binding, callBinding, type OperationName, type Operations, type PushConfigKey } from './binding.ts'
import { cardUrl, fetchCard, hasExtension, type A2aInterface, selectInterface } from './card.ts'
import type { HeaderSource } from '../client/header-source.ts'
import { Exchange } from './exchange.ts'
import { type FollowOptions, TaskFollower, type FollowStart } from './follow.ts'
import { HttpBinding } from './http-binding.ts'
import { jsonRpcEncoding } from './jsonrpc.ts'
import { wasNotReceived } from './not-received.ts'
import { restEncoding } from './rest.ts'
import { RESUME_EXTENSION } from './resume.ts'
import { TaskStream } from './task-stream.ts'
import type {
  AgentCard,
  BindingName,
  ListRequest,
  Message,
  Metadata,
  Part,
  PushConfig,
  PushConfigRequest,
  SendConfiguration,
  SendRequest,
  SendResult,
  Task,
  TaskPage,
  TaskStatus,
  A2aVersion,
} from './types.ts'

/** Options of `A2aClient.connect`. */
export interface A2aClientOptions {
  /** Sent only to the origin of the agent's URL and to `origins`, not to other origins in the card. Default: none. */
  readonly headers?: HeaderSource
  /** Further origins that get `headers`. Default: none. */
  readonly origins?: readonly string[]
  /** Bindings that may be chosen from the card; its first match is used. Default: all; gRPC only if nothing else is offered. */
  readonly bindings?: readonly BindingName[]
  /** Versions that may be chosen from the card. Default: all. */
  readonly versions?: readonly A2aVersion[]
  /** Extensions to activate, besides the one for resuming streams. Default: none. */
  readonly extensions?: readonly string[]
  /** Consecutive failures before it gives up; progress resets the count. Default: 8. */
  readonly retries?: number
  /** Delay before the first retry; doubles each time. Default: 250. */
  readonly retryDelayMs?: number
  /**
   * Reconnects a stream that is silent for this long. Not a failure, because official servers send no heartbeats.
   * Default: 45,000.
   */
  readonly idleTimeoutMs?: number
  /** Poll interval for a task that cannot be streamed. Default: 2,000. */
  readonly pollIntervalMs?: number
  /** Request timeout. Default: 30,000; ten minutes for a `send` that waits. */
  readonly requestTimeoutMs?: number
  /**
   * When to send a message again. `if-not-received`: only if the agent certainly did not receive it. `always`: safe for agents that
   * deduplicate by message id. Default: `if-not-received`.
   */
  readonly resend?: 'if-not-received' | 'always'
  /** Default: the global `fetch`. */
  readonly fetch?: typeof fetch
}

/** Options of every request. */
export interface A2aCallOptions {
  /** Aborts the wait, not the task. Default: none. */
  readonly signal?: AbortSignal
}

/** Options of `send`. */
export interface A2aSendOptions extends A2aCallOptions, Omit<SendConfiguration, 'returnImmediately'> {
  /** Metadata of the request. Default: none. */
  readonly metadata?: Metadata
}

/** When a stream of a task ends. */
export interface A2aFollowOptions extends A2aCallOptions {
  /** The status that was answered: seeing it again does not end the stream. Default: none. */
  readonly answered?: TaskStatus
  /** Also ends when the task waits for credentials, which it may get from elsewhere. Default: false. */
  readonly endsAtAuth?: boolean
}

/** Options of `stream`. */
export interface A2aStreamOptions extends A2aSendOptions, A2aFollowOptions {}

/** Options of `subscribe`. */
export interface A2aSubscribeOptions extends A2aFollowOptions {
  /** Position of the last known event, if the agent supports positions. Default: none. */
  readonly after?: string
}

/** A string, or a message whose ids may be omitted. */
export type OutgoingMessage = string | (Partial<Message> & { readonly parts: readonly Part[] })

const defaults = {
  retries: 8,
  retryDelayMs: 250,
  idleTimeoutMs: 45_000,
  pollIntervalMs: 2000,
  requestTimeoutMs: 30_000,
}

/** A blocking send is silent until the task is done. */
const BLOCKING_MS = 600_000

type Settings = A2aClientOptions & typeof defaults

/**
 * Client for an agent that speaks A2A 1.0 or 0.3. Streams continue after disconnects.
 *
 * @example
 * ```ts
 * const agent = await A2aClient.connect('https://agents.example/weather')
 * for await (const update of agent.stream('Will it rain?')) console.log(update)
 * ```
 */
export class A2aClient {
  readonly card: AgentCard
  /** The selected interface of the agent. */
  readonly interface: A2aInterface
  readonly #binding: Binding
  readonly #settings: Settings

  private constructor(card: AgentCard, spoken: A2aInterface, binding: Binding, settings: Settings) {
    this.card = card
    this.interface = spoken
    this.#binding = binding
    this.#settings = settings
  }

  /** `url`: of the agent, whose card is found below it, or of the card itself. */
  static async connect(url: string, options: A2aClientOptions & A2aCallOptions = {}): Promise<A2aClient> {
    const settings = { ...defaults, ...options }
    const at = cardUrl(url)
    const exchange = exchangeOf(at, settings)
    const card = await retried(settings, options.signal, isTransient, () =>
      fetchCard(exchange, at, { ...options, timeoutMs: settings.requestTimeoutMs }),
    )
    return A2aClient.of(card, at, options)
  }

  /** For an agent whose card is known. `url`: where the card came from; its origin is trusted with the headers. */
  static async of(card: AgentCard, url: string, options: A2aClientOptions = {}): Promise<A2aClient> {
    const settings = { ...defaults, ...options }
    const spoken = selectInterface(card, url, options)
    const extensions = [
      ...(options.extensions ?? []),
      ...(hasExtension(card, RESUME_EXTENSION) ? [RESUME_EXTENSION] : []),
    ]
    const exchange = exchangeOf(url, settings)
    const binding = await openBinding(exchange, spoken, extensions)
    return new A2aClient(card, spoken, binding, settings)
  }

  get streaming(): boolean {
    return this.card.capabilities?.streaming === true
  }

  /** Waits for the result or, with `wait: false`, only until there is a task. */
  send(message: OutgoingMessage, settings: A2aSendOptions & { readonly wait?: boolean } = {}): Promise<SendResult> {
    const { wait = true, signal, ...rest } = settings
    const request = requestOf(message, rest, !wait)
    const timeoutMs = wait ? Math.max(BLOCKING_MS, this.#settings.requestTimeoutMs) : this.#settings.requestTimeoutMs
    return this.#call('SendMessage', request, { signal, timeoutMs, mayRepeat: (cause) => this.#mayResend(cause) })
  }

  /** Updates that follow from a message, each once and in order, across reconnects. */
  stream(message: OutgoingMessage, { signal, answered, endsAtAuth, ...rest }: A2aStreamOptions = {}): TaskStream {
    // If the agent does not stream, the send returns immediately and the task is polled.
    return this.#follow({ request: requestOf(message, rest, true), answered, endsAtAuth }, signal)
  }

  /** Like `stream`, for an existing task: first its current state, then updates. */
  subscribe(task: string, { signal, ...rest }: A2aSubscribeOptions = {}): TaskStream {
    return this.#follow({ task, ...rest }, signal)
  }

  get(id: string, { signal, ...rest }: A2aCallOptions & { readonly historyLength?: number } = {}): Promise<Task> {
    return this.#call('GetTask', { id, ...rest }, { signal })
  }

  list({ signal, ...request }: A2aCallOptions & ListRequest = {}): Promise<TaskPage> {
    return this.#call('ListTasks', request, { signal })
  }

  cancel(id: string, { signal, ...rest }: A2aCallOptions & { readonly metadata?: Metadata } = {}): Promise<Task> {
    return this.#call('CancelTask', { id, ...rest }, { signal })
  }

  createPushConfig(taskId: string, config: PushConfigRequest, { signal }: A2aCallOptions = {}): Promise<PushConfig> {
    const mayRepeat = (cause: ClientError): boolean =>
      wasNotReceived(cause) || (config.id !== undefined && isTransient(cause))
    return this.#call('CreateTaskPushNotificationConfig', { ...config, taskId }, { signal, mayRepeat })
  }

  getPushConfig(key: PushConfigKey, { signal }: A2aCallOptions = {}): Promise<PushConfig> {
    return this.#call('GetTaskPushNotificationConfig', key, { signal })
  }

  listPushConfigs(taskId: string, { signal }: A2aCallOptions = {}): Promise<readonly PushConfig[]> {
    return this.#call('ListTaskPushNotificationConfigs', { taskId }, { signal })
  }

  deletePushConfig(key: PushConfigKey, { signal }: A2aCallOptions = {}): Promise<undefined> {
    return this.#call('DeleteTaskPushNotificationConfig', key, { signal })
  }

  /** The card for authenticated callers. */
  extendedCard({ signal }: A2aCallOptions = {}): Promise<AgentCard> {
    return this.#call('GetExtendedAgentCard', {}, { signal })
  }

  /** Closes connections that gRPC keeps open between calls. */
  close(): void {
    this.#binding.close()
  }

  #follow(opening: FollowStart, signal: AbortSignal | undefined): TaskStream {
    const { retries, retryDelayMs, idleTimeoutMs, pollIntervalMs, resend } = this.#settings
    const options: FollowOptions = {
      binding: this.#binding,
      newBackoff: () => new Backoff(retries, retryDelayMs),
      retries,
      idleTimeoutMs,
      pollIntervalMs,
      streaming: this.streaming,
      resumable: hasExtension(this.card, RESUME_EXTENSION),
      resends: resend === 'always',
      signal,
    }
    return new TaskStream(new TaskFollower(opening, options))
  }

  #mayResend(cause: ClientError): boolean {
    return wasNotReceived(cause) || (this.#settings.resend === 'always' && isTransient(cause))
  }

  #call<Name extends OperationName>(
    name: Name,
    params: Operations[Name]['params'],
    about: {
      readonly signal?: AbortSignal | undefined
      readonly timeoutMs?: number
      readonly mayRepeat?: (cause: ClientError) => boolean
    },
  ): Promise<Operations[Name]['result']> {
    const { signal, timeoutMs = this.#settings.requestTimeoutMs, mayRepeat = isTransient } = about
    return retried(this.#settings, signal, mayRepeat, () =>
      callBinding(this.#binding, name, params, { signal, timeoutMs }),
    )
  }
}

function exchangeOf(url: string, { headers = {}, origins = [], fetch: given }: Settings): Exchange {
  const trusted = new Set([url, ...origins].map((each) => new URL(each).origin))
  // Called as a plain function: a browser's fetch must not be called as a method of another object.
  return new Exchange({ headers, trusted, fetch: given ?? ((input, init) => globalThis.fetch(input, init)) })
}

async function openBinding(exchange: Exchange, spoken: A2aInterface, extensions: readonly string[]): Promise<Binding> {
  switch (spoken.binding) {
    case 'JSONRPC':
      return new HttpBinding(exchange, spoken, extensions, jsonRpcEncoding(spoken))
    case 'HTTP+JSON':
      return new HttpBinding(exchange, spoken, extensions, restEncoding(spoken))
    case 'GRPC':
      return (await import('./grpc/binding.ts')).openGrpcBinding(exchange, spoken, extensions)
  }
}

async function retried<Result>(
  { retries, retryDelayMs }: Settings,
  signal: AbortSignal | undefined,
  mayRepeat: (cause: ClientError) => boolean,
  work: () => Promise<Result>,
): Promise<Result> {
  const backoff = new Backoff(retries, retryDelayMs)
  for (;;) {
    try {
      return await work()
    } catch (cause) {
      if (!(cause instanceof ClientError) || !mayRepeat(cause)) throw cause
      await backoff.pause(cause, signal)
    }
  }
}

function requestOf(
  message: OutgoingMessage,
  { metadata, ...configuration }: Omit<A2aSendOptions, 'signal'>,
  returnImmediately: boolean,
): SendRequest {
  const given: Partial<Message> & { readonly parts: readonly Part[] } =
    typeof message === 'string' ? { parts: [{ text: message }] } : message
  return {
    message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', ...given },
    configuration: { ...configuration, ...(returnImmediately && { returnImmediately }) },
    ...(metadata !== undefined && { metadata }),
  }
}
