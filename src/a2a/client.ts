/** An agent that speaks A2A, from the side of whoever uses it. */
import { Backoff } from '../client/backoff.ts'
import { ApiError, ClientError } from '../client/errors.ts'
import { isTransient } from '../client/transport.ts'
import { type Binding, callBinding, type OperationName, type Operations, type PushConfigKey } from './binding.ts'
import { cardUrl, fetchCard, hasExtension, type Interface, selectInterface } from './card.ts'
import { Exchange, type HeaderSource, NoResponseError } from './exchange.ts'
import { type FollowOptions, TaskFollower, type FollowStart } from './follow.ts'
import { HttpBinding } from './http-binding.ts'
import { jsonRpcEncoding } from './jsonrpc.ts'
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
  Version,
} from './types.ts'

export interface A2aClientOptions {
  /** Sent to the origin of the agent's address and to `origins`, and to no other that a card may name. */
  readonly headers?: HeaderSource
  readonly origins?: readonly string[]
  /** What may be taken of a card's offers, of which the first is used; gRPC only where nothing else is offered, unless it is named. */
  readonly bindings?: readonly BindingName[]
  readonly versions?: readonly Version[]
  /** Extensions to be activated, beside that by which streams are resumed. */
  readonly extensions?: readonly string[]
  /** Failures in a row before it gives up; progress resets the count. Default: 8. */
  readonly retries?: number
  /** Delay before the first retry; it grows from there. Default: 250. */
  readonly retryDelayMs?: number
  /** Silence after which a stream is opened anew. Official servers send no heartbeat, so this is no failure. Default: 45,000. */
  readonly idleTimeoutMs?: number
  /** How often a task is read that cannot be streamed. Default: 2,000. */
  readonly pollIntervalMs?: number
  /** How long a request may take. Default: 30,000; ten minutes for a `send` that waits. */
  readonly requestTimeoutMs?: number
  /**
   * Whether a message is sent again when it is not known that the agent took it: only where it certainly did not, or always, which is
   * right for agents that know a message by its id. Default: `unheard`.
   */
  readonly resend?: 'unheard' | 'always'
  readonly fetch?: typeof fetch
}

export interface CallSettings {
  readonly signal?: AbortSignal
}

export interface SendSettings extends CallSettings, Omit<SendConfiguration, 'returnImmediately'> {
  readonly metadata?: Metadata
}

export interface FollowSettings extends CallSettings {
  /** The status that was answered: to see it again is no end. */
  readonly answered?: TaskStatus
  /** It ends also where the task waits for a credential, which the task may be given from elsewhere. */
  readonly endsAtAuth?: boolean
}

export interface StreamSettings extends SendSettings, FollowSettings {}

export interface SubscribeSettings extends FollowSettings {
  /** The position of the last event that is known already, of an agent that gives positions. */
  readonly after?: string
}

/** A text, or a message without what can be made up. */
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

export class A2aClient {
  readonly card: AgentCard
  /** The one of the agent's interfaces that is used. */
  readonly interface: Interface
  readonly #binding: Binding
  readonly #settings: Settings

  constructor(card: AgentCard, spoken: Interface, binding: Binding, settings: Settings) {
    this.card = card
    this.interface = spoken
    this.#binding = binding
    this.#settings = settings
  }

  /** `url` is that of the agent, whose card is found below it, or of the card itself. */
  static async connect(url: string, options: A2aClientOptions & CallSettings = {}): Promise<A2aClient> {
    const settings = { ...defaults, ...options }
    const at = cardUrl(url)
    const exchange = exchangeOf(at, settings)
    const card = await retried(settings, options.signal, isTransient, () =>
      fetchCard(exchange, at, { ...options, timeoutMs: settings.requestTimeoutMs }),
    )
    return A2aClient.of(card, at, options)
  }

  /** For an agent whose card is known already; `url` is where it came from, whose origin is trusted with the headers. */
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

  /** Waits for the answer, or, with `wait: false`, only until there is a task. */
  send(message: OutgoingMessage, settings: SendSettings & { readonly wait?: boolean } = {}): Promise<SendResult> {
    const { wait = true, signal, ...rest } = settings
    const request = requestOf(message, rest, !wait)
    const timeoutMs = wait ? Math.max(BLOCKING_MS, this.#settings.requestTimeoutMs) : this.#settings.requestTimeoutMs
    return this.#call('SendMessage', request, { signal, timeoutMs, mayRepeat: (cause) => this.#mayResend(cause) })
  }

  /** What comes of a message, told once and in order, whatever becomes of the connections. */
  stream(message: OutgoingMessage, { signal, answered, endsAtAuth, ...rest }: StreamSettings = {}): TaskStream {
    // Where the agent does not stream, the task is asked for: nobody shall wait for the whole of it first.
    return this.#follow({ request: requestOf(message, rest, true), answered, endsAtAuth }, signal)
  }

  /** The same for a task that is there: first the task as it is, then what becomes of it. */
  subscribe(task: string, { signal, ...rest }: SubscribeSettings = {}): TaskStream {
    return this.#follow({ task, ...rest }, signal)
  }

  get(id: string, { signal, ...rest }: CallSettings & { readonly historyLength?: number } = {}): Promise<Task> {
    return this.#call('GetTask', { id, ...rest }, { signal })
  }

  list({ signal, ...request }: CallSettings & ListRequest = {}): Promise<TaskPage> {
    return this.#call('ListTasks', request, { signal })
  }

  cancel(id: string, { signal, ...rest }: CallSettings & { readonly metadata?: Metadata } = {}): Promise<Task> {
    return this.#call('CancelTask', { id, ...rest }, { signal })
  }

  createPushConfig(taskId: string, config: PushConfigRequest, { signal }: CallSettings = {}): Promise<PushConfig> {
    const mayRepeat = (cause: ClientError): boolean =>
      wasUnheard(cause) || (config.id !== undefined && isTransient(cause))
    return this.#call('CreateTaskPushNotificationConfig', { ...config, taskId }, { signal, mayRepeat })
  }

  getPushConfig(key: PushConfigKey, { signal }: CallSettings = {}): Promise<PushConfig> {
    return this.#call('GetTaskPushNotificationConfig', key, { signal })
  }

  listPushConfigs(taskId: string, { signal }: CallSettings = {}): Promise<readonly PushConfig[]> {
    return this.#call('ListTaskPushNotificationConfigs', { taskId }, { signal })
  }

  deletePushConfig(key: PushConfigKey, { signal }: CallSettings = {}): Promise<undefined> {
    return this.#call('DeleteTaskPushNotificationConfig', key, { signal })
  }

  /** The card for callers that are known. */
  extendedCard({ signal }: CallSettings = {}): Promise<AgentCard> {
    return this.#call('GetExtendedAgentCard', {}, { signal })
  }

  /** Ends connections that are kept open between calls, which gRPC has. */
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
    return wasUnheard(cause) || (this.#settings.resend === 'always' && isTransient(cause))
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
  // Called as a plain function: a browser's fetch refuses to be a method of anything else.
  return new Exchange({ headers, trusted, fetch: given ?? ((input, init) => globalThis.fetch(input, init)) })
}

async function openBinding(exchange: Exchange, spoken: Interface, extensions: readonly string[]): Promise<Binding> {
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

/** Nobody took it. */
function wasUnheard(cause: ClientError): boolean {
  return (
    cause instanceof NoResponseError || (cause instanceof ApiError && (cause.status === 429 || cause.status === 503))
  )
}

function requestOf(
  message: OutgoingMessage,
  { metadata, ...configuration }: Omit<SendSettings, 'signal'>,
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
