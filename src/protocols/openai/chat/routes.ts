/** `POST /v1/chat/completions`. */
import type { Service } from '../../../core/service.ts'
import { readJson } from '../../../http/request/body.ts'
import { stopWhenGone } from '../../../http/response/stop-when-gone.ts'
import { respondError, respondJson } from '../../../http/response/respond.ts'
import type { Call, Route } from '../../../http/routing/route.ts'
import type { Streams } from '../../../http/response/stream.ts'
import { foldRun } from '../../../http/response/view.ts'
import { sessionNamed } from '../conversations/stored.ts'
import { toEndErrorResponse, unsupported, waitingError } from '../wire/errors.ts'
import type { Part } from '../wire/ids.ts'
import { inputFor } from '../../../core/schema/conversation.ts'
import { textInput } from '../../../http/request/text-input.ts'
import { disconnectPolicy, findComponent, header, SESSION_HEADER, wantsProgress } from '../requests/request.ts'
import { assertUntrimmed, followRun, headersOf, startPart, type StartOptions } from '../requests/start.ts'
import { encodeData, noticeOf, streamHead } from '../wire/stream.ts'
import { resultsIn, toConversation } from './messages.ts'
import { completionKind, type CompletionFrame, completionProjection, toCompletion } from './projection.ts'
import type { CompletionBody } from './shapes.ts'

export function completionRoutes(service: Service, streams: Streams): Route[] {
  return [{ method: 'POST', path: '/v1/chat/completions', handle: (call) => complete(call, service, streams) }]
}

async function complete(call: Call, service: Service, streams: Streams): Promise<void> {
  const [{ parseBody }, { completionBody }] = await Promise.all([import('../wire/shapes.ts'), import('./shapes.ts')])
  const given = await readJson(call.request, service.limits.maxBodyBytes)
  const body = parseBody(completionBody, given)
  if ((body.n ?? 1) !== 1) throw unsupported('n must be 1: a run has one answer', 'n')
  const component = findComponent(service, body.model)
  const { maxNameChars: maxChars } = service.limits
  const policy = disconnectPolicy(call, component, { kept: body.store === true, maxChars })
  const wishes = (): Promise<StartOptions> => wishesFor(call, service, body, given)
  const { part, created } = await startPart(call, service, resultsIn(body.messages), wishes)
  if (policy === 'stop') stopWhenGone(call, service, part.run)
  const stored = await service.get(call.principal, part.run)
  assertUntrimmed(stored)
  const { run, next } = stored
  const headers = headersOf(run, created)
  if (body.stream !== true) return completeAtOnce(call, service, part, next, headers)
  const kind = completionKind({
    part: part.number,
    includeUsage: body.stream_options?.include_usage === true,
    progress: wantsProgress(call, maxChars),
  })
  await followRun(call, service, streams, run, { kind, frameFormat: completionFrameFormat, headers })
}

async function wishesFor(call: Call, service: Service, body: CompletionBody, given: unknown): Promise<StartOptions> {
  const component = findComponent(service, body.model)
  const conversation = header(call, SESSION_HEADER, service.limits.maxNameChars)
  return {
    component,
    input: async () =>
      component.upstream?.protocol === 'openai'
        ? forwarded(given)
        : textInput(component, await inputFor(component, toConversation(body, conversation !== undefined))),
    body: given,
    session: await sessionNamed(service, call.principal, conversation),
    metadata: body.metadata ?? {},
    about: {
      api: 'chat',
      ...(body.user !== undefined && { user: body.user }),
      ...(body.store !== undefined && { store: body.store }),
    },
  }
}

/** The whole request, for an upstream that speaks the same protocol. Delivery options are handled by this server. */
function forwarded(given: unknown): object {
  const { model: _model, stream: _stream, stream_options: _options, ...chat } = given as Record<string, unknown>
  return { chat }
}

async function completeAtOnce(
  call: Call,
  service: Service,
  part: Part,
  next: number,
  headers: Readonly<Record<string, string>>,
): Promise<void> {
  const projection = completionProjection({ part: part.number, whole: true })
  const state = await foldRun(service, call.principal, part.run, projection, {
    // Questions before the end of the log have been answered.
    until: ({ end, waiting }, { index }) => end !== undefined || (waiting.length > 0 && index >= next - 1),
    wait: call.signal,
  })
  const { end } = state
  if (end !== undefined && !('endError' in end))
    return respondJson(call.response, 200, toCompletion(state, end), headers)
  const endError = end?.endError ?? waitingError(part.run, state.waiting)
  respondError(call.response, toEndErrorResponse(endError, headers))
}

export const completionFrameFormat = {
  ...streamHead,
  key: 'sse',
  encode: (frame: CompletionFrame) => encodeData(frame.json ?? frame.data, frame.event),
  notice: (notice: Parameters<typeof noticeOf>[0]) => noticeOf(notice, (error) => encodeData({ error })),
}
