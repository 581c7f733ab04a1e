/** Tool calls: a call starts a run, or answers the questions of a paused one. */
import { createHash } from 'node:crypto'
import { HoldfastError, isHoldfastError } from '../../../core/model/errors.ts'
import { isFinished } from '../../../core/model/run.ts'
import type { StoredRun } from '../../../core/ports/store.ts'
import type { Service } from '../../../core/service.ts'
import { findComponent } from '../../../http/request/find-component.ts'
import { readIdempotencyKey } from '../../../http/request/idempotency-key.ts'
import type { Call } from '../../../http/routing/route.ts'
import { stopWhenGone } from '../../../http/response/stop-when-gone.ts'
import { callKind } from '../view/projection.ts'
import { failure } from '../view/result.ts'
import { INVALID_PARAMS, rpcError } from '../wire/errors.ts'
import { type CallForm, type CallStream, finalResult } from '../wire/stream.ts'
import { fromToken, isRpcId, parseEventId, type RpcId } from '../wire/tokens.ts'
import { answerQuestions } from './answer.ts'
import type { McpClient } from './client.ts'
import { isObject } from '../../../core/model/is-object.ts'
import type { CallParams } from './shapes.ts'
import { legacyTask, modernTask, relatedTask } from './tasks.ts'
import { inputIn } from './tools.ts'

/** One request of a client. */
export interface Exchange {
  readonly call: Call
  readonly service: Service
  readonly client: McpClient
  readonly id: RpcId
}

export type Reply = { readonly result: object } | { readonly stream: CallStream }

export async function callTool(exchange: Exchange, params: CallParams): Promise<Reply> {
  if (params.requestState !== undefined) return continueCall(exchange, params)
  const { client, service, call } = exchange
  const asTask = client.takesTasks || (client.era === 'legacy' && params.task !== undefined)
  const started = await startRun(exchange, params, { follows: !asTask })
  if ('content' in started) return { result: finalResult(formOf(client), started) }
  const { stored, isNew } = started
  const { run } = stored
  if (asTask) {
    return client.era === 'modern'
      ? { result: { resultType: 'task', ...modernTask(run) } }
      : { result: { task: legacyTask(run), _meta: relatedTask(run.id) } }
  }
  if (findComponent(service, run.component).onDisconnect === 'stop') stopWhenGone(call, service, run.id)
  return { stream: await streamOf(exchange, stored, { isNew, progress: progressIn(params) }) }
}

type Started = { readonly stored: StoredRun; readonly isNew: boolean } | ReturnType<typeof failure>

/** Arguments that do not match the schema produce a result, so that the caller's model can correct them. */
async function startRun(
  exchange: Exchange,
  params: CallParams,
  { follows }: { readonly follows: boolean },
): Promise<Started> {
  const { call, service } = exchange
  const component = findComponent(service, params.name)
  const given = inputIn(component, params.arguments)
  if (given === undefined) return failure(undefined, 'arguments.input is missing', { code: 'invalid_request' })
  const { session, metadata } = readMeta(params)
  const key = startKey(exchange)
  try {
    const { stored, created } = await service.start(call.principal, {
      component: component.id,
      input: given.input,
      protocol: 'mcp',
      follows,
      ...(session !== undefined && { session }),
      ...(metadata !== undefined && { metadata }),
      ...(key !== undefined && { idempotencyKey: key }),
    })
    return { stored, isNew: created }
  } catch (cause) {
    if (!isHoldfastError(cause, 'invalid_request')) throw cause
    return failure(undefined, cause.message, { code: cause.code })
  }
}

function readMeta({ _meta: meta = {} }: CallParams): { readonly session?: string; readonly metadata?: Metadata } {
  const { 'holdfast/session': session, 'holdfast/metadata': metadata } = meta
  if (session !== undefined && typeof session !== 'string') throw wrong('_meta["holdfast/session"] is not a string')
  if (metadata !== undefined && !isObject(metadata)) throw wrong('_meta["holdfast/metadata"] is not an object')
  return { ...(session !== undefined && { session }), ...(metadata !== undefined && { metadata }) }
}

type Metadata = Readonly<Record<string, unknown>>

function wrong(message: string): HoldfastError {
  return rpcError(INVALID_PARAMS, message)
}

/** A repeated request is the same call. Request ids are unique within a session. */
function startKey({ call, service, client: { session }, id }: Exchange): string | undefined {
  const key = readIdempotencyKey(call.request.headers['idempotency-key'], service.limits.maxNameChars)
  return key ?? (session === undefined ? undefined : requestKey(session, id))
}

/** The idempotency key of a request, by which a cancellation finds its run. */
export function requestKey(session: string, id: RpcId): string {
  return `mcp:${createHash('sha256')
    .update(JSON.stringify([session, id]))
    .digest('hex')}`
}

function progressIn({ _meta: meta = {} }: CallParams): unknown {
  return meta['progressToken']
}

/** A client of 2026-07-28 sends its request again, with the answers. */
async function continueCall(exchange: Exchange, params: CallParams): Promise<Reply> {
  const { call, service } = exchange
  const [run, leg] = fromToken(params.requestState!) ?? []
  if (typeof run !== 'string' || typeof leg !== 'number') throw wrong('requestState is not one of this server')
  for (const [key, result] of Object.entries(params.inputResponses ?? {}).slice(0, 1))
    await answerQuestions(service, call.principal, { run, key, result })
  const stored = await service.get(call.principal, run)
  return { stream: await streamOf(exchange, stored, { isNew: false, progress: progressIn(params) }) }
}

export async function streamOf(
  { call, service, client, id }: Exchange,
  stored: StoredRun,
  { isNew, progress, meta }: { readonly isNew: boolean; readonly progress?: unknown; readonly meta?: CallForm['meta'] },
): Promise<CallStream> {
  const view = service.views.open(stored, callKind)
  const leg = isNew ? 0 : (await view.current(stored.next)).state.leg
  if (progress !== undefined && !isRpcId(progress)) throw wrong('_meta.progressToken is neither a string nor a number')
  const name = {
    run: stored.run.id,
    request: id,
    supportsElicitation: client.supportsElicitation,
    ...(isRpcId(progress) && { progress }),
  }
  call.response.setHeader('holdfast-run', stored.run.id)
  // Clients of earlier revisions do not expect an event without data.
  const sendsPrimingEvent = client.era === 'legacy' && client.version >= '2025-11-25'
  return { view, name, leg, sendsPrimingEvent, ...formOf(client), ...(meta !== undefined && { meta }) }
}

function formOf({ era }: McpClient): CallForm {
  return { era }
}

/** Resumes an interrupted stream. Undefined if the client has everything. */
export async function resumedStream(call: Call, service: Service, eventId: string): Promise<CallStream | undefined> {
  const { stream: name, after } = parseEventId(eventId)
  const stored = await service.get(call.principal, name.run)
  const view = service.views.open(stored, callKind)
  const { state } = await view.current(stored.next)
  if (after >= state.position)
    throw new HoldfastError('cursor_invalid', `Last-Event-ID: run ${name.run} has no event ${after} yet`)
  if (isFinished(stored.run.status) && after === state.position - 1) return undefined
  const from = view.nearest({ event: Infinity, frame: after + 1 })
  return { view, name, leg: state.leg, after, from, sendsPrimingEvent: false, era: 'legacy' }
}
