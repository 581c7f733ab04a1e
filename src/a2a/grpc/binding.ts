/** gRPC binding; its packages are optional. */
import type * as Grpc from '@grpc/grpc-js'
import { ClientError, ConnectionError } from '../../client/errors.ts'
import { Watchdog } from '../../client/watchdog.ts'
import type { Binding, CallOptions, Invocation, StreamInvocation, StreamOptions } from '../binding.ts'
import type { A2aInterface } from '../card.ts'
import { type Exchange, serviceHeaders } from '../exchange.ts'
import { noList } from '../legacy.ts'
import { Decoder } from '../decode.ts'
import type { TaskUpdate } from '../types.ts'
import { errorOf } from './errors.ts'
import { legacyRequest } from './legacy.ts'
import { type Codecs, GRPC_PACKAGES, type GrpcPackages, loadGrpc } from './packages.ts'
import { current, legacy, legacyNames, type ServiceText } from './schema.ts'
import { Converter } from './shape.ts'

const RESPONSE_BYTES_MAX = 16 * 1024 * 1024

/** Upper limit for gRPC's own reconnect delay: the task follower decides when to call again. */
const RECONNECT_MS_MAX = 1000

export async function openGrpcBinding(
  exchange: Exchange,
  spoken: A2aInterface,
  extensions: readonly string[],
): Promise<Binding> {
  const { grpc, define } = await loadPackages()
  const text = spoken.version === '1.0' ? current : legacy
  const { host, isSecure } = addressOf(spoken.url)
  const connect = (): Grpc.Client =>
    new grpc.Client(host, isSecure ? grpc.credentials.createSsl() : grpc.credentials.createInsecure(), {
      'grpc.max_receive_message_length': RESPONSE_BYTES_MAX,
      'grpc.initial_reconnect_backoff_ms': RECONNECT_MS_MAX / 10,
      'grpc.max_reconnect_backoff_ms': RECONNECT_MS_MAX,
      // Otherwise a new client would get the broken connection of the old one.
      'grpc.use_local_subchannel_pool': 1,
    })
  const headers = async (after?: string): Promise<Grpc.Metadata> => {
    const metadata = new grpc.Metadata()
    const own = await exchange.headersFor(`${isSecure ? 'https' : 'http'}://${host}`)
    const values = {
      ...own,
      ...serviceHeaders(spoken.version, extensions),
      ...(after !== undefined && { 'last-event-id': after }),
    }
    for (const [name, value] of Object.entries(values)) metadata.set(name, value)
    return metadata
  }
  const { service, codecs } = define(text)
  return new GrpcBinding({ connect, service, codecs, text, spoken, headers })
}

async function loadPackages(): Promise<GrpcPackages> {
  try {
    return await loadGrpc()
  } catch (cause) {
    const message = `gRPC needs the packages ${GRPC_PACKAGES} (npm install them)`
    throw new ClientError(message, { code: 'unsupported', retryable: false, cause })
  }
}

/** `host:port`, with or without a scheme. Default: TLS, except for loopback. */
function addressOf(url: string): { readonly host: string; readonly isSecure: boolean } {
  const [, scheme, host = ''] = /^(?:([a-z]+):\/\/)?([^/]+)/i.exec(url) ?? []
  if (scheme !== undefined) return { host, isSecure: scheme !== 'http' && scheme !== 'grpc' }
  return { host, isSecure: !/^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:|$)/.test(host) }
}

interface Parts {
  readonly connect: () => Grpc.Client
  readonly service: Grpc.ServiceDefinition
  readonly codecs: Codecs
  readonly text: ServiceText
  readonly spoken: A2aInterface
  readonly headers: (after?: string) => Promise<Grpc.Metadata>
}

interface PreparedCall {
  readonly method: Grpc.MethodDefinition<object, object>
  readonly request: object
  readonly response: string
}

class GrpcBinding implements Binding {
  readonly reader: Decoder
  readonly #parts: Parts
  readonly #converter: Converter
  #client: Grpc.Client

  constructor(parts: Parts) {
    this.#parts = parts
    this.#client = parts.connect()
    this.#converter = new Converter(parts.text)
    this.reader = new Decoder(parts.spoken.version === '1.0' ? '1.0' : 'proto')
  }

  async call(invocation: Invocation, { signal, timeoutMs }: CallOptions): Promise<unknown> {
    const { method, request, response } = this.#prepare(invocation)
    const { headers, codecs } = this.#parts
    const metadata = await headers()
    signal?.throwIfAborted()
    return new Promise((resolve, reject) => {
      const { path, requestSerialize, responseDeserialize } = method
      const options = { deadline: Date.now() + timeoutMs }
      const call = this.#client.makeUnaryRequest(
        path,
        requestSerialize,
        responseDeserialize,
        request,
        metadata,
        options,
        (error, reply) => {
          signal?.removeEventListener('abort', cancel)
          if (error === null) return resolve(this.#converter.decode(response, reply))
          reject(signal?.aborted === true ? (signal.reason as Error) : errorOf(error, invocation.name, codecs))
        },
      )
      const cancel = (): void => call.cancel()
      signal?.addEventListener('abort', cancel)
    })
  }

  async *stream(
    invocation: StreamInvocation,
    { signal, timeoutMs, after }: StreamOptions,
  ): AsyncGenerator<TaskUpdate, void, void> {
    const { method, request, response } = this.#prepare(invocation)
    const { headers, codecs, spoken } = this.#parts
    const metadata = await headers(after)
    const watchdog = new Watchdog(timeoutMs, signal)
    const { path, requestSerialize, responseDeserialize } = method
    const client = this.#client
    const call = client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, request, metadata)
    const cancel = (): void => call.cancel()
    watchdog.signal.addEventListener('abort', cancel)
    const events = call[Symbol.asyncIterator]() as AsyncIterator<object>
    try {
      for (;;) {
        const { done, value } = await watchdog.wait(events.next())
        if (done === true) return
        yield this.reader.update(this.#converter.decode(response, value))
      }
    } catch (cause) {
      signal?.throwIfAborted()
      if (watchdog.silent) {
        this.#leave(client)
        throw new ConnectionError(`no data from ${spoken.url} for too long`, { cause })
      }
      throw cause instanceof ClientError ? cause : errorOf(cause as Grpc.ServiceError, invocation.name, codecs)
    } finally {
      // A cancelled call emits an error; nobody listens any more.
      call.on('error', () => {})
      watchdog.close()
    }
  }

  close(): void {
    this.#client.close()
  }

  /** A silent connection may be dead, so new calls must not use it. Other open calls on it continue. */
  #leave(client: Grpc.Client): void {
    if (this.#client !== client) return
    this.#client = this.#parts.connect()
    client.close()
  }

  #prepare(invocation: Invocation | StreamInvocation): PreparedCall {
    const { text, service, spoken } = this.#parts
    const isLegacy = spoken.version === '0.3'
    if (isLegacy && invocation.name === 'ListTasks') throw noList()
    const name = isLegacy ? (legacyNames[invocation.name] ?? invocation.name) : invocation.name
    const params = isLegacy
      ? legacyRequest(invocation)
      : { ...invocation.params, ...(spoken.tenant !== undefined && { tenant: spoken.tenant }) }
    const [requestType, responseType] = text.methods[name]!
    const request = this.#converter.encode(requestType, params) as object
    const method = service[name] as PreparedCall['method']
    return { method, request, response: responseType.replace(/^stream /, '') }
  }
}
