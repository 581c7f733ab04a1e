/** The JSON-RPC binding: one endpoint for the methods of 1.0 and 0.3, whose names are disjoint. */
import { type HoldfastError, isHoldfastError } from '../../../core/model/errors.ts'
import type { Logger } from '../../../core/ports/logger.ts'
import type { Service } from '../../../core/service.ts'
import { readJson } from '../../../http/request/body.ts'
import { toClientError } from '../../../http/response/client-error.ts'
import { discardRest } from '../../../http/request/discard.ts'
import { logFailure } from '../../../http/response/log-failure.ts'
import { respondJson, respondText, setRetryAfter } from '../../../http/response/respond.ts'
import type { Call } from '../../../http/routing/route.ts'
import type { Streams } from '../../../http/response/stream.ts'
import type { Agent } from '../requests/agents.ts'
import { a2aError, INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR, rpcError, toRpcError } from '../wire/errors.ts'
import { isLegacyMethod, isLegacyStream, legacyMethods } from '../legacy/methods.ts'
import { fromStream, type LegacyResult } from '../legacy/result.ts'
import { isMethod, methods, type MethodResult } from '../requests/methods.ts'
import type { A2aOptions } from '../wire/options.ts'
import { callerOf, versionOf } from '../requests/request.ts'
import { serveTask, type StreamEncoding } from './streams.ts'
import { requireCurrent } from '../requests/version.ts'

type RpcId = string | number | null

export interface Binding {
  readonly service: Service
  readonly streams: Streams
  readonly options: A2aOptions
  readonly logger: Logger
}

export async function serveRpc(call: Call, agent: Agent, binding: Binding): Promise<void> {
  let id: RpcId = null
  try {
    const body = await readRpc(call, binding.service.limits.maxBodyBytes)
    id = idOf(body)
    const { method, params } = checkEnvelope(body)
    await dispatch(call, agent, binding, { id, method, params })
  } catch (cause) {
    if (call.response.headersSent) throw cause
    await discardRest(call.request, call.response)
    respondJson(call.response, 200, refusalOf(call, binding, id, cause))
  }
}

interface RpcRequest {
  readonly id: RpcId
  readonly method: string
  readonly params: unknown
}

async function dispatch(call: Call, agent: Agent, binding: Binding, { id, method, params }: RpcRequest): Promise<void> {
  const version = versionOf(call)
  if (isLegacyMethod(method)) {
    const caller = callerOf(call, '0.3', agent.operations.about, binding.options)
    try {
      return await respond(call, binding, id, caller, await legacyMethods[method](agent, caller, params), legacyForm)
    } catch (cause) {
      if (!isLegacyStream(method) || call.response.headersSent) throw cause
      return refuseStream(call, refusalOf(call, binding, id, cause))
    }
  }
  if (!isMethod(method)) throw rpcError(METHOD_NOT_FOUND, `unknown method ${JSON.stringify(method.slice(0, 100))}`)
  requireCurrent(version, `the method ${method}`)
  const caller = callerOf(call, '1.0', agent.operations.about, binding.options)
  await respond(call, binding, id, caller, await methods[method](agent, caller, params), currentForm)
}

function refusalOf(call: Call, binding: Binding, id: RpcId, cause: unknown): object {
  const error = toHoldfastError(cause, binding)
  setRetryAfter(call.response, error)
  return { jsonrpc: '2.0', id, error: toRpcError(error, tableOf(binding)) }
}

/** Clients of 0.3 expect an event stream from these methods even for errors. */
function refuseStream(call: Call, error: object): void {
  respondText(call.response, 200, 'text/event-stream', `data: ${JSON.stringify(error)}\n\n`)
}

const legacyForm: Pick<StreamEncoding, 'key' | 'event'> = { key: 'rpc 0.3', event: fromStream }
const currentForm: Pick<StreamEncoding, 'key' | 'event'> = { key: '1.0', event: (response) => response }

async function respond(
  call: Call,
  binding: Binding,
  id: RpcId,
  caller: ReturnType<typeof callerOf>,
  result: MethodResult | LegacyResult,
  encoding: Pick<StreamEncoding, 'key' | 'event'>,
): Promise<void> {
  if (!('stream' in result)) return respondJson(call.response, 200, { jsonrpc: '2.0', id, result: result.result })
  await serveTask(call, binding.service, binding.streams, caller, result.stream, {
    ...encoding,
    envelope: { before: `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`, after: '}' },
    error: (error) => ({ jsonrpc: '2.0', id, error: toRpcError(error, tableOf(binding)) }),
  })
}

async function readRpc(call: Call, maxBytes: number): Promise<unknown> {
  const type = call.request.headers['content-type'] ?? ''
  if (type !== '' && !/^application\/([\w.+-]+\+)?json\s*(;|$)/i.test(type))
    throw a2aError('CONTENT_TYPE_NOT_SUPPORTED', 'send application/json')
  try {
    return await readJson(call.request, maxBytes)
  } catch (cause) {
    if (isHoldfastError(cause, 'invalid_request')) throw rpcError(PARSE_ERROR, cause.message)
    throw cause
  }
}

function idOf(body: unknown): RpcId {
  const { id } = (body ?? {}) as { id?: unknown }
  return isId(id) ? id : null
}

/** Limited because every event of a stream repeats the id. */
const ID_CHARS_MAX = 1000

function isId(id: unknown): id is string | number {
  return typeof id === 'number' || (typeof id === 'string' && id.length <= ID_CHARS_MAX)
}

function checkEnvelope(body: unknown): { readonly method: string; readonly params: unknown } {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw rpcError(
      INVALID_REQUEST,
      Array.isArray(body) ? 'batches are not supported: send one request' : 'the body is not a JSON-RPC request',
    )
  const { jsonrpc, method, params, id } = body as Readonly<Record<string, unknown>>
  if (jsonrpc !== '2.0') throw rpcError(INVALID_REQUEST, 'jsonrpc is not "2.0"')
  if (typeof method !== 'string') throw rpcError(INVALID_REQUEST, 'method is not a string')
  if (id !== undefined && id !== null && !isId(id))
    throw rpcError(INVALID_REQUEST, `id is neither a number nor a string of at most ${ID_CHARS_MAX} characters`)
  return { method, params }
}

/** Unexpected errors are bugs in Holdfast; their cause only goes to the log. */
export function toHoldfastError(cause: unknown, { logger }: Binding): HoldfastError {
  const errorId = crypto.randomUUID()
  const error = toClientError(cause, errorId)
  logFailure(logger, error, { errorId, protocol: 'a2a' })
  return error
}

function tableOf({ options }: Binding): '1.0.0' | '1.0.1' {
  return options.errorTable ?? '1.0.1'
}
