/** `POST /v1/responses`. */
import type { Component, DisconnectPolicy } from '../../../core/ports/component.ts'
import { HoldfastError } from '../../../core/model/errors.ts'
import type { Run } from '../../../core/model/run.ts'
import type { Service } from '../../../core/service.ts'
import { readJson } from '../../../http/request/body.ts'
import { noteDurability } from '../../../http/response/note-durability.ts'
import { stopWhenGone } from '../../../http/response/stop-when-gone.ts'
import { respondError, respondJson } from '../../../http/response/respond.ts'
import type { Call } from '../../../http/routing/route.ts'
import type { Streams } from '../../../http/response/stream.ts'
import { foldRun } from '../../../http/response/view.ts'
import { refusal, toEndErrorResponse, waitingError } from '../wire/errors.ts'
import type { Part } from '../wire/ids.ts'
import { inputFor } from '../../../core/schema/conversation.ts'
import { textInput } from '../../../http/request/text-input.ts'
import {
  disconnectPolicy,
  findComponent,
  header,
  type Requester,
  SESSION_HEADER,
  wantsFunctionCalls,
} from '../requests/request.ts'
import {
  type RequestOrigin,
  assertUntrimmed,
  headersOf,
  type StartedPart,
  startPart,
  type StartOptions,
} from '../requests/start.ts'
import { addedMessages, sessionNamed } from '../conversations/stored.ts'
import { resultsIn, toConversation } from './items.ts'
import { toResponse } from './object.ts'
import { responseProjection } from './projection.ts'
import type { ResponseBody } from './shapes.ts'
import { isEnded } from './state.ts'
import { findResponse, itemLookup, readResponse } from './stored.ts'
import { followResponse } from './stream.ts'

export async function createResponse(call: Call, service: Service, streams: Streams): Promise<void> {
  const given = await readJson(call.request, service.limits.maxBodyBytes)
  const { body, part, run, next, created, policy } = await beginResponse(call, service, given)
  const isBackground = body.background === true
  const headers = headersOf(run, created)
  if (isBackground) noteDurability(call.response, service)
  if (policy === 'stop' && (body.stream === true || !isBackground)) stopWhenGone(call, service, part.run)
  if (body.stream === true) return followResponse(call, service, streams, { part, run, headers })
  if (isBackground) {
    const state = await foldRun(service, call.principal, part.run, responseProjection(part.number))
    return respondJson(call.response, 200, toResponse(state), headers)
  }
  await respondWhole(call, service, part, next, headers)
}

export interface BegunResponse extends StartedPart {
  readonly body: ResponseBody
  readonly run: Run
  /** Number of log events at the start of the response. */
  readonly next: number
  /** Policy for the disconnection of the client. */
  readonly policy: DisconnectPolicy
}

/** Starts a run for a request, or answers a paused one. `isKept`: whether the caller's connection has a response with `store: false`. */
export async function beginResponse(
  call: Requester,
  service: Service,
  given: unknown,
  isKept?: (id: string) => boolean,
): Promise<BegunResponse> {
  const [{ parseBody }, { responseBody }] = await Promise.all([import('../wire/shapes.ts'), import('./shapes.ts')])
  const body = parseBody(responseBody, given)
  const component = findComponent(service, body.model)
  const isBackground = body.background === true
  if (isBackground && body.store === false)
    throw refusal('background requires store: otherwise the response could not be retrieved', { param: 'store' })
  const kept = isBackground || body.store !== false
  const policy = disconnectPolicy(call, component, { kept, maxChars: service.limits.maxNameChars })
  const wishes = (): Promise<StartOptions> => wishesFor(call, service, component, body, given, isKept)
  const started = await startPart(call, service, resultsIn(body.input), wishes)
  const stored = await service.get(call.principal, started.part.run)
  assertUntrimmed(stored)
  const { run, next } = stored
  return { ...started, body, run, next, policy }
}

async function wishesFor(
  call: Requester,
  service: Service,
  component: Component,
  body: ResponseBody,
  given: unknown,
  isKept?: (id: string) => boolean,
): Promise<StartOptions> {
  const session = await sessionOf(call, service, body, isKept)
  const forwarded = await forwardedBody(call, service, component, body, given, isKept)
  if (forwarded !== undefined) {
    const about = { ...aboutFor(body), forwarded: true as const }
    return { component, input: () => forwarded, body: given, session, metadata: body.metadata ?? {}, about }
  }
  if (body.previous_response_id !== undefined) refuseUnknownCalls(body.input)
  const { messages, caller } = await toConversation(body, itemLookup(service, call.principal))
  return {
    component,
    input: async (key) => {
      const added = session === undefined ? [] : await addedMessages(service, call.principal, session, key)
      const conversation = { messages: [...added, ...messages], caller, continues: session !== undefined }
      return textInput(component, await inputFor(component, conversation))
    },
    body: given,
    session,
    metadata: body.metadata ?? {},
    about: {
      ...aboutFor(body),
      ...(wantsFunctionCalls(call, service.limits.maxNameChars) && { tools: 'function_call' as const }),
    },
  }
}

/** The whole request, for an upstream that speaks the same protocol. The upstream does not know this server's conversations. */
async function forwardedBody(
  call: Requester,
  service: Service,
  component: Component,
  body: ResponseBody,
  given: unknown,
  isKept?: (id: string) => boolean,
): Promise<object | undefined> {
  const isOurs =
    body.conversation !== undefined || header(call, SESSION_HEADER, service.limits.maxNameChars) !== undefined
  if (component.upstream?.responses !== true || isOurs) return undefined
  const { model: _model, stream: _stream, background: _background, ...response } = given as Record<string, unknown>
  const { previous_response_id: previous } = body
  if (previous === undefined) return { response }
  const found = await findResponse(service, call.principal, previous, () => previousMissing(previous), isKept)
  const { relay } = await readResponse(service, call.principal, previous, found, true)
  if (relay?.id === undefined) return undefined
  return { response: { ...response, previous_response_id: relay.id } }
}

/** Rejects results of calls that are neither in the previous response nor in the request. */
function refuseUnknownCalls(input: ResponseBody['input']): void {
  const items = typeof input === 'object' ? input : []
  const known = new Set(
    items.flatMap((item) => ('call_id' in item && item.type === 'function_call' ? [item.call_id] : [])),
  )
  const unknown = resultsIn(input).find(({ callId }) => !known.has(callId))
  if (unknown === undefined) return
  const { callId } = unknown
  throw refusal(`No tool call found for function call output with call_id ${callId.slice(0, 200)}.`, { param: 'input' })
}

async function sessionOf(
  call: Requester,
  service: Service,
  body: ResponseBody,
  isKept?: (id: string) => boolean,
): Promise<string | undefined> {
  const { previous_response_id: previous, conversation } = body
  if (previous !== undefined && conversation !== undefined)
    throw refusal('send either previous_response_id or conversation, not both', { param: 'conversation' })
  if (previous !== undefined) {
    const { stored } = await findResponse(service, call.principal, previous, () => previousMissing(previous), isKept)
    return stored.run.session
  }
  const named = typeof conversation === 'object' ? conversation.id : conversation
  const id = named ?? header(call, SESSION_HEADER, service.limits.maxNameChars)
  return sessionNamed(service, call.principal, id)
}

function previousMissing(id: string): HoldfastError {
  return refusal(`Previous response with id '${id.slice(0, 200)}' not found.`, {
    param: 'previous_response_id',
    code: 'previous_response_not_found',
  })
}

/** Request fields echoed in the response. Long ones, such as tools, come from the component's input instead. */
const ECHOED = [
  'tool_choice',
  'parallel_tool_calls',
  'max_tool_calls',
  'max_output_tokens',
  'temperature',
  'top_p',
  'presence_penalty',
  'frequency_penalty',
  'top_logprobs',
  'truncation',
  'reasoning',
  'service_tier',
  'safety_identifier',
  'prompt_cache_key',
] as const

function aboutFor(body: ResponseBody): Omit<RequestOrigin, 'digest' | 'key'> {
  const echo: Record<string, unknown> = {}
  for (const key of ECHOED) if (body[key] !== undefined && body[key] !== null) echo[key] = body[key]
  const { schema: _schema, ...format } = body.text?.format ?? {}
  if (body.text !== undefined) echo['text'] = { ...body.text, ...(body.text.format !== undefined && { format }) }
  const { user, store, background, previous_response_id: previous, conversation } = body
  return {
    api: 'responses',
    ...(user !== undefined && { user }),
    ...(store !== undefined && { store }),
    ...(background !== undefined && { background }),
    ...(previous !== undefined && { previous }),
    ...(conversation !== undefined && { conversation: true as const }),
    ...(Object.keys(echo).length > 0 && { echo }),
  }
}

async function respondWhole(
  call: Call,
  service: Service,
  part: Part,
  next: number,
  headers: Readonly<Record<string, string>>,
): Promise<void> {
  const state = await foldRun(service, call.principal, part.run, responseProjection(part.number), {
    // Questions before the end of the log have been answered.
    until: (each, { index }) => isEnded(each) || (each.waiting.length > 0 && index >= next - 1),
    wait: call.signal,
  })
  if (isEnded(state) && state.endError === undefined) return respondJson(call.response, 200, toResponse(state), headers)
  const endError = state.endError ?? waitingError(part.run, state.waiting)
  respondError(call.response, toEndErrorResponse(endError, headers))
}
