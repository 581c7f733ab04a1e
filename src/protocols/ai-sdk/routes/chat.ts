/** `POST {api}`, and `stream`, `messages` and `stop` below `{api}/{chat}`. */
import { parseBody } from '../../../http/request/body-shape.ts'
import { readJson } from '../../../http/request/body.ts'
import { componentIn } from '../../../http/request/find-component.ts'
import { encodeHeader } from '../../../http/request/header-text.ts'
import { readIdempotencyKey } from '../../../http/request/idempotency-key.ts'
import { respondEmpty, respondJson } from '../../../http/response/respond.ts'
import type { Call, Route } from '../../../http/routing/route.ts'
import { stopWhenGone } from '../../../http/response/stop-when-gone.ts'
import type { Streams } from '../../../http/response/stream.ts'
import { type ChatService, isUnfinished } from '../requests/chats.ts'
import { historyOf } from '../requests/history.ts'
import { readStartIndex, toolsIn } from '../requests/query.ts'
import { send } from '../requests/send.ts'
import { parseMessageId, parseStreamId } from '../../../ai-sdk/ids.ts'
import { chatFormat, type ChatStream } from '../wire/stream.ts'

/** Loaded lazily, because zod loads more slowly than the server starts. */
const loadShapes = (): Promise<typeof import('../requests/shapes.ts')> => import('../requests/shapes.ts')

export const CHAT_PATH = '/ai/{component}/chat'

export function chatRoutes(chats: ChatService, streams: Streams): Route[] {
  const path = CHAT_PATH
  return [
    { method: 'POST', path, handle: (call) => sendMessage(call, chats, streams) },
    { method: 'GET', path: `${path}/{chat}/stream`, handle: (call) => resumeStream(call, chats, streams) },
    { method: 'GET', path: `${path}/{chat}/messages`, handle: (call) => listMessages(call, chats) },
    { method: 'POST', path: `${path}/{chat}/stop`, handle: (call) => stop(call, chats) },
  ]
}

async function sendMessage(call: Call, chats: ChatService, streams: Streams): Promise<void> {
  const { service } = chats
  const component = chats.component(componentIn(call))
  const { chatBody } = await loadShapes()
  const body = parseBody(chatBody, await readJson(call.request, service.limits.maxBodyBytes, { anyType: true }))
  const { stream, session } = await send(chats, {
    principal: call.principal,
    component,
    body,
    tools: toolsIn(call.query),
    idempotencyKey: readIdempotencyKey(call.request.headers['idempotency-key'], service.limits.maxNameChars),
  })
  if (component.onDisconnect === 'stop') stopWhenGone(call, service, stream.leg.run)
  call.response.setHeader('holdfast-session', encodeHeader(session))
  await follow(call, chats, streams, stream)
}

async function resumeStream(call: Call, chats: ChatService, streams: Streams): Promise<void> {
  const component = chats.component(componentIn(call))
  const found = await chats.find(call.principal, component, call.params['chat']!)
  if (found === undefined) return respondEmpty(call.response, 204)
  const wanted = { startIndex: readStartIndex(call.query), tools: toolsIn(call.query) }
  await follow(call, chats, streams, await chats.resume(found, wanted))
}

async function follow(call: Call, { service }: ChatService, streams: Streams, stream: ChatStream): Promise<void> {
  const format = chatFormat(stream)
  await streams.serve(call.response, format, (sink) =>
    service.subscribe(call.principal, stream.leg.run, format.after, sink),
  )
}

async function listMessages(call: Call, chats: ChatService): Promise<void> {
  const component = chats.component(componentIn(call))
  const wanted = { session: call.params['chat']!, tools: toolsIn(call.query) }
  respondJson(call.response, 200, await historyOf(chats, call.principal, component, wanted))
}

/** Stops the chat's unfinished runs. A stop that names a different run has no effect. */
async function stop(call: Call, chats: ChatService): Promise<void> {
  const { principal } = call
  const component = chats.component(componentIn(call))
  const { stopBody } = await loadShapes()
  const body = await readJson(call.request, chats.service.limits.maxBodyBytes, { anyType: true })
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
