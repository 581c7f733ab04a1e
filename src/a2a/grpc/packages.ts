/** Loads the optional gRPC packages and builds codecs from the schema. */
import type * as Grpc from '@grpc/grpc-js'
import type { ServiceText } from './schema.ts'
import { toDescriptor } from './shape.ts'

/** Encodes and decodes messages by full name. */
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
  // The comments keep bundlers from resolving what may not be installed.
  const [grpc, loader] = await Promise.all([
    import(/* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */ '@grpc/grpc-js'),
    import(/* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */ '@grpc/proto-loader'),
  ])
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
