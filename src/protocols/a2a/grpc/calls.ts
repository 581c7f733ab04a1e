/** gRPC calls of A2A 1.0 and 0.3: maps decoded requests to operations, and results back. */
import type * as Grpc from '@grpc/grpc-js'
import type { Codecs, Definition } from '../../../a2a/grpc/packages.ts'
import type { ServiceText } from '../../../a2a/grpc/schema.ts'
import { FieldCounter } from '../../../a2a/grpc/count.ts'
import { Converter } from '../../../a2a/grpc/shape.ts'
import { isUntypedObject } from '../../../a2a/untyped-json.ts'
import { HoldfastError } from '../../../core/model/errors.ts'
import type { Logger } from '../../../core/ports/logger.ts'
import type { Service } from '../../../core/service.ts'
import { toClientError } from '../../../http/response/client-error.ts'
import { jsonBounds } from '../../../http/request/json.ts'
import { logFailure } from '../../../http/response/log-failure.ts'
import type { Agent, Agents } from '../requests/agents.ts'
import { activate, parseNames } from '../requests/extensions.ts'
import { protoStream } from '../legacy/proto.ts'
import { type MethodName, methods } from '../requests/methods.ts'
import type { OperationCaller, TaskStream } from '../requests/operations.ts'
import type { A2aOptions } from '../wire/options.ts'
import { protoResult } from '../routes/rest.ts'
import { parseVersion, requireVersion, type Version } from '../requests/version.ts'
import type { GrpcAdmission } from './admission.ts'
import { toStatus } from './errors.ts'
import { legacyMethod, legacyParams } from './legacy.ts'
import { updatesOf } from './updates.ts'

export interface CallParts {
  readonly grpc: typeof Grpc
  readonly service: Service
  readonly agents: Agents
  readonly admission: GrpcAdmission
  readonly options: A2aOptions
  readonly logger: Logger
  /** HTTP address of the server. */
  readonly url: () => string
}

/** Requests are decoded only after authentication. */
type Unary = Grpc.ServerUnaryCall<Buffer, object>
type StreamingCall = Grpc.ServerWritableStream<Buffer, object>

/** An authenticated call. */
interface CallRequest {
  readonly agent: Agent
  readonly caller: OperationCaller
  readonly params: unknown
}

/** Maximum nesting that the decoder supports. */
const DEPTH_MAX = 100

export class Calls {
  readonly #parts: CallParts
  readonly #text: ServiceText
  readonly #version: Version
  readonly #codecs: Codecs
  readonly #converter: Converter
  readonly #counter: FieldCounter

  constructor(parts: CallParts, text: ServiceText, version: Version, { codecs }: Definition) {
    this.#parts = parts
    this.#text = text
    this.#version = version
    this.#codecs = codecs
    this.#converter = new Converter(text)
    this.#counter = new FieldCounter(text, {
      maxFields: jsonBounds.maxNodes,
      maxEntries: jsonBounds.maxMembers,
      maxDepth: DEPTH_MAX,
    })
  }

  /** Handlers by method name. */
  handlers(): Grpc.UntypedServiceImplementation {
    return Object.fromEntries(
      Object.entries(this.#text.methods).map(([name, [request, response]]) => {
        const method = this.#version === '1.0' ? (name as MethodName) : legacyMethod(name)
        const type = response.replace(/^stream /, '')
        const unary = (call: Unary, done: Grpc.sendUnaryData<object>): void =>
          void this.#respond(call, done, method, request, type)
        const streaming = (call: StreamingCall): void => void this.#stream(call, method, request, type)
        return [name, type === response ? unary : streaming]
      }),
    )
  }

  async #respond(
    call: Unary,
    done: Grpc.sendUnaryData<object>,
    method: MethodName,
    request: string,
    response: string,
  ): Promise<void> {
    let reply: object
    try {
      const { agent, caller, params } = this.#requestOf(call, method, request)
      const result = await this.#result(agent, caller, method, params)
      const versioned = this.#version === '1.0' ? result : protoResult(method, result)
      reply = this.#converter.encode(response, versioned) ?? {}
    } catch (cause) {
      return done(this.statusOf(cause))
    }
    done(null, reply)
  }

  async #result(agent: Agent, caller: OperationCaller, method: MethodName, params: unknown): Promise<unknown> {
    // In 0.3 the same call returns the public card.
    if (method === 'GetExtendedAgentCard' && this.#version === '0.3' && !agent.hasExtendedCard)
      return agent.card(caller.url)
    const result = await methods[method](agent, caller, params)
    return 'result' in result ? result.result : undefined
  }

  async #stream(call: StreamingCall, method: MethodName, request: string, response: string): Promise<void> {
    try {
      const { agent, caller, params } = this.#requestOf(call, method, request)
      const result = await methods[method](agent, caller, params)
      if ('stream' in result) await this.#write(call, caller, result.stream, response)
      call.end()
    } catch (cause) {
      call.emit('error', this.statusOf(cause))
    }
  }

  async #write(call: StreamingCall, caller: OperationCaller, stream: TaskStream, response: string): Promise<void> {
    const { service, logger } = this.#parts
    for await (const update of updatesOf(service, caller, stream)) {
      const versioned = this.#version === '1.0' ? update : protoStream(update)
      const hasRoom = call.write(this.#converter.encode(response, versioned) as object)
      if (hasRoom || (await hasRoomAgain(call, caller.signal, service.limits.subscriberStallTimeoutMs))) continue
      logger.info({ run: stream.stored.run.id }, 'disconnected a gRPC client that stopped reading')
      throw new HoldfastError('unavailable', 'the client stopped reading; the task continues: subscribe again')
    }
  }

  #requestOf(call: Unary | StreamingCall, method: MethodName, request: string): CallRequest {
    const { admission, options, url, grpc } = this.#parts
    const principal = admission.principalOf(call.metadata)
    const metadataOf = (name: string): string | undefined => call.metadata.get(name).map(String).join(',') || undefined
    const version = metadataOf('a2a-version')
    // The called service also implies a version.
    if (version !== undefined) requireVersion(parseVersion(version), this.#version, 'this service')
    const decoded = this.#decode(request, call.request)
    const given = this.#version === '1.0' ? decoded : legacyParams(method, decoded)
    const { agent, tenant } = this.#agentOf(given)
    const extensions = activate(agent.operations.about, [
      ...parseNames(metadataOf('a2a-extensions')),
      ...parseNames(metadataOf('x-a2a-extensions')),
    ])
    const opening = new grpc.Metadata()
    if (extensions.size > 0)
      opening.set(this.#version === '1.0' ? 'a2a-extensions' : 'x-a2a-extensions', [...extensions].join(', '))
    call.sendMetadata(opening)
    const gone = new AbortController()
    call.once('cancelled', () => gone.abort())
    const caller: OperationCaller = {
      principal,
      tenant,
      version: this.#version,
      url: options.url?.replace(/\/+$/, '') ?? url(),
      extensions,
      signal: gone.signal,
      idempotencyKey: metadataOf('idempotency-key'),
      after: metadataOf('last-event-id'),
    }
    return { agent, caller, params: isUntypedObject(given) ? { ...given, tenant: '' } : given }
  }

  #decode(type: string, bytes: Buffer): unknown {
    const isWithin = this.#counter.isWithin(type, bytes)
    if (isWithin === undefined) throw new HoldfastError('invalid_request', `the message is not a ${type}`)
    if (!isWithin)
      throw new HoldfastError(
        'too_large',
        `the message has more than ${jsonBounds.maxNodes} fields, ${jsonBounds.maxMembers} entries in one map or ${DEPTH_MAX} levels`,
      )
    const codec = this.#codecs[type] ?? this.#codecs[`${this.#text.package}.${type}`]
    try {
      return this.#converter.decode(type, codec!.deserialize(bytes))
    } catch (cause) {
      throw new HoldfastError('invalid_request', `the message is not a ${type}`, { cause })
    }
  }

  /** `tenant` is `agent` or `agent/tenant`. Default: the default agent. */
  #agentOf(params: unknown): { readonly agent: Agent; readonly tenant: string } {
    const { agents } = this.#parts
    const { tenant: named = '' } = (isUntypedObject(params) ? params : {}) as { readonly tenant?: string }
    const [, id = named, tenant = ''] = /^([^/]*)\/(.*)$/s.exec(named) ?? []
    return agents.has(id) ? { agent: agents.get(id), tenant } : { agent: agents.default(), tenant: named }
  }

  statusOf(cause: unknown): Grpc.StatusObject {
    const { grpc, options, logger } = this.#parts
    const errorId = crypto.randomUUID()
    const error = toClientError(cause, errorId)
    logFailure(logger, error, { errorId, protocol: 'a2a grpc' })
    return toStatus(grpc, error, options.errorTable ?? '1.0.1', this.#codecs)
  }
}

/** Resolves to false on a stall timeout. Returns immediately if the call has ended. */
function hasRoomAgain(call: StreamingCall, signal: AbortSignal, stallMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const settle = (hasRoom: boolean): void => {
      clearTimeout(timer)
      call.off('drain', drained)
      signal.removeEventListener('abort', drained)
      resolve(hasRoom)
    }
    const drained = (): void => settle(true)
    const timer = setTimeout(settle, stallMs, false)
    call.on('drain', drained)
    signal.addEventListener('abort', drained)
    if (signal.aborted) drained()
  })
}
