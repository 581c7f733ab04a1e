/** gRPC: the same operations as calls of a service, with packages that only its users need. */
import type * as Grpc from '@grpc/grpc-js'
import { ClientError, ConnectionError } from '../../client/errors.ts'
import { Watchdog } from '../../client/watchdog.ts'
import type { Binding, CallOptions, Invocation, StreamInvocation, StreamOptions } from '../binding.ts'
import type { Interface } from '../card.ts'
import { type Exchange, serviceHeaders } from '../exchange.ts'
import { noList } from '../jsonrpc.ts'
import { Reader } from '../read.ts'
import type { Update } from '../types.ts'
import { errorOf, type StatusDecoder } from './errors.ts'
import { legacyRequest } from './legacy.ts'
import { current, legacy, type ServiceText } from './schema.ts'
import { Converter, toDescriptor } from './shape.ts'

/** A call of the service, and what it takes to make it. */
interface Method {
  readonly path: string
  readonly requestSerialize: (value: object) => Buffer
  readonly responseDeserialize: (bytes: Buffer) => object
}

const ANSWER_BYTES_MAX = 16 * 1024 * 1024

export async function openGrpcBinding(
  exchange: Exchange,
  spoken: Interface,
  extensions: readonly string[],
): Promise<Binding> {
  const [grpc, loader] = await loaded()
  const service = spoken.version === '1.0' ? current : legacy
  const definition = loader.fromJSON(toDescriptor(service), {
    keepCase: true,
    enums: String,
    longs: Number,
    bytes: String,
  })
  const { host, isSecure } = addressOf(spoken.url)
  const credentials = isSecure ? grpc.credentials.createSsl() : grpc.credentials.createInsecure()
  const client = new grpc.Client(host, credentials, { 'grpc.max_receive_message_length': ANSWER_BYTES_MAX })
  const methods = definition[`${service.package}.A2AService`] as unknown as Readonly<Record<string, Method>>
  const decoders = definition as unknown as Readonly<Record<string, StatusDecoder>>
  const headers = async (after?: string): Promise<Grpc.Metadata> => {
    const metadata = new grpc.Metadata()
    const own = await exchange.headersFor(`${isSecure ? 'https' : 'http'}://${host}`)
    const said = {
      ...own,
      ...serviceHeaders(spoken.version, extensions),
      ...(after !== undefined && { 'last-event-id': after }),
    }
    for (const [name, value] of Object.entries(said)) metadata.set(name, value)
    return metadata
  }
  return new GrpcBinding({ client, methods, service, spoken, headers, decoders })
}

async function loaded(): Promise<[typeof Grpc, typeof import('@grpc/proto-loader')]> {
  try {
    return await Promise.all([import('@grpc/grpc-js'), import('@grpc/proto-loader')])
  } catch (cause) {
    const message = 'gRPC needs the packages @grpc/grpc-js and @grpc/proto-loader (npm install them)'
    throw new ClientError(message, { code: 'unsupported', retryable: false, cause })
  }
}

/** `host:port`, with or without a scheme. Where none is said it is secure, but for this machine itself. */
function addressOf(url: string): { readonly host: string; readonly isSecure: boolean } {
  const [, scheme, host = ''] = /^(?:([a-z]+):\/\/)?([^/]+)/i.exec(url) ?? []
  if (scheme !== undefined) return { host, isSecure: scheme !== 'http' && scheme !== 'grpc' }
  return { host, isSecure: !/^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:|$)/.test(host) }
}

interface Parts {
  readonly client: Grpc.Client
  readonly methods: Readonly<Record<string, Method>>
  readonly service: ServiceText
  readonly spoken: Interface
  readonly headers: (after?: string) => Promise<Grpc.Metadata>
  readonly decoders: Readonly<Record<string, StatusDecoder>>
}

const legacyNames: Readonly<Record<string, string>> = {
  SubscribeToTask: 'TaskSubscription',
  ListTaskPushNotificationConfigs: 'ListTaskPushNotificationConfig',
  GetExtendedAgentCard: 'GetAgentCard',
}

class GrpcBinding implements Binding {
  readonly reader: Reader
  readonly #parts: Parts
  readonly #converter: Converter

  constructor(parts: Parts) {
    this.#parts = parts
    this.#converter = new Converter(parts.service)
    this.reader = new Reader(parts.spoken.version === '1.0' ? '1.0' : 'proto')
  }

  async call(invocation: Invocation, { signal, timeoutMs }: CallOptions): Promise<unknown> {
    const { method, request, response } = this.#prepare(invocation)
    const { client, headers, decoders } = this.#parts
    const metadata = await headers()
    signal?.throwIfAborted()
    return new Promise((resolve, reject) => {
      const { path, requestSerialize, responseDeserialize } = method
      const options = { deadline: Date.now() + timeoutMs }
      const call = client.makeUnaryRequest(
        path,
        requestSerialize,
        responseDeserialize,
        request,
        metadata,
        options,
        (error, answer) => {
          signal?.removeEventListener('abort', cancel)
          if (error === null) return resolve(this.#converter.decode(response, answer))
          reject(signal?.aborted === true ? (signal.reason as Error) : errorOf(error, invocation.name, decoders))
        },
      )
      const cancel = (): void => call.cancel()
      signal?.addEventListener('abort', cancel)
    })
  }

  async *stream(
    invocation: StreamInvocation,
    { signal, timeoutMs, after }: StreamOptions,
  ): AsyncGenerator<Update, void, void> {
    const { method, request, response } = this.#prepare(invocation)
    const { client, headers, decoders, spoken } = this.#parts
    const metadata = await headers(after)
    const watchdog = new Watchdog(timeoutMs, signal)
    const { path, requestSerialize, responseDeserialize } = method
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
      if (watchdog.silent) throw new ConnectionError(`nothing was heard of ${spoken.url} for too long`, { cause })
      throw cause instanceof ClientError ? cause : errorOf(cause as Grpc.ServiceError, invocation.name, decoders)
    } finally {
      // What is cancelled fails, and nobody is left to be told.
      call.on('error', () => {})
      watchdog.close()
    }
  }

  close(): void {
    this.#parts.client.close()
  }

  #prepare(invocation: Invocation | StreamInvocation): { method: Method; request: object; response: string } {
    const { service, methods, spoken } = this.#parts
    const isLegacy = spoken.version === '0.3'
    if (isLegacy && invocation.name === 'ListTasks') throw noList()
    const name = isLegacy ? (legacyNames[invocation.name] ?? invocation.name) : invocation.name
    const params = isLegacy
      ? legacyRequest(invocation)
      : { ...invocation.params, ...(spoken.tenant !== undefined && { tenant: spoken.tenant }) }
    const [requestType, responseType] = service.methods[name]!
    const request = this.#converter.encode(requestType, params) as object
    return { method: methods[name]!, request, response: responseType.replace(/^stream /, '') }
  }
}
