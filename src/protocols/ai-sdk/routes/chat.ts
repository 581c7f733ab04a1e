/** `POST {api}`, and `stream`, `messages` and `stop` below `{api}/{chat}`. */
import { readJson } from '../../../http/body.ts'
import { encodeHeader } from '../../../http/header-text.ts'
import { readIdempotencyKey } from '../../../http/idempotency-key.ts'
import { respondEmpty, respondJson } from '../../../http/respond.ts'
import type { Call, Route } from '../../../http/route.ts'
import { stopWhenGone } from '../../../http/stop-when-gone.ts'
import type { Streams } from '../../../http/stream.ts'
import { type Chats, isUnfinished, type ToolParts } from '../requests/chats.ts'
import { historyOf } from '../requests/history.ts'
import { invalid } from '../requests/messages.ts'
import { send } from '../requests/send.ts'
import { parseMessageId, parseStreamId } from '../../../ai-sdk/ids.ts'
import { chatFormat, type ChatStream } from '../wire/stream.ts'

/** Loaded lazily, because zod loads more slowly than the server starts. */
const loadShapes = (): Promise<typeof import('../requests/shapes.ts')> => import('../requests/shapes.ts')

export function chatRoutes(chats: Chats, streams: Streams): Route[] {
  const path = '/ai/{component}/chat'
  return [
    { method: 'POST', path, handle: (call) => sendMessage(call, chats, streams) },
    { method: 'GET', path: `${path}/{chat}/stream`, handle: (call) => resumeStream(call, chats, streams) },
    { method: 'GET', path: `${path}/{chat}/messages`, handle: (call) => listMessages(call, chats) },
    { method: 'POST', path: `${path}/{chat}/stop`, handle: (call) => stop(call, chats) },
  ]
}

async function sendMessage(call: Call, chats: Chats, streams: Streams): Promise<void> {
  const { service } = chats
  const component = chats.component(componentIn(call))
  const { parseBody, chatBody } = await loadShapes()
  const body = parseBody(chatBody, await readJson(call.request, service.limits.bodyBytesMax, { anyType: true }))
  const { stream, session } = await send(chats, {
    principal: call.principal,
    component,
    body,
    tools: toolsIn(call.query),
    idempotencyKey: readIdempotencyKey(call.request.headers['idempotency-key'], service.limits.nameCharsMax),
  })
  if (component.onDisconnect === 'stop') stopWhenGone(call, service, stream.leg.run)
  call.response.setHeader('holdfast-session', encodeHeader(session))
  await follow(call, chats, streams, stream)
}

async function resumeStream(call: Call, chats: Chats, streams: Streams): Promise<void> {
  const component = chats.component(componentIn(call))
  const id = call.params['chat']!
  const named = parseStreamId(id)
  const stored =
    named === undefined
      ? await chats.current(call.principal, component, id)
      : await chats.run(call.principal, component, named.run)
  if (stored === undefined) return respondEmpty(call.response, 204)
  const startIndex = readStartIndex(call.query)
  // A run's own id means its current message, as long as nobody counts chunks.
  const leg = named === undefined || (named.leg === 0 && startIndex <= 0) ? {} : { leg: named.leg }
  const stream = await chats.stream(stored, { ...leg, startIndex, tools: toolsIn(call.query) })
  await follow(call, chats, streams, stream)
}

async function follow(call: Call, { service }: Chats, streams: Streams, stream: ChatStream): Promise<void> {
  const format = chatFormat(stream)
  await streams.serve(call.response, format, (sink) =>
    service.subscribe(call.principal, stream.leg.run, format.after, sink),
  )
}

async function listMessages(call: Call, chats: Chats): Promise<void> {
  const component = chats.component(componentIn(call))
  const wanted = { session: call.params['chat']!, tools: toolsIn(call.query) }
  respondJson(call.response, 200, await historyOf(chats, call.principal, component, wanted))
}

/** Stops what the chat is doing. A stop that names another run than those changes nothing. */
async function stop(call: Call, chats: Chats): Promise<void> {
  const { principal } = call
  const component = chats.component(componentIn(call))
  const { parseBody, stopBody } = await loadShapes()
  const body = await readJson(call.request, chats.service.limits.bodyBytesMax, { anyType: true })
  const { activeStreamId } = parseBody(stopBody, body)
  const id = call.params['chat']!
  const named = parseStreamId(id)
  const runs =
    named === undefined
      ? await chats.unfinished(principal, component, id)
      : [await chats.run(principal, component, named.run)].filter(isUnfinished)
  const wanted =
    activeStreamId === undefined ? undefined : (parseStreamId(activeStreamId) ?? parseMessageId(activeStreamId))
  for (const { run } of runs)
    if (activeStreamId === undefined || wanted?.run === run.id)
      await chats.service.stop(principal, run.id, 'the user stopped it')
  respondJson(call.response, 200, { success: true })
}

/** Its path has no parameter if the protocol was moved to such a path. */
function componentIn({ params, query }: Call): string | undefined {
  return params['component'] ?? query.get('component') ?? undefined
}

function readStartIndex(query: URLSearchParams): number {
  const text = query.get('startIndex') ?? '0'
  if (/^-?\d{1,15}$/.test(text)) return Number(text)
  throw invalid('startIndex must be the number of a chunk, or a negative number of chunks before the end')
}

/** `?tools=static` in the address of the API, which the client also uses to resume. */
function toolsIn(query: URLSearchParams): ToolParts {
  const tools = query.get('tools') ?? 'dynamic'
  if (tools === 'static' || tools === 'dynamic') return tools
  throw invalid('tools must be static or dynamic')
}
