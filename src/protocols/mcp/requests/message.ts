/** Parses one client message from its JSON-RPC body and HTTP headers. */
import { isObject } from '../../../core/model/is-object.ts'
import { isHoldfastError } from '../../../core/model/errors.ts'
import { readJson } from '../../../http/request/body.ts'
import type { HttpRequest } from '../../../http/exchange.ts'
import { INVALID_REQUEST, PARSE_ERROR, rpcError } from '../wire/errors.ts'
import { isRpcId, type RpcId } from '../wire/tokens.ts'

export type Params = Readonly<Record<string, unknown>>

export interface RpcRequest {
  readonly kind: 'request'
  readonly id: RpcId
  readonly method: string
  readonly params: Params
}

export type RpcMessage =
  | RpcRequest
  | { readonly kind: 'notification'; readonly method: string; readonly params: Params }
  | { readonly kind: 'response'; readonly id: unknown; readonly result: unknown }

export async function readMessage(request: HttpRequest, bytesMax: number): Promise<unknown> {
  try {
    return await readJson(request, bytesMax)
  } catch (cause) {
    if (isHoldfastError(cause, 'invalid_request')) throw rpcError(PARSE_ERROR, cause.message, { status: 400 })
    throw cause
  }
}

/** The id for error responses to invalid messages. */
export function idIn(body: unknown): RpcId | null {
  const { id } = (body ?? {}) as { id?: unknown }
  return isRpcId(id) ? id : null
}

export function toMessage(body: unknown): RpcMessage {
  if (Array.isArray(body)) throw invalid('batches are not supported: send one message')
  if (typeof body !== 'object' || body === null) throw invalid('the body is not a JSON-RPC message')
  const { jsonrpc, id, method, params = {}, result } = body as Params
  if (jsonrpc !== '2.0') throw invalid('jsonrpc is not "2.0"')
  if (method === undefined && id !== undefined) return { kind: 'response', id, result }
  if (typeof method !== 'string') throw invalid('method is not a string')
  if (!isObject(params)) throw invalid('params is not an object')
  if (id === undefined) return { kind: 'notification', method, params }
  if (!isRpcId(id)) throw invalid('id is neither a number nor a string of at most 256 characters')
  return { kind: 'request', id, method, params }
}

function invalid(message: string): Error {
  return rpcError(INVALID_REQUEST, message, { status: 400 })
}
