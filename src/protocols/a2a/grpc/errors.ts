/** What went wrong, as a status of gRPC with its details. */
import type * as Grpc from '@grpc/grpc-js'
import type { HoldfastError } from '../../../core/errors.ts'
import { describeError, type ErrorTable } from '../errors.ts'

/** What the package knows of messages, by their full names. */
export type Encoders = Readonly<Record<string, { serialize(value: object): Buffer }>>

const DETAILS = 'grpc-status-details-bin'

export function toStatus(
  { Metadata, status: codes }: typeof Grpc,
  error: HoldfastError,
  table: ErrorTable,
  encoders: Encoders,
): Partial<Grpc.StatusObject> {
  const { grpc, message, details } = describeError(error, table)
  const code = codes[grpc]
  const metadata = new Metadata()
  const packed = details.map((detail) => {
    const { '@type': typeUrl, ...value } = detail as { readonly '@type': string }
    const name = typeUrl.slice(typeUrl.lastIndexOf('/') + 1)
    return { typeUrl, value: encoders[name]!.serialize(value) }
  })
  metadata.set(DETAILS, encoders['google.rpc.Status']!.serialize({ code, message, details: packed }))
  if (error.retryAfterMs !== undefined) metadata.set('retry-after', String(Math.ceil(error.retryAfterMs / 1000)))
  return { code, details: message, metadata }
}
