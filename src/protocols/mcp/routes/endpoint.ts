/** The endpoint of the streamable HTTP transport. Stateless, so any node can serve any request. */
import { HoldfastError } from '../../../core/model/errors.ts'
import type { Service } from '../../../core/service.ts'
import { toClientError } from '../../../http/response/client-error.ts'
import { discardRest } from '../../../http/request/discard.ts'
import { logFailure } from '../../../http/response/log-failure.ts'
import { respondEmpty, respondJson, setRetryAfter } from '../../../http/response/respond.ts'
import type { Call, Route } from '../../../http/routing/route.ts'
import type { Streams } from '../../../http/response/stream.ts'
import { answerQuestions } from '../requests/answer.ts'
import { requestKey, resumedStream } from '../requests/calls.ts'
import { clientOf, type McpClient } from '../requests/client.ts'
import { idIn, readMessage, type RpcMessage, type RpcRequest, toMessage } from '../requests/message.ts'
import { methodOf, type ServerInfo } from '../requests/methods.ts'
import { statusOf, toRpcError } from '../wire/errors.ts'
import { callFormat, type CallStream, finalResult, pausedResult } from '../wire/stream.ts'
import { parseElicitationId } from '../wire/tokens.ts'

export interface Endpoint extends ServerInfo {
  readonly service: Service
  readonly streams: Streams
}

export function endpointRoutes(endpoint: Endpoint): Route[] {
  return [
    { method: 'POST', path: '/mcp', handle: (call) => receive(call, endpoint) },
    { method: 'GET', path: '/mcp', handle: (call) => resume(call, endpoint) },
  ]
}

async function receive(call: Call, endpoint: Endpoint): Promise<void> {
  const { response } = call
  let body: unknown
  let isRequest = true
  try {
    body = await readMessage(call.request, endpoint.service.limits.maxBodyBytes)
    const message = toMessage(body)
    const client = clientOf(call.request, message)
    if (message.kind === 'request') return await answer(call, endpoint, client, message)
    isRequest = false
    await note(call, endpoint, client, message)
    respondEmpty(response, 202)
  } catch (cause) {
    if (response.headersSent) throw cause
    const errorId = endpoint.ids.unique()
    const error = toClientError(cause, errorId)
    logFailure(call.logger, error, { protocol: 'mcp', errorId })
    setRetryAfter(response, error)
    await discardRest(call.request, response)
    // Messages without a JSON-RPC response are refused by HTTP status.
    const status = isRequest ? statusOf(error) : error.status
    const id = isRequest ? idIn(body) : null
    respondJson(response, status, { jsonrpc: '2.0', id, error: toRpcError(error) })
  }
}

async function answer(call: Call, endpoint: Endpoint, client: McpClient, request: RpcRequest): Promise<void> {
  const { service } = endpoint
  const { id, method, params } = request
  const reply = await methodOf(client.era, method)({ call, service, client, id }, params, endpoint)
  if ('result' in reply) return respondJson(call.response, 200, { jsonrpc: '2.0', id, result: reply.result })
  if (takesStreams(call)) return follow(call, endpoint, reply.stream)
  respondJson(call.response, 200, { jsonrpc: '2.0', id, result: await wholeResult(call, service, reply.stream) })
}

/** Handles notifications and responses, which get no response. */
async function note(
  { principal }: Call,
  { service }: Endpoint,
  { session }: McpClient,
  message: Exclude<RpcMessage, RpcRequest>,
): Promise<void> {
  const { cancelledParams, elicitationResponse, parseParams } = await import('../requests/shapes.ts')
  if (message.kind === 'response') {
    const asked = parseElicitationId(message.id)
    if (asked === undefined) return
    // An error is not an answer.
    const result = parseParams(elicitationResponse, message.result ?? { action: 'cancel' })
    await answerQuestions(service, principal, { ...asked, result })
    return
  }
  if (message.method !== 'notifications/cancelled' || session === undefined) return
  const { requestId, reason } = parseParams(cancelledParams, message.params)
  const stored = await service.findStarted(principal, requestKey(session, requestId))
  if (stored !== undefined) await service.stop(principal, stored.run.id, reason ?? 'cancelled by an MCP client')
}

/** Resumes the stream of a request after an event. There are no other streams to open. */
async function resume(call: Call, endpoint: Endpoint): Promise<void> {
  const { request, response } = call
  const eventId = request.headers['last-event-id']
  if (typeof eventId !== 'string') {
    response.setHeader('allow', 'POST')
    throw new HoldfastError('method_not_allowed', 'GET continues a stream: it needs a Last-Event-ID')
  }
  const stream = await resumedStream(call, endpoint.service, eventId)
  if (stream === undefined) return respondEmpty(response, 204)
  await follow(call, endpoint, stream)
}

async function follow(call: Call, { service, streams }: Endpoint, stream: CallStream): Promise<void> {
  const format = callFormat(stream)
  const { run } = stream.name
  await streams.serve(call.response, format, (sink) => service.subscribe(call.principal, run, format.first, sink))
}

function takesStreams({ request: { headers } }: Call): boolean {
  const accept = headers.accept ?? '*/*'
  return /text\/event-stream|text\/\*|\*\/\*/.test(accept)
}

/** For a client that accepts no stream: one response, when the run ends or asks. */
async function wholeResult(call: Call, service: Service, { view, name, leg, ...form }: CallStream): Promise<object> {
  const { principal, signal } = call
  for (;;) {
    const stored = await service.get(principal, name.run)
    const { state, index } = await view.current(stored.next)
    if (state.result !== undefined) return finalResult(form, state.result)
    if (state.waiting.length > 0 && state.leg >= leg)
      return pausedResult(form, view.run, { questions: state.waiting, leg: state.leg }, name.supportsElicitation)
    if (signal.aborted) throw new HoldfastError('unavailable', 'the client disconnected before the response was ready')
    if (service.isClosed) throw new HoldfastError('unavailable', 'the server is shutting down; the run continues')
    await service.waitForMore(principal, name.run, index, service.limits.longPollTimeoutMs, signal, {
      countsAsSubscriber: true,
    })
  }
}
