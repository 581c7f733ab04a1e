/** `POST /v1/responses`. */
import type { Component } from '../../../core/ports/component.ts'
import { HoldfastError } from '../../../core/model/errors.ts'
import type { Service } from '../../../core/service.ts'
import { readJson } from '../../../http/body.ts'
import { stopWhenGone } from '../../../http/stop-when-gone.ts'
import { respondError, respondJson } from '../../../http/respond.ts'
import type { Call } from '../../../http/route.ts'
import type { Streams } from '../../../http/stream.ts'
import { foldRun } from '../../../http/view.ts'
import { refusal, toVerdictResponse, waitingVerdict } from '../wire/errors.ts'
import type { Part } from '../wire/ids.ts'
import { inputFor } from '../../../core/model/conversation.ts'
import { textInput } from '../../../http/text-input.ts'
import { disconnectPolicy, findComponent, header, SESSION_HEADER } from '../requests/request.ts'
import { type RunOrigin, assertUntrimmed, headersOf, startPart, type StartOptions } from '../requests/start.ts'
import { addedMessages, sessionNamed } from '../conversations/stored.ts'
import { resultsIn, toConversation } from './items.ts'
import { toResponse } from './object.ts'
import { responseProjection } from './projection.ts'
import type { ResponseBody } from './shapes.ts'
import { isEnded } from './state.ts'
import { findResponse, itemLookup } from './stored.ts'
import { followResponse } from './stream.ts'

export async function createResponse(call: Call, service: Service, streams: Streams): Promise<void> {
  const [{ parseBody }, { responseBody }] = await Promise.all([import('../wire/shapes.ts'), import('./shapes.ts')])
  const given = await readJson(call.request, service.limits.maxBodyBytes)
  const body = parseBody(responseBody, given)
  const component = findComponent(service, body.model)
  const isBackground = body.background === true
  if (isBackground && body.store === false)
    throw refusal('background requires store: otherwise the response could not be retrieved', { param: 'store' })
  const kept = isBackground || body.store !== false
  const policy = disconnectPolicy(call, component, { kept, maxChars: service.limits.maxNameChars })
  const wishes = (): Promise<StartOptions> => wishesFor(call, service, component, body, given)
  const { part, created } = await startPart(call, service, resultsIn(body.input), wishes)
  const stored = await service.get(call.principal, part.run)
  assertUntrimmed(stored)
  const { run, next } = stored
  const headers = headersOf(run, created)
  if (policy === 'stop' && (body.stream === true || !isBackground)) stopWhenGone(call, service, part.run)
  if (body.stream === true) return followResponse(call, service, streams, { part, run, headers })
  if (isBackground) {
    const state = await foldRun(service, call.principal, part.run, responseProjection(part.number))
    return respondJson(call.response, 200, toResponse(state), headers)
  }
  await respondWhole(call, service, part, next, headers)
}

async function wishesFor(
  call: Call,
  service: Service,
  component: Component,
  body: ResponseBody,
  given: unknown,
): Promise<StartOptions> {
  const session = await sessionOf(call, service, body)
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
    about: aboutFor(body),
  }
}

async function sessionOf(call: Call, service: Service, body: ResponseBody): Promise<string | undefined> {
  const { previous_response_id: previous, conversation } = body
  if (previous !== undefined && conversation !== undefined)
    throw refusal('send either previous_response_id or conversation, not both', { param: 'conversation' })
  if (previous !== undefined) {
    const { stored } = await findResponse(service, call.principal, previous, () => previousMissing(previous))
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

function aboutFor(body: ResponseBody): Omit<RunOrigin, 'digest' | 'key'> {
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
  if (isEnded(state) && state.verdict === undefined) return respondJson(call.response, 200, toResponse(state), headers)
  const verdict = state.verdict ?? waitingVerdict(part.run, state.waiting)
  respondError(call.response, toVerdictResponse(verdict, headers))
}
