/** A plain gRPC client of the A2A service that sends and returns raw messages. */
import * as grpc from '@grpc/grpc-js'
import { onTestFinished } from 'vitest'
import { type Codecs, loadGrpc } from '../../../src/a2a/grpc/packages.ts'
import { current, legacy } from '../../../src/a2a/grpc/schema.ts'

export type Fields = Record<string, unknown>

export interface Reply extends Fields {
  readonly task?: Shown
  readonly statusUpdate?: { readonly status: { readonly state: string }; readonly final?: boolean }
  readonly artifactUpdate?: { readonly artifact: { readonly parts: readonly { readonly text?: string }[] } }
}

export interface Shown extends Fields {
  readonly id: string
  readonly status: { readonly state: string }
}

const { define } = await loadGrpc()

export class Peer {
  readonly codecs: Codecs
  readonly #client: grpc.Client
  readonly #methods: Record<string, grpc.MethodDefinition<object, Reply>>

  constructor(address: string, version: '1.0' | '0.3' = '1.0') {
    const { service, codecs } = define(version === '1.0' ? current : legacy)
    this.codecs = codecs
    this.#methods = service
    this.#client = new grpc.Client(address, grpc.credentials.createInsecure())
    onTestFinished(() => this.#client.close())
  }

  call(name: string, request: object, headers: Record<string, string> = {}): Promise<Reply> {
    const { path, requestSerialize, responseDeserialize } = this.#methods[name]!
    return new Promise((resolve, reject) => {
      const options = metadata(headers)
      this.#client.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, options, (error, reply) =>
        error === null ? resolve(reply!) : reject(error),
      )
    })
  }

  /** What goes over the wire. */
  request(name: string, request: object): { readonly path: string; readonly bytes: Buffer } {
    const { path, requestSerialize } = this.#methods[name]!
    return { path, bytes: requestSerialize(request) }
  }

  stream(name: string, request: object, headers: Record<string, string> = {}): grpc.ClientReadableStream<Reply> {
    const { path, requestSerialize, responseDeserialize } = this.#methods[name]!
    return this.#client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, request, metadata(headers))
  }
}

function metadata(headers: Record<string, string>): grpc.Metadata {
  const given = new grpc.Metadata()
  for (const [name, value] of Object.entries(headers)) given.set(name, value)
  return given
}

export async function all(stream: grpc.ClientReadableStream<Reply>): Promise<Reply[]> {
  const replies: Reply[] = []
  for await (const reply of stream) replies.push(reply as Reply)
  return replies
}
