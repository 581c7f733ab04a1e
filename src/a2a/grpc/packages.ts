/** The packages of gRPC, which only its users need, and what they make of the schema. */
import type * as Grpc from '@grpc/grpc-js'
import type { ServiceText } from './schema.ts'
import { toDescriptor } from './shape.ts'

/** Messages to bytes and back, by their full names. */
export type Codecs = Readonly<
  Record<string, { serialize(value: object): Buffer; deserialize(bytes: Buffer): object } | undefined>
>

export interface Definition {
  readonly service: Grpc.ServiceDefinition
  readonly codecs: Codecs
}

export interface GrpcPackages {
  readonly grpc: typeof Grpc
  readonly define: (text: ServiceText) => Definition
}

export const GRPC_PACKAGES = '@grpc/grpc-js @grpc/proto-loader'

export async function loadGrpc(): Promise<GrpcPackages> {
  const [grpc, loader] = await Promise.all([import('@grpc/grpc-js'), import('@grpc/proto-loader')])
  const options = { keepCase: true, enums: String, longs: Number, bytes: String }
  return {
    grpc,
    define(text) {
      const definition = loader.fromJSON(toDescriptor(text), options)
      const service = definition[`${text.package}.A2AService`] as Grpc.ServiceDefinition
      return { service, codecs: definition as unknown as Codecs }
    },
  }
}
