/** Maps errors to gRPC statuses with details. */
import type * as Grpc from '@grpc/grpc-js'
import type { Codecs } from '../../../a2a/grpc/packages.ts'
import type { HoldfastError } from '../../../core/model/errors.ts'
import { retrySeconds } from '../../../http/response/respond.ts'
import { describeError, type A2aErrorTable } from '../wire/errors.ts'

const DETAILS = 'grpc-status-details-bin'

export function toStatus(
  { Metadata, status: codes }: typeof Grpc,
  error: HoldfastError,
  table: A2aErrorTable,
  codecs: Codecs,
): Grpc.StatusObject {
  const { grpc, message, details } = describeError(error, table)
  const code = codes[grpc]
  const metadata = new Metadata()
  const packed = details.map((detail) => {
    const { '@type': typeUrl, ...value } = detail as { readonly '@type': string }
    const name = typeUrl.slice(typeUrl.lastIndexOf('/') + 1)
    return { typeUrl, value: codecs[name]!.serialize(value) }
  })
  metadata.set(DETAILS, codecs['google.rpc.Status']!.serialize({ code, message, details: packed }))
  if (error.retryAfterMs !== undefined) metadata.set('retry-after', String(retrySeconds(error.retryAfterMs)))
  return { code, details: message, metadata }
}
